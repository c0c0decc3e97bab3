"""The requests that a rule dropped last, to be sent after all when the rule turns out wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_OF_RULE = 5_000
"""Most requests kept for one rule."""
MAX_ALL = 20_000
"""Most requests kept for all rules together."""
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

    def take(self, rule: str) -> list[tuple[T, tuple[str, ...]]]:
        """Give back, oldest first, what was dropped because of *rule*, each with its rules; it is kept no longer."""
        return self._taken(rule, lambda n: range(n))

    def sample(self, rule: str, n: int) -> list[tuple[T, tuple[str, ...]]]:
        """Give back *n* requests that were dropped because of *rule*, at even distances; they are kept no longer.

        A site that has changed is wrong from some page on: even distances meet that sooner than chance does, and the
        last of the requests, which is always among them, soonest.
        """
        return self._taken(rule, lambda n_kept: _evenly(n_kept, min(n, n_kept)))

    def take_all(self) -> list[tuple[T, tuple[str, ...]]]:
        """Give back all, the oldest of each rule first; nothing is kept any longer."""
        taken = [(request, sharing) for kept in self._dropped.values() for _, request, sharing in kept]
        self._dropped.clear()
        self._n_kept = 0
        return taken

    def _taken(self, rule: str, choose: Callable[[int], Sequence[int]]) -> list[tuple[T, tuple[str, ...]]]:
        numbers = sorted(number for kept in self._dropped.values() for number, _, sharing in kept if rule in sharing)
        chosen = {numbers[place] for place in choose(len(numbers))}
        taken = []
        for first, kept in list(self._dropped.items()):
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
