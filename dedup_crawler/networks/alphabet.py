"""Sequences of symbols as rows of numbers, padded to one length: what a Siamese network reads.

Two ways to count. The capstone of 2018 gave the first character, every unknown one and the padding the number 0, and
could not read a URL longer than the longest it had learnt from. Cured: 0 is padding and 1 an unknown symbol. In both
a sequence that is too long loses its middle: the beginning of a URL says where it is, its end what is asked there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dedup_crawler.json_values import JsonValue

Array = np.ndarray
PADDING, UNKNOWN = 0, 1
_N_SPECIAL = 2
_MAX_LENGTH = 10_000  # of a row that a file may ask for


class Alphabet:
    """A fixed list of distinct symbols, in the order of their numbers, and a fixed length of rows.

    *is_faulty* counts as the capstone did.
    """

    def __init__(self, symbols: Sequence[str], length: int, *, is_faulty: bool = False) -> None:
        self.symbols, self.length = tuple(symbols), length
        first = 0 if is_faulty else _N_SPECIAL
        self.size = len(self.symbols) + first
        """Number of different numbers."""
        self._numbers = {symbol: number for number, symbol in enumerate(self.symbols, start=first)}
        self._unknown = 0 if is_faulty else UNKNOWN

    @classmethod
    def of(cls, sequences: Iterable[Sequence[str]], max_length: int, *, is_faulty: bool = False) -> Alphabet:
        """All symbols of *sequences*, sorted, and the length of the longest, at most *max_length*."""
        seen: set[str] = set()
        longest = 1
        for sequence in sequences:
            seen.update(sequence)
            longest = max(longest, len(sequence))
        return cls(sorted(seen), min(longest, max_length), is_faulty=is_faulty)

    def numbers(self, symbols: Iterable[str]) -> list[int]:
        """Number of each of *symbols*."""
        return [self._numbers.get(symbol, self._unknown) for symbol in symbols]

    def rows(self, sequences: Sequence[Sequence[str]]) -> Array:
        """Numbers of *sequences*: (len(sequences), length) int64, padded at the end."""
        rows = np.zeros((len(sequences), self.length), dtype=np.int64)
        for row, sequence in zip(rows, sequences, strict=True):
            numbers = self._cut(self.numbers(sequence))
            row[: len(numbers)] = numbers
        return rows

    def _cut(self, numbers: list[int]) -> list[int]:
        if len(numbers) <= self.length:
            return numbers
        head = (self.length + 1) // 2
        return numbers[:head] + numbers[len(numbers) - (self.length - head) :]


def read_alphabet(table: JsonValue, *, is_faulty: bool) -> Alphabet:
    """The alphabet in a table of a model, under ``symbols`` and ``length``; BadInputError if there is none."""
    symbols, length = table["symbols"].texts(), table["length"].count(_MAX_LENGTH)
    if length < 1 or len(set(symbols)) != len(symbols):
        table.refuse("distinct symbols and a length of 1 or more")
    return Alphabet(symbols, length, is_faulty=is_faulty)
