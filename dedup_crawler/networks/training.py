"""The training loop of the translator: takes counted pairs of token numbers, and returns a translator.

Distinct pairs are trained once and weighted by their counts: on real sites, thousands of URL pairs are a few dozen
pairs of templates. On the CPU, the same seed gives the same weights, bit for bit (one thread, deterministic kernels).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from dedup_crawler.errors import BadInputError
from dedup_crawler.networks.translator import Translator
from dedup_crawler.networks.vocabulary import END, PAD, START

Progress = Callable[[int, int, float], None]
"""Called with the number of the epoch, the largest number of epochs, and the share (0-1) of exact translations."""

_AT_ONCE = 256  # sequences that are translated together


@dataclass(frozen=True, slots=True)
class Pair:
    """Source and target as token numbers, both closed by END, and the number of URL pairs that they stand for."""

    source: tuple[int, ...]
    target: tuple[int, ...]
    count: int


@dataclass(frozen=True, slots=True)
class Recipe:
    """Settings of the training; see the presets of :class:`dedup_crawler.methods.seq2seq.Seq2Seq`."""

    hidden: int
    optimizer: str  # "adam" or "sgd"
    learning_rate: float
    batch_size: int
    max_steps: int
    """Largest number of optimizer steps; at least 30 epochs are trained."""
    init_range: float
    """Weights start uniformly distributed between minus and plus this value."""
    count_power: float
    """The weight of a pair is its count to this power: 1 weighs every URL pair alike, 0.5 favours rare pairs."""


@dataclass(frozen=True)
class Fit:
    """The translator with its best weights, and measures of the training."""

    model: Translator
    exact: float
    """Share (0-1, weighted by count) of pairs that the model translates exactly."""
    n_epochs: int
    losses: tuple[float, ...]
    """Mean loss of each epoch."""
    exacts: tuple[tuple[int, float], ...]
    """Epochs after which translations were checked, and the share (0-1) of exact ones."""


def train(
    pairs: Sequence[Pair],
    n_tokens: int,
    recipe: Recipe,
    *,
    seed: int,
    device: str = "cpu",
    progress: Progress | None = None,
) -> Fit:
    """Train a translator; BadInputError if *device* is not available."""
    place = device_of(device)
    with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []):
        torch.manual_seed(seed)
        with one_thread():
            return _TranslatorTraining(pairs, n_tokens, recipe, seed, place).run(progress)


class _TranslatorTraining:
    _MIN_EPOCHS = 30
    _LOOK_EVERY = 50  # steps between two checks of the translations; a check costs about half an epoch

    def __init__(self, pairs: Sequence[Pair], n_tokens: int, recipe: Recipe, seed: int, device: torch.device) -> None:
        self.recipe, self.device = recipe, device
        self.order = np.random.default_rng(seed)
        self.pairs = pairs
        self.model = Translator(n_tokens, recipe.hidden).to(device)
        for parameter in self.model.parameters():
            nn.init.uniform_(parameter, -recipe.init_range, recipe.init_range)
        if recipe.optimizer == "sgd":
            self.optimizer: torch.optim.Optimizer = torch.optim.SGD(self.model.parameters(), lr=recipe.learning_rate)
        else:
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=recipe.learning_rate)
        n_batches = math.ceil(len(pairs) / recipe.batch_size)
        self.n_epochs = max(self._MIN_EPOCHS, math.ceil(recipe.max_steps / n_batches))
        self.look_every = math.ceil(self._LOOK_EVERY / n_batches)  # epochs
        # with a constant rate the fit would swing between epochs
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, self.n_epochs)

    def run(self, progress: Progress | None) -> Fit:
        best_exact, best = -1.0, copy.deepcopy(self.model.state_dict())
        losses: list[float] = []
        exacts: list[tuple[int, float]] = []
        for epoch in range(1, self.n_epochs + 1):
            losses.append(self._epoch())
            self.schedule.step()
            if epoch % self.look_every and epoch != self.n_epochs:
                continue
            exact = self._exact(self.pairs)
            exacts.append((epoch, exact))
            if progress is not None:
                progress(epoch, self.n_epochs, exact)
            if exact > best_exact:
                best_exact, best = exact, copy.deepcopy(self.model.state_dict())
            if best_exact == 1.0:
                break
        self.model.load_state_dict(best)
        return Fit(self.model.eval(), best_exact, epoch, tuple(losses), tuple(exacts))

    def _epoch(self) -> float:
        self.model.train()
        total, weight = 0.0, 0.0
        order = self.order.permutation(len(self.pairs))
        for start in range(0, len(order), self.recipe.batch_size):
            batch = [self.pairs[i] for i in order[start : start + self.recipe.batch_size]]
            source, lengths, target = self._tensors(batch)
            logits = self.model(source, lengths, _shifted(target))  # (B, T, V)
            # (B, T); the paper's binary cross-entropy only differs by a constant factor
            loss = nn.functional.cross_entropy(logits.transpose(1, 2), target, ignore_index=PAD, reduction="none")
            counts = torch.tensor([pair.count**self.recipe.count_power for pair in batch], device=self.device)  # (B,)
            mean = (loss.sum(1) / (target != PAD).sum(1) * counts).sum() / counts.sum()
            self.optimizer.zero_grad()
            mean.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.optimizer.step()
            total += float(mean.detach()) * len(batch)
            weight += len(batch)
        return total / weight

    def _exact(self, pairs: Sequence[Pair]) -> float:
        """Share (0-1) of *pairs*, weighted by count, that are translated exactly."""
        self.model.eval()
        said = translations(self.model, [pair.source for pair in pairs], max(len(pair.target) for pair in pairs))
        right = sum(pair.count for pair, numbers in zip(pairs, said, strict=True) if numbers == list(pair.target[:-1]))
        return right / sum(pair.count for pair in pairs)

    def _tensors(self, batch: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
        lengths = torch.tensor([len(pair.source) for pair in batch])
        source = _padded([pair.source for pair in batch])
        return source.to(self.device), lengths, _padded([pair.target for pair in batch]).to(self.device)


class one_thread:  # noqa: N801 - reads as a statement
    """Run torch with one thread: two are much slower on a busy machine, and change the sums."""

    def __enter__(self) -> None:
        self.n_threads = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(self, *error: object) -> None:
        torch.set_num_threads(self.n_threads)


def translations(model: Translator, sources: Sequence[Sequence[int]], max_tokens: int) -> list[list[int] | None]:
    """Most likely tokens (without END) for each source (closed by END); None if there is no END in *max_tokens*."""
    device = model.output.weight.device
    found: list[list[int] | None] = []
    with one_thread():
        for start in range(0, len(sources), _AT_ONCE):
            batch = sources[start : start + _AT_ONCE]
            lengths = torch.tensor([len(source) for source in batch])
            rows = model.translate(_padded(batch).to(device), lengths, max_tokens).tolist()
            found += [row[: row.index(END)] if END in row else None for row in rows]
    return found


def device_of(name: str) -> torch.device:
    """Device called *name*; BadInputError if it is not available."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise BadInputError(f"unknown device {name!r}; use cpu, or cuda on a machine with an NVIDIA card.") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise BadInputError(f"device {name!r} was asked for, but torch sees no CUDA here; use --device cpu.")
    return device


def _padded(sequences: Sequence[Sequence[int]]) -> Tensor:
    longest = max(map(len, sequences))
    return torch.tensor([[*sequence, *[PAD] * (longest - len(sequence))] for sequence in sequences])


def _shifted(target: Tensor) -> Tensor:
    """Input of the decoder at each position: START, then the target without its last token, (B, T)."""
    start = torch.full_like(target[:, :1], START)
    return torch.cat([start, target[:, :-1]], dim=1)
