"""Counts of a stream in bounded memory: what is frequent stays counted, what is rare is forgotten.

J. Misra, D. Gries, "Finding repeated elements", Science of Computer Programming 2, 1982, many elements at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

MAX_KEYS = 400_000
"""About 50 MB of counts with 64-bit keys."""


class BoundedCounter(Generic[Key]):
    """Counts of keys; whenever more than *max_keys* are held, all are lowered alike and at least half are forgotten.

    A count is never too high, and too low by at most :attr:`max_error`: 0 until something was forgotten, and always
    less than the share ``2 / max_keys`` of all that was counted.
    """

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        self._max_keys = max_keys
        self._counts: Counter[Key] = Counter()
        self.max_error = 0

    def update(self, keys: Iterable[Key] | Mapping[Key, int]) -> None:
        """Count each of *keys* once, or as often as it says."""
        self._counts.update(keys)
        if len(self._counts) > self._max_keys:
            less = sorted(self._counts.values(), reverse=True)[self._max_keys // 2]
            self._counts = Counter({key: n - less for key, n in self._counts.items() if n > less})
            self.max_error += less

    def __getitem__(self, key: Key) -> int:
        return self._counts[key]

    def __len__(self) -> int:
        return len(self._counts)

    def at_least(self, n: float) -> frozenset[Key]:
        """The keys that may have been counted *n* times or more; those counted so often for certain are among them."""
        return frozenset(key for key, count in self._counts.items() if count + self.max_error >= max(n, 1))
