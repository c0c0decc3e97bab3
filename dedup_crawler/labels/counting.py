"""Counts of a stream in bounded memory: what is frequent stays counted, what is rare is forgotten.

G. S. Manku, R. Motwani, "Approximate frequency counts over data streams", VLDB 2002 (lossy counting).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

MAX_KEYS = 400_000
"""About 50 MB of counts with 64-bit keys."""


class BoundedCounter(Generic[Key]):
    """Counts of keys; whenever more than *max_keys* are held, those with the smallest counts are forgotten.

    A count is never too high. It is exact until something was forgotten; from then on it may be too low by
    :attr:`max_error`, which stays below the share ``1 / max_keys`` of all that was counted, times a small factor.
    """

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        self._max_keys = max_keys
        self._counts: Counter[Key] = Counter()
        self.max_error = 0

    def update(self, keys: Iterable[Key]) -> None:
        """Count each of *keys* once."""
        self._counts.update(keys)
        while len(self._counts) > self._max_keys:
            self.max_error += 1
            self._counts = Counter({key: n for key, n in self._counts.items() if n > self.max_error})

    def __getitem__(self, key: Key) -> int:
        return self._counts[key]

    def __len__(self) -> int:
        return len(self._counts)

    def at_least(self, n: float) -> frozenset[Key]:
        """The keys counted *n* times or more, as far as they were not forgotten."""
        return frozenset(key for key, count in self._counts.items() if count + self.max_error >= max(n, 1))
