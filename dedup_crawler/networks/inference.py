"""The translator of SIGIR'17 in numpy: what a crawl asks, where torch is not needed.

One step of a GRU, in words: the reset gate says how much of the old state the candidate may see, the update gate how
much of the old state stays. Everything the input adds is one matrix product with the embedding, so it is looked up in a
table made once. Agrees with :class:`dedup_crawler.networks.translator.Translator` to 1e-5.

Axes: V vocabulary, H hidden units, S source and T target positions; one sequence at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dedup_crawler.errors import DamagedModelError
from dedup_crawler.networks.vocabulary import END, START

Array = np.ndarray
_NAMES = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


class NumpyTranslator:
    """Greedy translation with the weights of a trained translator."""

    def __init__(self, weights: Mapping[str, Array], n_tokens: int) -> None:
        _check_shapes(weights, n_tokens)
        embedding = weights["embedding.weight"]  # (V, E)
        self._encoder = _Gru(embedding, *(weights[f"encoder.{name}"] for name in _NAMES))
        self._decoder = _Gru(embedding, *(weights[f"decoder.{name}"] for name in _NAMES))
        self._output, self._bias = weights["output.weight"], weights["output.bias"]  # (V, H), (V,)

    def logits(self, source: Sequence[int], target: Sequence[int]) -> Array:
        """Scores (T, V) of every token, the decoder having read START and all of *target* (T) but its last."""
        state = self._encode(source)
        scores = []
        for token in [START, *target[:-1]]:
            state = self._decoder.step(token, state)
            scores.append(self._output @ state + self._bias)
        return np.stack(scores)

    def translate(self, source: Sequence[int], max_tokens: int) -> list[int] | None:
        """Most likely tokens (without END) for *source* (closed by END); None if END does not come in time."""
        state = self._encode(source)
        token = START
        written: list[int] = []
        for _ in range(max_tokens):
            state = self._decoder.step(token, state)
            token = int(np.argmax(self._output @ state + self._bias))
            if token == END:
                return written
            written.append(token)
        return None

    def _encode(self, source: Sequence[int]) -> Array:
        state = np.zeros(self._output.shape[1], dtype=np.float32)  # (H,)
        for token in source:
            state = self._encoder.step(token, state)
        return state


class _Gru:
    def __init__(self, embedding: Array, w_input: Array, w_state: Array, b_input: Array, b_state: Array) -> None:
        self._input = embedding @ w_input.T + b_input  # (V, 3H): reset, update, candidate
        self._w_state, self._b_state = w_state, b_state  # (3H, H), (3H,)

    def step(self, token: int, state: Array) -> Array:
        """Read one token: (H,) -> (H,)."""
        n = len(state)
        given = self._input[token]  # (3H,)
        kept = self._w_state @ state + self._b_state  # (3H,)
        gates = 1.0 / (1.0 + np.exp(-(given[: 2 * n] + kept[: 2 * n])))  # (2H,)
        reset, update = gates[:n], gates[n:]
        candidate = np.tanh(given[2 * n :] + reset * kept[2 * n :])
        new: Array = (1.0 - update) * candidate + update * state
        return new


def _check_shapes(weights: Mapping[str, Array], n_tokens: int) -> None:
    """Weights come from a file that anybody may have written."""
    try:
        hidden = weights["embedding.weight"].shape[1]
        expected = {
            "embedding.weight": (n_tokens, hidden),
            "output.weight": (n_tokens, hidden),
            "output.bias": (n_tokens,),
        }
        for side in ("encoder", "decoder"):
            shapes = ((3 * hidden, hidden), (3 * hidden, hidden), (3 * hidden,), (3 * hidden,))
            expected |= {f"{side}.{name}": shape for name, shape in zip(_NAMES, shapes, strict=True)}
        for name, shape in expected.items():
            if weights[name].shape != shape:
                raise DamagedModelError(f"weights.safetensors: {name} has shape {weights[name].shape}, not {shape}.")
    except (KeyError, IndexError) as error:
        raise DamagedModelError(f"weights.safetensors is not a translator's: {error}. Train again.") from error
