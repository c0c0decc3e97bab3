"""The URL maps of one host as one array of small numbers for each key, to count the nodes of a pattern tree fast.

Reading one value from each of 100,000 dictionaries is slow, because they are scattered over the memory. An array is
read from one end to the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
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
_DENSE = 16  # a key that one URL in 16 has is stored for all URLs, any other key only for the URLs that have it


class KeyColumn:
    """The values of one key in *n_rows* URLs; 0 is the number of a missing key.

    *rows* are the places of the URLs that have the key, ascending; *values* their values.
    """

    def __init__(self, rows: Sequence[int], values: Sequence[str | None], n_rows: int) -> None:
        number_of: dict[str | None, int] = defaultdict(count(1).__next__)
        numbers = np.fromiter(map(number_of.__getitem__, values), np.int32, len(values))  # (URLs with the key,)
        self.values: list[str | None] = [MISSING, *number_of]
        self.n_having = len(rows)
        self._rows: Numbers | None = np.array(rows, np.int32)
        self._numbers = numbers
        if len(rows) * _DENSE >= n_rows:
            self._numbers = np.zeros(n_rows, np.int32)  # (n_rows,)
            self._numbers[self._rows] = numbers
            self._rows = None

    def of(self, places: Numbers) -> Numbers:
        """Numbers of the values at *places*, of the same shape."""
        if self._rows is None:
            return self._numbers[places]
        at = np.minimum(np.searchsorted(self._rows, places), len(self._rows) - 1)
        return np.where(self._rows[at] == places, self._numbers[at], np.int32(0))

    @cached_property
    def is_digits(self) -> Flags:
        """Mask (values,) of the values that are numbers."""
        return self._of_class("digits")

    @cached_property
    def is_hex(self) -> Flags:
        """Mask (values,) of the values that are hexadecimal strings."""
        return self._of_class("hex")

    @cached_property
    def pools(self) -> Numbers:
        """Class of each value, (values,): ANY_DIGITS, ANY_HEX or 0."""
        is_long = np.fromiter((value is not None and len(value) >= _MIN_HEX for value in self.values), bool)
        pools = np.where(self.is_digits, ANY_DIGITS, np.where(self.is_hex & is_long, ANY_HEX, 0))
        return pools.astype(np.int32)

    def _of_class(self, name: str) -> Flags:
        return np.fromiter(map(OfClass(name).matches, self.values), bool, len(self.values))


def key_columns(maps: Sequence[KeyValues]) -> dict[str, KeyColumn]:
    """Key -> column of its values in all maps; values are numbered from 1 in order of appearance."""
    found: dict[str, tuple[list[int], list[str | None]]] = defaultdict(lambda: ([], []))
    for place, its in enumerate(maps):
        for key, value in its.items():
            rows, values = found[key]
            rows.append(place)
            values.append(value)
    return {key: KeyColumn(rows, values, len(maps)) for key, (rows, values) in found.items()}
