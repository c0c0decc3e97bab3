"""The Siamese networks in numpy, so that a crawl does not need torch, with their input and their weights.

A URL is *encoded* once, and any two encodings are *compared*. Encoding costs a hundred times as much as comparing, so
encodings are remembered. Results agree with :mod:`dedup_crawler.networks.siamese_network` to 1e-4.

Weights are in the safetensors format: arrays and nothing else, so that reading them runs no code.

Axes: U URLs, P pairs, T positions, C characters, H hidden units, F agreements, K numbers of an encoding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

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
_AT_ONCE = 64  # URLs that are encoded together: more would not fit the processor's cache
_MAX_BYTES = 1 << 26  # bytes of remembered encodings


class Alphabet:
    """Writes sequences of symbols as rows of numbers of one *length*; *symbols* are distinct, in the order of numbers.

    Number 0 is padding, and 1 an unknown symbol. If *is_faulty*, as in the capstone of 2018, the first symbol, every
    unknown one and the padding have the number 0. A sequence that is too long loses its middle, because the beginning
    and the end of a URL say most.
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

    def to_json(self) -> dict[str, Any]:
        """Return symbols and length as JSON values."""
        return {"symbols": list(self.symbols), "length": self.length}

    @classmethod
    def from_json(cls, table: JsonValue, *, is_faulty: bool) -> Alphabet:
        """Read the result of :meth:`to_json`, and maybe more; BadInputError if *table* is anything else."""
        symbols, length = table["symbols"].texts(), table["length"].count(_MAX_LENGTH)
        if length < 1 or len(set(symbols)) != len(symbols):
            table.refuse("distinct symbols and a length of 1 or more")
        return cls(symbols, length, is_faulty=is_faulty)


class NumpyPaperSiamese:
    """See :class:`dedup_crawler.networks.siamese_network.PaperSiamese`."""

    def __init__(self, weights: Mapping[str, Array], n_characters: int, length: int) -> None:
        hidden, _ = _sizes(weights)
        layers = {"read": (hidden, hidden), "compare": (hidden, 2 * hidden), "decide": (2, length * hidden)}
        _check_shapes(weights, n_characters, layers)
        self._lstm = _Lstm(weights)
        self._read, self._read_bias = weights["read.weight"].T, weights["read.bias"]
        compare = weights["compare.weight"]
        # the dense layer over both URLs is a sum of two halves, so the half of each URL is computed once
        self._halves = np.concatenate([compare[:, :hidden].T, compare[:, hidden:].T], axis=1)  # (H, 2H)
        self._compare_bias = weights["compare.bias"]
        self._decide, self._decide_bias = _difference(weights)  # (T H,)
        self._length, self._hidden = length, hidden
        self.encoding_size = 2 * length * hidden

    def encode(self, rows: Array) -> Array:
        """Encode URLs: (U, T) -> (U, K), at each position the half for a left URL and the half for a right one."""
        states = self._lstm.states(rows)  # (U, T, H)
        said: Array = (states @ self._read + self._read_bias) @ self._halves  # (U, T, 2H)
        return said.reshape(len(said), -1)

    def compare(self, left: Array, right: Array, agreement: Array) -> Array:
        """Probability (P,) that the URLs with the encodings *left* and *right* (P, K) show the same page."""
        shape = (-1, self._length, 2 * self._hidden)
        as_left, as_right = left.reshape(shape)[:, :, : self._hidden], right.reshape(shape)[:, :, self._hidden :]
        compared = np.maximum(as_left + as_right + self._compare_bias, 0)  # (P, T, H)
        return _sigmoid(compared.reshape(len(compared), -1) @ self._decide + self._decide_bias)


class NumpyCuredSiamese:
    """See :class:`dedup_crawler.networks.siamese_network.CuredSiamese`."""

    def __init__(self, weights: Mapping[str, Array], n_symbols: int, n_agreements: int) -> None:
        hidden, _ = _sizes(weights)
        layers = {"compare": (hidden, 2 * hidden + n_agreements), "weigh": (hidden, hidden), "decide": (2, hidden)}
        _check_shapes(weights, n_symbols, layers)
        self._lstm = _Lstm(weights)
        self._compare, self._compare_bias = weights["compare.weight"].T, weights["compare.bias"]
        self._weigh, self._weigh_bias = weights["weigh.weight"].T, weights["weigh.bias"]
        self._decide, self._decide_bias = _difference(weights)  # (H,)
        self.encoding_size = hidden

    def encode(self, rows: Array) -> Array:
        """Encode URLs: (U, T) -> (U, H), the state after the last symbol that is no padding."""
        lengths = (rows != PADDING).sum(axis=1)
        states = self._lstm.states(rows[:, : lengths.max()])  # (U, <= T, H)
        last: Array = states[np.arange(len(rows)), lengths - 1]
        return last

    def compare(self, left: Array, right: Array, agreement: Array) -> Array:
        """Probability (P,) that the URLs with the encodings *left* and *right* (P, H) show the same page."""
        both = np.concatenate([np.abs(left - right), left * right, agreement], axis=1)  # (P, 2H + F)
        compared = np.maximum(both @ self._compare + self._compare_bias, 0)  # (P, H)
        weighed = np.maximum(compared @ self._weigh + self._weigh_bias, 0)  # (P, H)
        return _sigmoid(weighed @ self._decide + self._decide_bias)


PairNetwork = NumpyPaperSiamese | NumpyCuredSiamese


class Committee:
    """Networks that were trained from different seeds; the mean of their answers is more stable than each of them.

    It remembers the encodings that were used last. *rows_of* turns URLs into rows of symbol numbers, (U, T).
    """

    def __init__(self, networks: Sequence[PairNetwork], rows_of: Callable[[Sequence[str]], Array]) -> None:
        self._networks, self._rows_of = networks, rows_of
        sizes = [network.encoding_size for network in networks]
        self._ends = np.cumsum(sizes)[:-1]
        self._max_kept = _MAX_BYTES // (4 * sum(sizes))
        self._kept: dict[str, Array] = {}

    def encoded(self, urls: Iterable[str]) -> dict[str, Array]:
        """URL -> its encodings by all members, side by side (K,)."""
        asked = list(dict.fromkeys(urls))
        found = {url: self._kept.pop(url) for url in asked if url in self._kept}
        new = [url for url in asked if url not in found]
        for start in range(0, len(new), _AT_ONCE):
            batch = new[start : start + _AT_ONCE]
            rows = self._rows_of(batch)
            encodings = np.concatenate([network.encode(rows) for network in self._networks], axis=1)
            found.update(zip(batch, encodings, strict=True))
        self._kept.update(found)
        while len(self._kept) > self._max_kept:
            del self._kept[next(iter(self._kept))]
        return found

    def compare(self, left: Array, right: Array, agreement: Array) -> Array:
        """Mean probability (P,) of each pair."""
        sides = zip(self._networks, np.split(left, self._ends, 1), np.split(right, self._ends, 1), strict=True)
        mean: Array = np.mean([network.compare(a, b, agreement) for network, a, b in sides], axis=0)
        return mean


class _Lstm:
    """An LSTM layer; gates are in torch's order: input, forget, candidate, output."""

    def __init__(self, weights: Mapping[str, Array]) -> None:
        bias = weights["lstm.bias_ih_l0"] + weights["lstm.bias_hh_l0"]
        self._input = weights["embedding.weight"] @ weights["lstm.weight_ih_l0"].T + bias  # (C, 4H)
        self._state = np.ascontiguousarray(weights["lstm.weight_hh_l0"].T)  # (H, 4H)

    def states(self, rows: Array) -> Array:
        """State after each position: (U, T) -> (U, T, H)."""
        n = self._state.shape[0]
        hidden = np.zeros((len(rows), n), dtype=np.float32)
        cell = np.zeros_like(hidden)
        states = np.empty((*rows.shape, n), dtype=np.float32)
        for position in range(rows.shape[1]):
            gates = self._input[rows[:, position]] + hidden @ self._state  # (U, 4H)
            is_in, is_kept = _sigmoid(gates[:, :n]), _sigmoid(gates[:, n : 2 * n])
            cell = is_kept * cell + is_in * np.tanh(gates[:, 2 * n : 3 * n])
            hidden = _sigmoid(gates[:, 3 * n :]) * np.tanh(cell)
            states[:, position] = hidden
        return states


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


def _sigmoid(values: Array) -> Array:
    result: Array = 0.5 * np.tanh(0.5 * values) + 0.5  # does not overflow
    return result


def _difference(weights: Mapping[str, Array]) -> tuple[Array, Array]:
    """Weights and bias of the logit of the same page: the last layer has one output for each answer."""
    weight, bias = weights["decide.weight"], weights["decide.bias"]
    return weight[1] - weight[0], bias[1] - bias[0]


def _sizes(weights: Mapping[str, Array]) -> tuple[int, int]:
    """Numbers of hidden units and of embedding dimensions."""
    try:
        return int(weights["lstm.weight_hh_l0"].shape[1]), int(weights["embedding.weight"].shape[1])
    except (KeyError, IndexError) as error:
        raise DamagedModelError(f"weights.safetensors does not fit a Siamese network: {error}. Train again.") from error


def _check_shapes(weights: Mapping[str, Array], n_symbols: int, layers: Mapping[str, tuple[int, int]]) -> None:
    """Check the weights of a file; DamagedModelError if one is missing or has another shape.

    *layers* has the shape of each dense layer, (outputs, inputs).
    """
    hidden, embedding = _sizes(weights)
    expected: dict[str, tuple[int, ...]] = {
        "embedding.weight": (n_symbols, embedding),
        "lstm.weight_ih_l0": (4 * hidden, embedding),
        "lstm.weight_hh_l0": (4 * hidden, hidden),
        "lstm.bias_ih_l0": (4 * hidden,),
        "lstm.bias_hh_l0": (4 * hidden,),
    }
    for layer, (n_outputs, n_inputs) in layers.items():
        expected |= {f"{layer}.weight": (n_outputs, n_inputs), f"{layer}.bias": (n_outputs,)}
    for name, shape in expected.items():
        if name not in weights:
            raise DamagedModelError(f"weights.safetensors lacks {name}. Train again.")
        if weights[name].shape != shape:
            raise DamagedModelError(f"weights.safetensors: {name} has shape {weights[name].shape}, not {shape}.")
