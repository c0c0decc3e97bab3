"""The requests that a rule dropped last, to be sent after all when the rule turns out wrong."""

from __future__ import annotations

from bisect import bisect
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_OF_RULE = 5_000
"""Most requests kept for one rule."""
MAX_ALL = 20_000
"""Most requests kept for all rules together."""
UNTESTED = 4
"""Drops of a rule in a row that may stay without a test ..."""
UNTESTED_SHARE = 0.2
"""... or this share (0-1) of all that are kept of it, whichever is more."""
_PART = 10


class Reservoir(Generic[T]):
    """Dropped requests by the rules that led to the drop; the oldest of the fullest rule go first.

    A request that several rules share stands under the first of them and is found through each.

    Parameters
    ----------
    max_of_rule, max_all
        Bounds, 1 or more.
    """

    def __init__(self, max_of_rule: int = MAX_OF_RULE, max_all: int = MAX_ALL) -> None:
        self._max_of_rule = max_of_rule
        self._max_all = max_all
        self._dropped: dict[str, deque[tuple[int, T, tuple[str, ...]]]] = {}
        # rule -> places of its tests: that of the n-th request is 2 n, one before it is tested at 2 n - 1
        self._tested: dict[str, list[int]] = {}
        self._n_added = 0
        self._n_kept = 0
        self.n_forgotten = 0
        """Dropped requests for which there was no room; they cannot be sent again."""

    def __len__(self) -> int:
        return self._n_kept

    def add(self, rules: Iterable[str], request: T) -> None:
        """Keep a request that was dropped because of *rules*; without rules there is nothing to find it by."""
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
            # a part at once, so that not every drop has to look for the fullest
            self._forget_oldest(fullest, 1 + len(self._dropped[fullest]) // _PART)

    def tested(self, rules: Iterable[str]) -> None:
        """Note that *rules* were tested: what they dropped just now is no row of untested drops."""
        for rule in rules:
            places = self._tested.setdefault(rule, [])
            if not places or places[-1] != 2 * self._n_added - 1:
                places.append(2 * self._n_added - 1)

    def take(self, rule: str) -> list[tuple[T, tuple[str, ...]]]:
        """Give back, oldest first, what was dropped because of *rule*, each with its rules; it is kept no longer."""
        return self._taken({number for kept in self._dropped.values() for number, _, rules in kept if rule in rules})

    def sample(self, n_of_rule: Mapping[str, int]) -> list[tuple[T, tuple[str, ...]]]:
        """Give back some of what each rule dropped, so many at even distances; they are kept no longer.

        A site that has changed is wrong from some page on, or for some time. So no more drops of a rule in a row stay
        without a test than :data:`UNTESTED` and :data:`UNTESTED_SHARE` say, and the last one of such a row is given.
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
        """Give back all, the oldest of each rule first; nothing is kept any longer."""
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
    """Return *n_chosen* places of *n*, at even distances, the last one among them."""
    return [(number + 1) * n // n_chosen - 1 for number in range(n_chosen)]


def _rows(numbers: Sequence[int], tested: Sequence[int]) -> list[list[int]]:
    """Rows of untested requests without a test between them, by their *numbers*; both arguments are sorted."""
    rows: dict[int, list[int]] = {}
    for number in numbers:
        place = bisect(tested, 2 * number)
        if not place or tested[place - 1] != 2 * number:
            rows.setdefault(place, []).append(number)
    return list(rows.values())


def _n_between(n: int, longest: int) -> int:
    """Least number of a row of *n* that are to be taken so that no more than *longest* in a row are left."""
    return -(-n // (longest + 1)) if n > longest else 0
