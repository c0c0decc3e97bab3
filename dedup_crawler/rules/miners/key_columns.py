"""The URL maps of one host as one array of small numbers for each key, to count the nodes of a pattern tree fast.

Reading one value from each of 100,000 dictionaries is slow, because they are scattered over the memory. An array is
read from one end to the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import count

import numpy as np
import numpy.typing as npt

from dedup_crawler.rules.language.rule import OfClass
from dedup_crawler.urls.keyvalue import KeyValues

Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]

MISSING = "\0missing"
"""Value with the number 0 in every column; no URL in normal form has this value."""
ANY_DIGITS, ANY_HEX = -1, -2
"""Numbers that stand for any number, and for any hexadecimal string of 8 characters or more."""
_MIN_HEX = 8  # shorter hexadecimal strings are often words
_DENSE = (
    16  # a key that at least one URL in 16 has is stored for all URLs, any other key only for the URLs that have it
)
_BLOCK = 4_096  # maps that are read in one step


class KeyColumn:
    """The values of one key in *n_rows* URLs; 0 is the number of a missing key.

    *rows* and *numbers*, (URLs with the key,), are the places of the URLs that have the key, sorted, and the numbers of
    their values.
    """

    def __init__(self, rows: Numbers, numbers: Numbers, values: Iterable[str | None], n_rows: int) -> None:
        self.values: list[str | None] = [MISSING, *values]
        self.n_having = len(rows)
        self._rows: Numbers | None = None
        self._numbers = numbers
        if len(rows) * _DENSE >= n_rows:
            self._numbers = np.zeros(n_rows, np.int32)  # (n_rows,)
            self._numbers[rows] = numbers
        else:
            self._rows = rows

    def of(self, places: Numbers) -> Numbers:
        """Numbers of the values at *places*, of the same shape."""
        if self._rows is None:
            return self._numbers[places]
        at = np.minimum(np.searchsorted(self._rows, places), len(self._rows) - 1)
        return np.where(self._rows[at] == places, self._numbers[at], np.int32(0))

    @cached_property
    def is_digits(self) -> Flags:
        """Mask (values,) of the values that are numbers."""
        return self._of_class(OfClass("digits"))

    @cached_property
    def is_hex(self) -> Flags:
        """Mask (values,) of the values that are hexadecimal strings."""
        return self._of_class(OfClass("hex"))

    @cached_property
    def pools(self) -> Numbers:
        """Class of each value, (values,): ANY_DIGITS, ANY_HEX or 0."""
        is_long = np.fromiter((value is not None and len(value) >= _MIN_HEX for value in self.values), bool)
        pools = np.where(self.is_digits, ANY_DIGITS, np.where(self.is_hex & is_long, ANY_HEX, 0))
        return pools.astype(np.int32)

    def _of_class(self, kind: OfClass) -> Flags:
        return np.fromiter(map(kind.matches, self.values), bool, len(self.values))


def key_columns(maps: Sequence[KeyValues]) -> dict[str, KeyColumn]:
    """Key -> column of its values in all maps; values are numbered from 1 in order of appearance."""
    by_keys: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, values in enumerate(maps):
        by_keys[tuple(values)].append(place)
    parts: dict[str, list[tuple[Numbers, Numbers]]] = defaultdict(list)
    tables: dict[str, dict[str | None, int]] = defaultdict(lambda: defaultdict(count(1).__next__))
    for keys, places in by_keys.items():
        for some, columns in _transposed(maps, places):
            for key, column in zip(keys, columns, strict=True):
                number_of = tables[key].__getitem__
                parts[key].append((some, np.fromiter(map(number_of, column), np.int32, len(column))))
    return {key: _joined(of_key, tables[key], len(maps)) for key, of_key in parts.items()}


def _transposed(
    maps: Sequence[KeyValues], places: Sequence[int]
) -> Iterator[tuple[Numbers, Iterable[tuple[str | None, ...]]]]:
    """Read maps with the same keys in the same order, in blocks: their places, and the values of each key."""
    for begin in range(0, len(places), _BLOCK):
        some = places[begin : begin + _BLOCK]
        yield np.array(some, np.int32), zip(*[maps[place].values() for place in some], strict=True)


def _joined(parts: Sequence[tuple[Numbers, Numbers]], values: Iterable[str | None], n_rows: int) -> KeyColumn:
    rows = np.concatenate([its_rows for its_rows, _ in parts])
    numbers = np.concatenate([its_numbers for _, its_numbers in parts])
    order = np.argsort(rows, kind="stable")
    return KeyColumn(rows[order], numbers[order], values, n_rows)
