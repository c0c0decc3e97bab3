"""The training loop of the Siamese networks: takes rows of symbol numbers and labelled pairs, and returns weights.

A URL in several pairs of a batch is encoded once. On the CPU, the same seed gives the same weights, bit for bit (one
thread, deterministic kernels). If the processor multiplies bfloat16 in hardware (AMX), a large network is computed in
bfloat16, three times as fast; its weights stay float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from dedup_crawler.networks.alphabet import UNKNOWN
from dedup_crawler.networks.training import device_of, one_thread

Array = np.ndarray
Progress = Callable[[int, int, float], None]
"""Called after each epoch with its number, the number of epochs, and the share (0-1) of right answers in it."""
_HIDDEN_SHARE = 0.5  # share of the URLs whose ids are hidden
_LARGE = 128  # smallest number of hidden units for which bfloat16 is faster


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

    def some(self, chosen: Array) -> PairRows:
        """The pairs at the places *chosen*."""
        return PairRows(self.rows, self.left[chosen], self.right[chosen], self.agreement[chosen])


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
    place = device_of(device)
    with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []), one_thread():
        torch.manual_seed(seed)
        model = make_network().to(place)
        training = _PairTraining(model, pairs, labels, recipe, seed, place)
        accuracies, losses = [], []
        for epoch in range(1, recipe.epochs + 1):
            accuracy, loss = training.epoch()
            accuracies.append(accuracy)
            losses.append(loss)
            if progress is not None:
                progress(epoch, recipe.epochs, accuracy)
        return PairFit(_weights(model), tuple(accuracies), tuple(losses))


class _PairTraining:
    def __init__(
        self, model: nn.Module, pairs: PairRows, labels: Array, recipe: PairRecipe, seed: int, device: torch.device
    ) -> None:
        self.model, self.pairs, self.labels, self.recipe, self.device = model, pairs, labels, recipe, device
        self.optimizer = torch.optim.AdamW(  # without decay it is Adam
            model.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay
        )
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, recipe.epochs)
        self.order = np.random.default_rng(seed)
        self.is_bfloat16 = device.type == "cpu" and recipe.hidden >= _LARGE and _multiplies_bfloat16()

    def epoch(self) -> tuple[float, float]:
        """Train every pair once; returns the share of right answers and the mean loss."""
        self.model.train()
        n_right, total = 0, 0.0
        order = self.order.permutation(len(self.labels))
        for start in range(0, len(order), self.recipe.batch_size):
            chosen = order[start : start + self.recipe.batch_size]
            label = torch.from_numpy(self.labels[chosen]).to(self.device)
            with torch.autocast("cpu", torch.bfloat16, enabled=self.is_bfloat16):
                logits = self.model(*self._tensors(self.pairs.some(chosen)))  # (P, 2)
            loss = nn.functional.cross_entropy(logits.float(), label)
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            n_right += int((logits.argmax(1) == label).sum())
            total += float(loss.detach()) * len(chosen)
        if self.recipe.falls:
            self.schedule.step()
        return n_right / len(order), total / len(order)

    def _tensors(self, batch: PairRows) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        used, places = np.unique(np.concatenate([batch.left, batch.right]), return_inverse=True)
        n = len(batch.left)
        rows = batch.rows[used]
        if self.recipe.hidden_symbols:
            hides = self.order.random(len(rows)) < _HIDDEN_SHARE
            rows[np.isin(rows, self.recipe.hidden_symbols) & hides[:, None]] = UNKNOWN
        arrays = (rows, places[:n], places[n:], batch.agreement)
        urls, left, right, agreement = (torch.from_numpy(array).to(self.device) for array in arrays)
        return urls, left, right, agreement


def _weights(model: nn.Module) -> dict[str, Array]:
    return {name: value.detach().cpu().numpy().copy() for name, value in model.state_dict().items()}


def _multiplies_bfloat16() -> bool:
    # torch has this function since 2.5; without it we use float32
    return bool(getattr(torch.cpu, "_is_amx_tile_supported", bool)())
