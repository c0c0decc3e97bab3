"""Dropped requests that may be sent after all: if their rule turns out wrong, or in place of the owner of their form.

A seen set keeps substitutes only until the owner is answered. But a good answer may later turn out to be a log-in page,
when many other URLs get the same answer.
"""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from math import isqrt
from typing import NamedTuple

from dedup_crawler.live.requests.request_text import Kept

MAX_ALL = 20_000
"""Number of requests that are surely kept."""
_MAX_URLS = 200_000
FORGOTTEN_AT_ONCE = 500
"""More requests may be kept for a while."""
UNTESTED = 4
"""Number of consecutive drops of a rule that may stay without a test;"""
UNTESTED_SHARE = 0.2
"""or this share (0-1) of its kept drops, if that is more. After its latest test at most the square root of all drops
may stay, or UNTESTED: one test finds a change that lasts, however late it begins."""
_NO_RULE = ""  # stands for the rules of drops without any


class DroppedRequest(NamedTuple):
    """A dropped request."""

    request: Kept
    url: str
    form: bytes
    """Digest of the form of which it was dropped as a duplicate."""
    rules: tuple[str, ...] = ()


@dataclass(slots=True)
class _RuleDrops:
    """The kept drops of one rule, and its tests."""

    numbers: dict[int, None] = field(default_factory=dict)
    """Numbers of the drops, the oldest first."""
    tested: list[int] = field(default_factory=list)
    """Places of its tests and of its drops that are not new, sorted: the n-th drop is at 2 n, a test just before it at
    2 n - 1."""
    n_sampled: int = 0
    n_since: int = 0
    """Drops since the latest test."""

    def is_due(self) -> bool:
        """Return True if too many of the latest drops are untested."""
        return self.n_since > max(UNTESTED, isqrt(self._n_all()))

    def sample(self, n: int, form_of: Mapping[int, bytes], told: set[bytes]) -> set[int]:
        """Choose *n* drops, and some of each row that is too long; note them as tests."""
        numbers, longest = [*self.numbers], max(UNTESTED, int(UNTESTED_SHARE * self._n_all()))
        some = _evenly(numbers, n, form_of, told)
        for row in _rows(numbers, {*self.tested, *(2 * number for number in some)}):
            if len(row) > longest:
                some |= _evenly(row, -(-len(row) // (longest + 1)), form_of, told)  # no longer row is left
        latest = self._noted(numbers, some)
        if self.is_due():
            one = _evenly(latest, 1, form_of, told)
            self._noted(numbers, one)
            some |= one
        self.n_sampled += len(some)
        return some

    def _n_all(self) -> int:
        return self.n_sampled + len(self.numbers)

    def _noted(self, numbers: Sequence[int], some: Iterable[int]) -> Sequence[int]:
        """Note tests of *some* of the drops, and return the drops since the latest test."""
        self.tested = sorted({*self.tested, *(2 * number for number in some)})
        latest = numbers[bisect(numbers, self.tested[-1] // 2) if self.tested else 0 :]
        self.n_since = len(latest)
        return latest


class DroppedRequests:
    """Dropped requests by rule, and by form and URL.

    A drop by several rules is found through each of them. When all is full, the oldest drops of the rule with most
    drops are removed.
    """

    def __init__(self) -> None:
        self._dropped: dict[int, DroppedRequest] = {}  # by number, in their order
        self._of_rule: defaultdict[str, _RuleDrops] = defaultdict(_RuleDrops)
        self._of_form: defaultdict[bytes, dict[str, int]] = defaultdict(dict)  # form -> URL -> number of the drop
        self._n_added = 0
        self._n_looked_at = 0  # number of drops when tests were last chosen
        self._looked_at = UrlSet()  # URLs of such drops that were all taken: a later drop of them is not new

    def has(self, form: bytes, url: str | None = None) -> bool:
        """Return True if a drop of the form with this URL (None: any) is kept."""
        return form in self._of_form and (url is None or url in self._of_form[form])

    def add(self, drop: DroppedRequest) -> None:
        """Keep a drop, whose URL must not be kept with the same form.

        If tests were chosen when an earlier model had dropped the URL, these tests stand beside it.
        """
        self._dropped[self._n_added] = drop
        self._of_form[drop.form][drop.url] = self._n_added
        for rule in drop.rules or (_NO_RULE,):
            its = self._of_rule[rule]
            its.numbers[self._n_added] = None
            if drop.url in self._looked_at:
                its.tested.append(2 * self._n_added)
            else:
                its.n_since += 1
        self._n_added += 1
        if len(self._dropped) >= MAX_ALL + FORGOTTEN_AT_ONCE:
            fullest = max(self._of_rule.values(), key=lambda its: len(its.numbers))
            self._taken([*islice(fullest.numbers, FORGOTTEN_AT_ONCE)])  # several at once: finding them takes a while

    def tested(self, rules: Iterable[str]) -> None:
        """Note a test of *rules*: it ends their rows of untested drops."""
        for rule in rules:
            its = self._of_rule[rule]
            its.n_since = 0
            if not its.tested or its.tested[-1] != 2 * self._n_added - 1:
                its.tested.append(2 * self._n_added - 1)

    def take(self, rule: str) -> list[DroppedRequest]:
        """Remove and return the drops of *rule*, oldest first; its tests say nothing of later drops of these URLs."""
        taken = self._taken([*self._of_rule[rule].numbers])
        for drop in taken:
            self._looked_at.discard(drop.url)
        return taken

    def take_of(self, form: bytes, url: str | None = None) -> DroppedRequest | None:
        """Remove and return the drop of a form with this URL (None: the oldest one), if it is kept."""
        numbers = self._of_form.get(form, {})
        number = numbers.get(url) if url is not None else next(iter(numbers.values()), None)
        return self._taken([number])[0] if number is not None else None

    def sample(self, n_of_rule: Mapping[str, int], has_spoken: Callable[[str, bytes], bool]) -> list[DroppedRequest]:
        """Remove and return the given number of drops of each rule, evenly spaced.

        A second test of a form says little, so forms without a verdict (*has_spoken*) come first.

        A site may change at some page, or for some time. So no row of untested drops stays longer than
        :data:`UNTESTED` and :data:`UNTESTED_SHARE` allow; its last drop is returned, or its last one of an untested
        form. A rule that needs neither costs nothing, however many drops it has: a crawl asks whenever it has run dry.
        """
        chosen: set[int] = set()
        for rule, n_wanted in n_of_rule.items():
            its = self._of_rule[rule]
            if its.numbers and (n_wanted or its.is_due()):
                form_of = {number: self._dropped[number].form for number in its.numbers}
                told = {form for form in {*form_of.values()} if has_spoken(rule, form)}
                chosen |= its.sample(n_wanted, form_of, told)
        self._n_looked_at = self._n_added
        return self._taken(sorted(chosen))

    def take_if(self, is_taken: Callable[[str], bool]) -> list[DroppedRequest]:
        """Remove and return the drops whose URL is to be taken, the oldest first."""
        return self._taken([number for number, drop in self._dropped.items() if is_taken(drop.url)])

    def take_all(self) -> list[DroppedRequest]:
        """Remove and return all drops, the oldest first: a new model decides about them."""
        for number, drop in self._dropped.items():
            if number < self._n_looked_at:
                self._looked_at.add(drop.url)
        self._of_rule.clear()
        self._of_form.clear()
        taken = [*self._dropped.values()]
        self._dropped.clear()
        return taken

    def _taken(self, numbers: Iterable[int]) -> list[DroppedRequest]:
        taken = []
        for number in numbers:
            taken.append(drop := self._dropped.pop(number))
            for rule in drop.rules or (_NO_RULE,):
                del self._of_rule[rule].numbers[number]
            of_form = self._of_form[drop.form]
            del of_form[drop.url]
            if not of_form:
                del self._of_form[drop.form]
        return taken


def _evenly(numbers: Sequence[int], n: int, form_of: Mapping[int, bytes], told: set[bytes]) -> set[int]:
    """Return *n* of *numbers*, evenly spaced, those of forms that are not *told* first; add their forms to *told*."""
    n = min(n, len(numbers))
    chosen: set[int] = set()
    for place in range(n):
        piece = numbers[place * len(numbers) // n : (place + 1) * len(numbers) // n]
        latest_first = [*reversed(piece), *reversed(numbers)]
        fresh = (number for number in latest_first if form_of[number] not in told)
        others = (number for number in latest_first if number not in chosen)
        number = next(chain(fresh, others))
        told.add(form_of[number])
        chosen.add(number)
    return chosen


def _rows(numbers: Iterable[int], tested: Set[int]) -> list[list[int]]:
    """Return rows of requests without a test between them, by their *numbers*, which are sorted."""
    places = sorted(tested)
    untested = (number for number in numbers if 2 * number not in tested)
    return [[*row] for _, row in groupby(untested, lambda number: bisect(places, 2 * number))]


class UrlSet:
    """A set of URLs by Python's keyed hash, which no site can predict; it is cleared when it grows too large."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def __contains__(self, url: str) -> bool:
        return hash(url) in self._hashes

    def add(self, url: str) -> None:
        """Add a URL."""
        if len(self._hashes) >= _MAX_URLS:
            self._hashes.clear()
        self._hashes.add(hash(url))

    def discard(self, url: str) -> None:
        """Remove a URL."""
        self._hashes.discard(hash(url))

    def clear(self) -> None:
        """Remove all URLs."""
        self._hashes.clear()
