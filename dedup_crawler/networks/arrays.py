"""Input of the Siamese networks, as rows of numbers of one length, and their weights as bytes.

There are two numberings. In the capstone of 2018, the first character, every unknown character and the padding have the
number 0. In the cured one, 0 is padding and 1 an unknown symbol. A sequence that is too long loses its middle, because
the beginning and the end of a URL say most.

Weights are in the safetensors format: arrays and nothing else, so that reading them runs no code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from dedup_crawler.errors import DamagedModelError
from dedup_crawler.json_values import JsonValue

Array = np.ndarray
PADDING, UNKNOWN = 0, 1
_N_SPECIAL = 2
_MAX_LENGTH = 10_000  # largest row length in a file
_MAX_WEIGHT = 1e6  # trained weights are below a hundred; sums of larger ones may overflow float32


class Alphabet:
    """A fixed list of distinct symbols, in the order of their numbers, and a fixed length of rows.

    *is_faulty* chooses the numbering of the capstone.
    """

    def __init__(self, symbols: Sequence[str], length: int, *, is_faulty: bool = False) -> None:
        self.symbols, self.length = tuple(symbols), length
        first = 0 if is_faulty else _N_SPECIAL
        self.size = len(self.symbols) + first
        """Number of different numbers."""
        self._numbers = {symbol: number for number, symbol in enumerate(self.symbols, start=first)}
        self._unknown = 0 if is_faulty else UNKNOWN

    @classmethod
    def of(cls, sequences: Sequence[Sequence[str]], max_length: int, *, is_faulty: bool = False) -> Alphabet:
        """All symbols of *sequences*, sorted, and the length of the longest, at most *max_length*."""
        symbols = sorted({symbol for sequence in sequences for symbol in sequence})
        return cls(symbols, min(max(1, *map(len, sequences)), max_length), is_faulty=is_faulty)

    def numbers(self, symbols: Iterable[str]) -> list[int]:
        """Number of each of *symbols*."""
        return [self._numbers.get(symbol, self._unknown) for symbol in symbols]

    def rows(self, sequences: Sequence[Sequence[str]]) -> Array:
        """Numbers of *sequences*: (len(sequences), length) int64, padded at the end."""
        rows = np.zeros((len(sequences), self.length), dtype=np.int64)
        for row, sequence in zip(rows, sequences, strict=True):
            numbers = self.numbers(sequence)
            if (n_over := len(numbers) - self.length) > 0:
                head = (self.length + 1) // 2
                del numbers[head : head + n_over]
            row[: len(numbers)] = numbers
        return rows


def read_alphabet(table: JsonValue, *, is_faulty: bool) -> Alphabet:
    """Read the alphabet in a table of a model, under ``symbols`` and ``length``; BadInputError without one."""
    symbols, length = table["symbols"].texts(), table["length"].count(_MAX_LENGTH)
    if length < 1 or len(set(symbols)) != len(symbols):
        table.refuse("distinct symbols and a length of 1 or more")
    return Alphabet(symbols, length, is_faulty=is_faulty)


def dump_weights(weights: Mapping[str, Array]) -> bytes:
    """Write named arrays; the same arrays give the same bytes."""
    data: bytes = save(dict(sorted(weights.items())))
    return data


def load_weights(data: bytes) -> dict[str, Array]:
    """Read the result of :func:`dump_weights`; DamagedModelError for other data, or for impossible numbers."""
    try:
        weights: dict[str, Array] = load(data)
    except (SafetensorError, KeyError) as error:  # KeyError: a number type that numpy does not have
        raise DamagedModelError(f"weights.safetensors cannot be read: {error}. Train again.") from error
    for name, array in weights.items():
        if array.dtype != np.float32 or not (np.abs(array) <= _MAX_WEIGHT).all():
            raise DamagedModelError(f"weights.safetensors: {name[:80]!r} has impossible numbers. Train again.")
    return weights
