"""The Siamese networks in numpy, so that a crawl does not need torch.

A URL is *encoded* once, and any two encodings are *compared*. Encoding costs a hundred times as much as comparing, so
encodings are remembered. Results agree with :mod:`dedup_crawler.networks.siamese` to 1e-4.

Axes: U URLs, P pairs, T positions, C characters, H hidden units, F agreements, K numbers of an encoding.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from dedup_crawler.errors import DamagedModelError
from dedup_crawler.networks.alphabet import PADDING

Array = np.ndarray
_AT_ONCE = 64  # URLs that are encoded together: more would not fit the processor's cache
_MAX_BYTES = 1 << 26  # bytes of remembered encodings


class PairNetwork(Protocol):
    """A Siamese network, as a crawl uses it."""

    encoding_size: int
    """Number of values of an encoding, K."""

    def encode(self, rows: Array) -> Array:
        """Encode URLs: (U, T) symbol numbers -> (U, K) float32."""

    def compare(self, left: Array, right: Array, agreement: Array) -> Array:
        """Probability (P,) that the URLs with the encodings *left* and *right* (P, K) show the same page."""


class NumpyPaperSiamese:
    """See :class:`dedup_crawler.networks.siamese.PaperSiamese`."""

    def __init__(self, weights: Mapping[str, Array], n_characters: int, length: int) -> None:
        hidden, embedding = _sizes(weights)
        _check_shapes(
            weights,
            {
                **_lstm_shapes(n_characters, embedding, hidden),
                "read.weight": (hidden, hidden),
                "read.bias": (hidden,),
                "compare.weight": (hidden, 2 * hidden),
                "compare.bias": (hidden,),
                "decide.weight": (2, length * hidden),
                "decide.bias": (2,),
            },
        )
        self._lstm = _Lstm(weights)
        self._read, self._read_bias = weights["read.weight"].T, weights["read.bias"]
        compare = weights["compare.weight"]
        # the dense layer over both URLs is a sum of two halves, so the half of each URL is computed once
        self._halves = np.concatenate([compare[:, :hidden].T, compare[:, hidden:].T], axis=1)  # (H, 2H)
        self._compare_bias = weights["compare.bias"]
        self._decide = weights["decide.weight"][1] - weights["decide.weight"][0]  # (T H,)
        self._decide_bias = weights["decide.bias"][1] - weights["decide.bias"][0]
        self._length, self._hidden = length, hidden
        self.encoding_size = 2 * length * hidden

    def encode(self, rows: Array) -> Array:
        """Encode URLs: (U, T) -> (U, K), at each position the half for a left URL and the half for a right one."""
        encoded = np.empty((len(rows), self.encoding_size), dtype=np.float32)
        for start in range(0, len(rows), _AT_ONCE):
            states = self._lstm.states(rows[start : start + _AT_ONCE])  # (U, T, H)
            said = (states @ self._read + self._read_bias) @ self._halves  # (U, T, 2H)
            encoded[start : start + _AT_ONCE] = said.reshape(len(said), -1)
        return encoded

    def compare(self, left: Array, right: Array, agreement: Array) -> Array:
        """Probability (P,) of each pair."""
        shape = (-1, self._length, 2 * self._hidden)
        as_left, as_right = left.reshape(shape)[:, :, : self._hidden], right.reshape(shape)[:, :, self._hidden :]
        compared = np.maximum(as_left + as_right + self._compare_bias, 0)  # (P, T, H)
        return _sigmoid(compared.reshape(len(compared), -1) @ self._decide + self._decide_bias)


class NumpyCuredSiamese:
    """See :class:`dedup_crawler.networks.siamese.CuredSiamese`."""

    def __init__(self, weights: Mapping[str, Array], n_symbols: int, n_agreements: int) -> None:
        hidden, embedding = _sizes(weights)
        _check_shapes(
            weights,
            {
                **_lstm_shapes(n_symbols, embedding, hidden),
                "compare.weight": (hidden, 2 * hidden + n_agreements),
                "compare.bias": (hidden,),
                "weigh.weight": (hidden, hidden),
                "weigh.bias": (hidden,),
                "decide.weight": (2, hidden),
                "decide.bias": (2,),
            },
        )
        self._lstm = _Lstm(weights)
        self._compare, self._compare_bias = weights["compare.weight"].T, weights["compare.bias"]
        self._weigh, self._weigh_bias = weights["weigh.weight"].T, weights["weigh.bias"]
        self._decide = weights["decide.weight"][1] - weights["decide.weight"][0]  # (H,)
        self._decide_bias = weights["decide.bias"][1] - weights["decide.bias"][0]
        self.encoding_size = hidden

    def encode(self, rows: Array) -> Array:
        """Encode URLs: (U, T) -> (U, H), the state after the last symbol that is no padding."""
        encoded = np.empty((len(rows), self.encoding_size), dtype=np.float32)
        for start in range(0, len(rows), _AT_ONCE):
            batch = rows[start : start + _AT_ONCE]
            lengths = (batch != PADDING).sum(axis=1)
            states = self._lstm.states(batch[:, : lengths.max()])  # (U, <= T, H)
            encoded[start : start + _AT_ONCE] = states[np.arange(len(batch)), lengths - 1]
        return encoded

    def compare(self, left: Array, right: Array, agreement: Array) -> Array:
        """Probability (P,) of each pair."""
        both = np.concatenate([np.abs(left - right), left * right, agreement], axis=1)  # (P, 2H + F)
        compared = np.maximum(both @ self._compare + self._compare_bias, 0)  # (P, H)
        weighed = np.maximum(compared @ self._weigh + self._weigh_bias, 0)  # (P, H)
        return _sigmoid(weighed @ self._decide + self._decide_bias)


class Committee:
    """Networks that were trained from different seeds; the mean of their answers is more stable than each of them."""

    def __init__(self, networks: Sequence[PairNetwork]) -> None:
        self._networks = networks
        self.encoding_size = sum(network.encoding_size for network in networks)
        self._ends = np.cumsum([network.encoding_size for network in networks])[:-1]

    def encode(self, rows: Array) -> Array:
        """Encodings of all members side by side."""
        return np.concatenate([network.encode(rows) for network in self._networks], axis=1)

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


def _sigmoid(values: Array) -> Array:
    result: Array = 0.5 * np.tanh(0.5 * values) + 0.5  # does not overflow
    return result


def _sizes(weights: Mapping[str, Array]) -> tuple[int, int]:
    """Numbers of hidden units and of embedding dimensions."""
    try:
        return int(weights["lstm.weight_hh_l0"].shape[1]), int(weights["embedding.weight"].shape[1])
    except (KeyError, IndexError) as error:
        raise DamagedModelError(f"weights.safetensors does not fit a Siamese network: {error}. Train again.") from error


def _lstm_shapes(n_characters: int, embedding: int, hidden: int) -> dict[str, tuple[int, ...]]:
    return {
        "embedding.weight": (n_characters, embedding),
        "lstm.weight_ih_l0": (4 * hidden, embedding),
        "lstm.weight_hh_l0": (4 * hidden, hidden),
        "lstm.bias_ih_l0": (4 * hidden,),
        "lstm.bias_hh_l0": (4 * hidden,),
    }


def _check_shapes(weights: Mapping[str, Array], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Check the weights of a file; DamagedModelError if one is missing or has another shape."""
    for name, shape in expected.items():
        if name not in weights:
            raise DamagedModelError(f"weights.safetensors lacks {name}. Train again.")
        if weights[name].shape != shape:
            raise DamagedModelError(f"weights.safetensors: {name} has shape {weights[name].shape}, not {shape}.")


class EncodingMemory:
    """Encodes URLs and remembers the encodings, those that were used last.

    *rows_of* turns keys (URLs) into rows of symbol numbers, (U, T).
    """

    def __init__(self, network: PairNetwork, rows_of: Callable[[Sequence[str]], Array]) -> None:
        self._network, self._rows_of = network, rows_of
        self._max_kept = _MAX_BYTES // (4 * network.encoding_size)
        self._kept: OrderedDict[str, Array] = OrderedDict()

    def encoded(self, keys: Iterable[str]) -> dict[str, Array]:
        """Key -> encoding (K,), for each of *keys*."""
        asked = list(dict.fromkeys(keys))
        found = {key: self._kept.pop(key) for key in asked if key in self._kept}
        new = [key for key in asked if key not in found]
        if new:
            found.update(zip(new, self._network.encode(self._rows_of(new)), strict=True))
        self._kept.update(found)
        while len(self._kept) > self._max_kept:
            self._kept.popitem(last=False)
        return found


def best_threshold(probabilities: Array, is_same: Array, recall_weight: float) -> float:
    """The threshold with the highest F measure, halfway between two answers; 0.5 without duplicates.

    *probabilities* (N,) are 0-1, *is_same* (N,) is bool. Recall counts *recall_weight* (beta) times as much as
    precision.

    >>> best_threshold(np.array([0.1, 0.6, 0.7, 0.9]), np.array([False, False, True, True]), 0.5)
    0.65
    """
    n_same = int(is_same.sum())
    if not n_same:
        return 0.5
    order = np.argsort(-probabilities, kind="stable")
    answers, n_right = probabilities[order], np.cumsum(is_same[order])  # (N,), for a threshold below each answer
    n_called = np.arange(1, len(answers) + 1)
    square = recall_weight**2
    f_measure = (1 + square) * n_right / (n_called + square * n_same)
    # no threshold lies between equal answers
    f_measure[:-1][answers[1:] == answers[:-1]] = -1.0
    last = int(np.argmax(f_measure))
    below = answers[last + 1] if last + 1 < len(answers) else 0.0
    return round(float(answers[last] + below) / 2, 4)
