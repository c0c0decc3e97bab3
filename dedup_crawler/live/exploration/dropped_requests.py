"""Dropped requests that may be sent after all: by rule, if the rule turns out wrong, and by form, in its owner's place.

A seen set keeps substitutes only until the owner is answered. But a good answer may later turn out to be a log-in page,
when many other URLs get the same answer.
"""

from __future__ import annotations

from bisect import bisect
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_OF_RULE = 5_000
"""Maximum of kept requests of one rule."""
MAX_ALL = 20_000
"""Maximum of kept requests of all rules, and of all forms, together."""
UNTESTED = 4
"""Number of consecutive drops of a rule that may stay without a test;"""
UNTESTED_SHARE = 0.2
"""or this share (0-1) of the rule's kept drops, if that is more."""
_PART = 10


class Reservoir(Generic[T]):
    """Dropped requests by rule; when it is full, the oldest drops of the rule with most drops are removed.

    A drop by several rules is stored under the first of them, and found through each.

    Parameters
    ----------
    max_of_rule, max_all
        Bounds, 1 or more.
    """

    def __init__(self, max_of_rule: int = MAX_OF_RULE, max_all: int = MAX_ALL) -> None:
        self._max_of_rule = max_of_rule
        self._max_all = max_all
        self._dropped: dict[str, deque[tuple[int, T, tuple[str, ...]]]] = {}
        # rule -> places of its tests: the n-th request is at 2 n, a test just before it at 2 n - 1
        self._tested: dict[str, list[int]] = {}
        self._n_added = 0
        self._n_kept = 0
        self.n_forgotten = 0
        """Number of drops removed for lack of room; they cannot be sent any more."""

    def __len__(self) -> int:
        return self._n_kept

    def add(self, rules: Iterable[str], request: T) -> None:
        """Keep a request that *rules* dropped; without rules it is not kept."""
        sharing = tuple(dict.fromkeys(rules))
        if not sharing:
            return
        kept = self._dropped.setdefault(sharing[0], deque())
        kept.append((self._n_added, request, sharing))
        self._n_added += 1
        self._n_kept += 1
        if len(kept) > self._max_of_rule:
            self._forget_oldest(sharing[0], 1)
        elif self._n_kept > self._max_all:
            fullest = max(self._dropped, key=lambda rule: len(self._dropped[rule]))
            # several at once, so that not every drop must find the fullest rule
            self._forget_oldest(fullest, 1 + len(self._dropped[fullest]) // _PART)

    def tested(self, rules: Iterable[str]) -> None:
        """Note a test of *rules*: it ends their rows of untested drops."""
        for rule in rules:
            places = self._tested.setdefault(rule, [])
            if not places or places[-1] != 2 * self._n_added - 1:
                places.append(2 * self._n_added - 1)

    def take(self, rule: str) -> list[tuple[T, tuple[str, ...]]]:
        """Remove and return the drops of *rule*, oldest first, each with its rules."""
        return self._taken({number for kept in self._dropped.values() for number, _, rules in kept if rule in rules})

    def sample(self, n_of_rule: Mapping[str, int]) -> list[tuple[T, tuple[str, ...]]]:
        """Remove and return the given number of drops of each rule, evenly spaced.

        A site may change at some page, or for some time. So no row of untested drops stays longer than
        :data:`UNTESTED` and :data:`UNTESTED_SHARE` allow; the last drop of such a row is among the returned ones.
        """
        numbers_of: dict[str, list[int]] = {rule: [] for rule in n_of_rule}
        for kept in self._dropped.values():
            for number, _, sharing in kept:
                for rule in sharing:
                    if rule in numbers_of:
                        numbers_of[rule].append(number)
        chosen: set[int] = set()
        for rule, numbers in numbers_of.items():
            numbers.sort()
            tested = self._tested.get(rule, [])
            n_given = sum(place % 2 == 0 for place in tested)
            longest = max(UNTESTED, int(UNTESTED_SHARE * (n_given + len(numbers))))
            some = {numbers[place] for place in _evenly(len(numbers), min(n_of_rule[rule], len(numbers)))}
            tested = sorted({*tested, *(2 * number for number in some)})
            for row in _rows(numbers, tested):
                some.update(row[place] for place in _evenly(len(row), _n_between(len(row), longest)))
            self._tested[rule] = sorted({*tested, *(2 * number for number in some)})
            chosen |= some
        return self._taken(chosen)

    def take_all(self) -> list[tuple[T, tuple[str, ...]]]:
        """Remove and return all drops, the oldest of each rule first."""
        taken = [(request, sharing) for kept in self._dropped.values() for _, request, sharing in kept]
        self._dropped.clear()
        self._tested.clear()
        self._n_kept = 0
        return taken

    def _taken(self, chosen: Collection[int]) -> list[tuple[T, tuple[str, ...]]]:
        taken = []
        for first, kept in list(self._dropped.items()) if chosen else ():
            if its_own := [entry for entry in kept if entry[0] in chosen]:
                taken += its_own
                self._dropped[first] = deque(entry for entry in kept if entry[0] not in chosen)
                if not self._dropped[first]:
                    del self._dropped[first]
        self._n_kept -= len(taken)
        return [(request, sharing) for _, request, sharing in sorted(taken, key=lambda entry: entry[0])]

    def _forget_oldest(self, rule: str, n: int) -> None:
        kept = self._dropped[rule]
        for _ in range(n):
            kept.popleft()
        if not kept:
            del self._dropped[rule]
        self._n_kept -= n
        self.n_forgotten += n


def _evenly(n: int, n_chosen: int) -> list[int]:
    """Return *n_chosen* of *n* places, evenly spaced, the last one included."""
    return [(number + 1) * n // n_chosen - 1 for number in range(n_chosen)]


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


class Alternatives(Generic[T]):
    """Form -> dropped duplicates by URL, oldest first; the forms with the least recent drops lose theirs first."""

    def __init__(self) -> None:
        self._of: OrderedDict[bytes, dict[str, T]] = OrderedDict()
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def __contains__(self, form: bytes) -> bool:
        return form in self._of

    def add(self, form: bytes, url: str, dropped: T) -> None:
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

    def take(self, form: bytes) -> T | None:
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
