"""The Siamese LSTM of the capstone of 2018 in torch, as published and cured, and its training.

M. Lazem, "Detecting duplicate URLs", capstone of the Machine Learning Nanodegree, 2018. One LSTM reads both URLs
character by character. Its outputs at each position of the two URLs are concatenated, and a softmax decides. Padding is
read like any character, and left and right URL are treated differently.

A URL in several pairs of a batch is encoded once. If the processor multiplies bfloat16 in hardware (AMX), a large
network is computed in bfloat16, three times as fast; its weights stay float32.

Axes: U distinct URLs of a batch, P pairs of a batch, T positions, C characters or symbols, E embedding, H hidden units,
F agreements.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from dedup_crawler.networks.pair_inference import PADDING, UNKNOWN, Array
from dedup_crawler.networks.training import Progress, reproducible

_HIDDEN_SHARE = 0.5  # share of the URLs whose ids are hidden
_LARGE = 128  # smallest number of hidden units for which bfloat16 is faster


class PaperSiamese(nn.Module):
    """Embedding 100, LSTM 256, a dense layer per position, concatenation, a dense layer per position, softmax.

    *n_characters* is C, *length* T of every URL, *hidden* H and *embedding* E.
    """

    def __init__(self, n_characters: int, length: int, hidden: int, embedding: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_characters, embedding)
        self.lstm = nn.LSTM(embedding, hidden, batch_first=True)
        self.read = nn.Linear(hidden, hidden)
        self.compare = nn.Linear(2 * hidden, hidden)
        self.decide = nn.Linear(length * hidden, 2)
        self.after_lstm, self.after_compare = nn.Dropout(0.2), nn.Dropout(0.3)
        _as_keras_starts(self)

    def forward(self, urls: Tensor, left: Tensor, right: Tensor, agreement: Tensor) -> Tensor:
        """Score pairs.

        urls         (U, T) int64, character numbers
        left, right  (P,)   int64, rows of *urls*
        agreement    (P, 0) empty: this network gets no agreements
        returns      (P, 2) logits: different, the same
        """
        states, _ = self.lstm(self.embedding(urls))  # (U, T, H)
        said = self.read(self.after_lstm(states))  # (U, T, H)
        both = torch.cat([said[left], said[right]], dim=2)  # (P, T, 2H)
        compared = self.after_compare(torch.relu(self.compare(both)))  # (P, T, H)
        logits: Tensor = self.decide(compared.flatten(1))
        return logits


class CuredSiamese(nn.Module):
    """Siamese network without the capstone's faults: padding is not read, it is symmetric, and it gets agreements.

    *n_symbols* is C, *n_agreements* F (see :meth:`forward`), *hidden* H and *embedding* E.
    """

    def __init__(self, n_symbols: int, n_agreements: int, hidden: int, embedding: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_symbols, embedding, padding_idx=PADDING)
        self.lstm = nn.LSTM(embedding, hidden, batch_first=True)
        self.compare = nn.Linear(2 * hidden + n_agreements, hidden)
        self.weigh = nn.Linear(hidden, hidden)
        self.decide = nn.Linear(hidden, 2)
        self.after_lstm, self.after_compare = nn.Dropout(0.2), nn.Dropout(0.3)

    def forward(self, urls: Tensor, left: Tensor, right: Tensor, agreement: Tensor) -> Tensor:
        """Score pairs; exchanging left and right changes nothing.

        urls         (U, T) int64, symbols, padded at the end with 0
        left, right  (P,)   int64, rows of *urls*
        agreement    (P, F) float32, how the two URLs agree
        returns      (P, 2) logits: different, the same
        """
        said = self.after_lstm(self.encode(urls))  # (U, H)
        a, b = said[left], said[right]
        both = torch.cat([(a - b).abs(), a * b, agreement], dim=1)  # (P, 2H + F)
        compared = self.after_compare(torch.relu(self.compare(both)))  # (P, H)
        logits: Tensor = self.decide(torch.relu(self.weigh(compared)))
        return logits

    def encode(self, urls: Tensor) -> Tensor:
        """State after the last symbol that is no padding: (U, T) -> (U, H)."""
        lengths = (urls != PADDING).sum(1)
        states, _ = self.lstm(self.embedding(urls[:, : int(lengths.max())]))  # (U, <= T, H)
        last: Tensor = states[torch.arange(len(urls), device=urls.device), lengths - 1]
        return last


def _as_keras_starts(model: PaperSiamese) -> None:
    """Initialize the weights as Keras does, on which the capstone ran."""
    nn.init.uniform_(model.embedding.weight, -0.05, 0.05)
    of_input, of_state, bias, other_bias = model.lstm.parameters()
    nn.init.xavier_uniform_(of_input)
    nn.init.orthogonal_(of_state)
    nn.init.zeros_(bias)
    nn.init.zeros_(other_bias)
    hidden = model.lstm.hidden_size
    with torch.no_grad():
        bias[hidden : 2 * hidden] = 1.0  # the forget gate is open
    for layer in (model.read, model.compare, model.decide):
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)


@dataclass(frozen=True, slots=True)
class PairRecipe:
    """Settings of the training; see the presets of :class:`dedup_crawler.methods.pairs.siamese.Siamese`."""

    hidden: int
    embedding: int
    learning_rate: float
    batch_size: int
    epochs: int
    weight_decay: float = 0.0
    falls: bool = False
    """True if the learning rate falls to 0 along a cosine."""
    hidden_symbols: tuple[int, ...] = ()
    """Numbers of the symbols for ids, which training hides in every second URL."""


@dataclass(frozen=True, slots=True)
class PairRows:
    """N pairs of U URLs."""

    rows: Array
    """Symbol numbers of each URL, (U, T) int64."""
    left: Array
    """Row of the left URL of each pair, (N,) int64."""
    right: Array
    """Row of the right URL of each pair, (N,) int64."""
    agreement: Array
    """Agreement of the two URLs of each pair, (N, F) float32; F may be 0."""


@dataclass(frozen=True, slots=True)
class PairFit:
    """Weights after the last epoch, and measures of each epoch."""

    weights: dict[str, Array]
    accuracies: tuple[float, ...]
    """Share (0-1) of right answers in each epoch."""
    losses: tuple[float, ...]
    """Mean cross-entropy of a pair in each epoch."""


def train_pairs(
    make_network: Callable[[], nn.Module],
    pairs: PairRows,
    labels: Array,
    recipe: PairRecipe,
    *,
    seed: int,
    device: str = "cpu",
    progress: Progress | None = None,
) -> PairFit:
    """Train the network that *make_network* builds; it takes the arrays of :class:`PairRows` and returns two logits.

    *labels* (N,) int64 are 1 for pairs that show the same page. BadInputError if *device* is not available.
    """
    draw = np.random.default_rng(seed)
    accuracies, losses = [], []
    with reproducible(device, seed) as place:
        model = make_network().to(place)
        optimizer = torch.optim.AdamW(  # without decay it is Adam
            model.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, recipe.epochs)
        is_bfloat16 = place.type == "cpu" and recipe.hidden >= _LARGE and _multiplies_bfloat16()
        for epoch in range(1, recipe.epochs + 1):
            model.train()
            n_right, total = 0, 0.0
            order = draw.permutation(len(labels))
            for start in range(0, len(order), recipe.batch_size):
                chosen = order[start : start + recipe.batch_size]
                label = torch.from_numpy(labels[chosen]).to(place)
                inputs = [torch.from_numpy(array).to(place) for array in _batch(pairs, chosen, recipe, draw)]
                with torch.autocast("cpu", torch.bfloat16, enabled=is_bfloat16):
                    logits = model(*inputs)  # (P, 2)
                loss = nn.functional.cross_entropy(logits.float(), label)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                n_right += int((logits.argmax(1) == label).sum())
                total += float(loss.detach()) * len(chosen)
            if recipe.falls:
                schedule.step()
            accuracies.append(n_right / len(order))
            losses.append(total / len(order))
            if progress is not None:
                progress(epoch, recipe.epochs, accuracies[-1])
        weights = {name: value.detach().cpu().numpy().copy() for name, value in model.state_dict().items()}
    return PairFit(weights, tuple(accuracies), tuple(losses))


def _batch(
    pairs: PairRows, chosen: Array, recipe: PairRecipe, draw: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Input of the network for the pairs at the places *chosen*."""
    both = np.concatenate([pairs.left[chosen], pairs.right[chosen]])
    used, places = np.unique(both, return_inverse=True)
    rows = pairs.rows[used]
    if recipe.hidden_symbols:
        hides = draw.random(len(rows)) < _HIDDEN_SHARE
        rows[np.isin(rows, recipe.hidden_symbols) & hides[:, None]] = UNKNOWN
    return rows, places[: len(chosen)], places[len(chosen) :], pairs.agreement[chosen]


def _multiplies_bfloat16() -> bool:
    # torch has this function since 2.5; without it we use float32
    return bool(getattr(torch.cpu, "_is_amx_tile_supported", bool)())
