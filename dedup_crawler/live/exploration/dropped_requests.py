"""Dropped requests that may be sent after all: by rule, if the rule turns out wrong, and by form, in its owner's place.

A seen set keeps substitutes only until the owner is answered. But a good answer may later turn out to be a log-in page,
when many other URLs get the same answer.
"""

from __future__ import annotations

from bisect import bisect
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from dedup_crawler.live.requests.request_text import Kept

MAX_OF_RULE = 5_000
"""Number of requests of one rule that are surely kept."""
MAX_ALL = 20_000
"""Number of requests of all rules, and of all forms, that are kept together."""
_MAX_URLS = 200_000
FORGOTTEN_AT_ONCE = 500
"""More requests by rule may be kept for a while."""
UNTESTED = 4
"""Number of consecutive drops of a rule that may stay without a test;"""
UNTESTED_SHARE = 0.2
"""or this share (0-1) of the rule's kept drops, if that is more."""


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

    def longest(self) -> int:
        """Return the length of the longest row of drops that may stay untested."""
        return max(UNTESTED, int(UNTESTED_SHARE * (self.n_sampled + len(self.numbers))))

    def sample(self, n: int, form_of: Mapping[int, bytes], told: set[bytes]) -> set[int]:
        """Choose *n* drops, and some of each row that is too long; note them as tests."""
        numbers, longest = [*self.numbers], self.longest()
        some = _evenly(numbers, n, form_of, told)
        for row in _rows(numbers, sorted({*self.tested, *(2 * number for number in some)})):
            some |= _evenly(row, _n_between(len(row), longest), form_of, told)
        self.n_sampled += len(some)
        self.tested = sorted({*self.tested, *(2 * number for number in some)})
        self.n_since = len(numbers) - (bisect(numbers, self.tested[-1] // 2) if self.tested else 0)
        return some


class Reservoir:
    """Dropped requests by rule; when it is full, the oldest drops of the rule with most drops are removed.

    A drop by several rules is found through each of them.
    """

    def __init__(self) -> None:
        # the n-th drop, its rules, and its form
        self._dropped: dict[int, tuple[Kept, tuple[str, ...], bytes]] = {}
        self._of_rule: defaultdict[str, _RuleDrops] = defaultdict(_RuleDrops)
        self._n_added = 0
        self._n_looked_at = 0  # number of drops when tests were last chosen

    def add(self, rules: Iterable[str], request: Kept, form: bytes, *, is_new: bool = True) -> None:
        """Keep a request that *rules* dropped as a duplicate of *form*; without rules it is not kept.

        One that is not new was :meth:`looked_at` when an earlier model had dropped it: the tests of that time stand
        beside it.
        """
        sharing = tuple(dict.fromkeys(rules))
        if not sharing:
            return
        self._dropped[self._n_added] = request, sharing, form
        for rule in sharing:
            its = self._of_rule[rule]
            its.numbers[self._n_added] = None
            if is_new:
                its.n_since += 1
            else:
                its.tested.append(2 * self._n_added)
        self._n_added += 1
        if len(self._of_rule[sharing[0]].numbers) >= MAX_OF_RULE + FORGOTTEN_AT_ONCE:
            self._forget_oldest(sharing[0])
        elif len(self._dropped) >= MAX_ALL + FORGOTTEN_AT_ONCE:
            self._forget_oldest(max(self._of_rule, key=lambda rule: len(self._of_rule[rule].numbers)))

    def tested(self, rules: Iterable[str]) -> None:
        """Note a test of *rules*: it ends their rows of untested drops."""
        for rule in rules:
            its = self._of_rule[rule]
            its.n_since = 0
            if not its.tested or its.tested[-1] != 2 * self._n_added - 1:
                its.tested.append(2 * self._n_added - 1)

    def take(self, rule: str) -> list[tuple[Kept, tuple[str, ...]]]:
        """Remove and return the drops of *rule*, oldest first, each with its rules."""
        return self._taken([*self._of_rule[rule].numbers])

    def sample(
        self, n_of_rule: Mapping[str, int], has_spoken: Callable[[str, bytes], bool]
    ) -> list[tuple[Kept, tuple[str, ...]]]:
        """Remove and return the given number of drops of each rule, evenly spaced.

        A second test of a form says little, so forms without a verdict (*has_spoken*) come first.

        A site may change at some page, or for some time. So no row of untested drops stays longer than
        :data:`UNTESTED` and :data:`UNTESTED_SHARE` allow; its last drop is returned, or its last one of an untested
        form. A rule that needs neither costs nothing, however many drops it has: a crawl asks whenever it has run dry.
        """
        chosen: set[int] = set()
        for rule, n_wanted in n_of_rule.items():
            its = self._of_rule[rule]
            if its.numbers and (n_wanted or its.n_since > its.longest()):
                form_of = {number: self._dropped[number][2] for number in its.numbers}
                told = {form for form in {*form_of.values()} if has_spoken(rule, form)}
                chosen |= its.sample(n_wanted, form_of, told)
        self._n_looked_at = self._n_added
        return self._taken(sorted(chosen))

    def looked_at(self) -> list[Kept]:
        """Return the requests that were kept when :meth:`sample` last chose tests."""
        return [request for number, (request, _, _) in self._dropped.items() if number < self._n_looked_at]

    def take_if(self, is_taken: Callable[[Kept], bool]) -> list[tuple[Kept, tuple[str, ...]]]:
        """Remove and return the drops whose request is to be taken, the oldest first."""
        return self._taken([number for number, (request, _, _) in self._dropped.items() if is_taken(request)])

    def take_all(self) -> list[tuple[Kept, tuple[str, ...]]]:
        """Remove and return all drops, the oldest first."""
        taken = self._taken([*self._dropped])
        self._of_rule.clear()
        return taken

    def _taken(self, numbers: Iterable[int]) -> list[tuple[Kept, tuple[str, ...]]]:
        taken = []
        for number in numbers:
            request, sharing, _ = self._dropped.pop(number)
            taken.append((request, sharing))
            for rule in sharing:
                del self._of_rule[rule].numbers[number]
        return taken

    def _forget_oldest(self, rule: str) -> None:
        """Remove the oldest drops of *rule*, several at once: finding them takes a while."""
        self._taken([*islice(self._of_rule[rule].numbers, FORGOTTEN_AT_ONCE)])


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


def _rows(numbers: Sequence[int], tested: Sequence[int]) -> list[list[int]]:
    """Return rows of requests without a test between them, by their *numbers*; both arguments are sorted."""
    rows: dict[int, list[int]] = {}
    for number in numbers:
        place = bisect(tested, 2 * number)
        if not place or tested[place - 1] != 2 * number:
            rows.setdefault(place, []).append(number)
    return list(rows.values())


def _n_between(n: int, longest: int) -> int:
    """Return how many of a row of *n* requests to take so that no row longer than *longest* is left."""
    return -(-n // (longest + 1)) if n > longest else 0


class Alternatives:
    """Form -> dropped duplicates by URL, oldest first; the forms with the least recent drops lose theirs first."""

    def __init__(self) -> None:
        self._of: OrderedDict[bytes, dict[str, Kept]] = OrderedDict()
        self._n = 0

    def __contains__(self, form: bytes) -> bool:
        return form in self._of

    def add(self, form: bytes, url: str, dropped: Kept) -> None:
        """Keep a dropped request, unless its URL is kept already."""
        kept = self._of.get(form)
        if kept is None:
            kept = self._of[form] = {}
        else:
            self._of.move_to_end(form)
        if url not in kept:
            kept[url] = dropped
            self._n += 1
        while self._n > MAX_ALL:
            if len(self._of) > 1:
                self._n -= len(self._of.popitem(last=False)[1])
            else:
                del kept[next(iter(kept))]
                self._n -= 1

    def take(self, form: bytes) -> Kept | None:
        """Remove and return the oldest dropped request of a form."""
        kept = self._of.get(form)
        if not kept:
            return None
        taken = kept.pop(next(iter(kept)))
        self._n -= 1
        if not kept:
            del self._of[form]
        return taken

    def forget(self, form: bytes, url: str) -> None:
        """Remove the request for *url*: it has been sent."""
        kept = self._of.get(form)
        if kept is not None and kept.pop(url, None) is not None:
            self._n -= 1
            if not kept:
                del self._of[form]


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
