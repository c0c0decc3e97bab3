"""The encoder-decoder of SIGIR'17 in torch, and its training.

K. Xu, Z. Liu, J. Callan, "De-duping URLs with Sequence-to-Sequence Neural Networks", SIGIR 2017: one GRU layer on each
side, one embedding for both, and the last state of the encoder is the first state of the decoder. The authors saw no
significant gain from attention or a bidirectional encoder, so there is neither.

Distinct pairs are trained once and weighted by their counts: on real sites, thousands of URL pairs are a few dozen
pairs of templates.

Axes: B sequences of a batch, S source positions, T target positions, E embedding, H hidden units, V vocabulary.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from dedup_crawler.networks.training import Progress, one_thread, reproducible

PAD, START, END, UNKNOWN = range(4)
_N_SPECIAL = 4
_AT_ONCE = 256  # sequences that are translated together
_MIN_EPOCHS = 30
_LOOK_EVERY = 50  # steps between two checks of the translations; a check costs about half an epoch


class Vocabulary:
    """All tokens of *sequences*, sorted, so that the same data give the same numbers; other tokens are UNKNOWN."""

    def __init__(self, sequences: Iterable[Sequence[str]]) -> None:
        self.tokens = sorted({token for sequence in sequences for token in sequence})
        self._numbers = {token: i for i, token in enumerate(self.tokens, start=_N_SPECIAL)}

    def __len__(self) -> int:
        return len(self.tokens) + _N_SPECIAL

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Numbers of *tokens*, closed by END."""
        return [self._numbers.get(token, UNKNOWN) for token in tokens] + [END]

    def decode(self, numbers: Iterable[int]) -> list[str] | None:
        """Tokens of *numbers* (without END); None if a number stands for no token."""
        if any(number < _N_SPECIAL for number in numbers):
            return None
        return [self.tokens[number - _N_SPECIAL] for number in numbers]


class Translator(nn.Module):
    """Sequence to sequence over small vocabularies.

    *n_tokens* is V, special tokens included; *hidden* is H and E (the paper: 512 for both).
    """

    def __init__(self, n_tokens: int, hidden: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(n_tokens, hidden, padding_idx=PAD)
        self.encoder = nn.GRU(hidden, hidden, batch_first=True)
        self.decoder = nn.GRU(hidden, hidden, batch_first=True)
        self.output = nn.Linear(hidden, n_tokens)

    def forward(self, source: Tensor, source_lengths: Tensor, target: Tensor) -> Tensor:
        """Score every token at every target position, given the target's tokens before it.

        source          (B, S) int64, closed by END, padded with PAD
        source_lengths  (B,)   int64, 1..S, true lengths, on the CPU
        target          (B, T) int64, opened by START
        returns         (B, T, V) logits
        """
        states, _ = self.decoder(self.embedding(target), self.encode(source, source_lengths))  # (B, T, H)
        logits: Tensor = self.output(states)
        return logits

    def encode(self, source: Tensor, source_lengths: Tensor) -> Tensor:
        """State of the encoder after the last true token, (1, B, H)."""
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(source), source_lengths, batch_first=True, enforce_sorted=False
        )
        state: Tensor = self.encoder(packed)[1]
        return state

    @torch.no_grad()
    def translate(self, source: Tensor, source_lengths: Tensor, max_tokens: int) -> Tensor:
        """Most likely token at each step until END.

        returns  (B, <= max_tokens) int64; PAD follows END; a row may have no END
        """
        state = self.encode(source, source_lengths)
        token = torch.full((len(source), 1), START, device=source.device)  # (B, 1)
        ended = torch.zeros(len(source), dtype=torch.bool, device=source.device)
        written = []
        for _ in range(max_tokens):
            states, state = self.decoder(self.embedding(token), state)
            token = self.output(states).argmax(dim=-1)  # (B, 1)
            written.append(torch.where(ended, PAD, token[:, 0]))
            ended |= token[:, 0] == END
            if bool(ended.all()):
                break
        return torch.stack(written, dim=1)


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
    draw = np.random.default_rng(seed)
    losses: list[float] = []
    exacts: list[tuple[int, float]] = []
    with reproducible(device, seed) as place:
        model = Translator(n_tokens, recipe.hidden).to(place)
        for parameter in model.parameters():
            nn.init.uniform_(parameter, -recipe.init_range, recipe.init_range)
        kind = torch.optim.SGD if recipe.optimizer == "sgd" else torch.optim.Adam
        optimizer = kind(model.parameters(), lr=recipe.learning_rate)
        n_batches = math.ceil(len(pairs) / recipe.batch_size)
        n_epochs = max(_MIN_EPOCHS, math.ceil(recipe.max_steps / n_batches))
        look_every = math.ceil(_LOOK_EVERY / n_batches)  # epochs
        # with a constant rate the fit would swing between epochs
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_epochs)
        best_exact, best = -1.0, model.state_dict()
        for epoch in range(1, n_epochs + 1):
            losses.append(_epoch(model, [pairs[i] for i in draw.permutation(len(pairs))], recipe, optimizer))
            schedule.step()
            if epoch % look_every and epoch != n_epochs:
                continue
            exact = _exact(model, pairs)
            exacts.append((epoch, exact))
            if progress is not None:
                progress(epoch, n_epochs, exact)
            if exact > best_exact:
                best_exact, best = exact, copy.deepcopy(model.state_dict())
            if best_exact == 1.0:
                break
        model.load_state_dict(best)
    return Fit(model.eval(), best_exact, tuple(losses), tuple(exacts))


def _epoch(model: Translator, pairs: Sequence[Pair], recipe: Recipe, optimizer: torch.optim.Optimizer) -> float:
    """Train every pair once, in this order; returns the mean loss."""
    model.train()
    device = model.output.weight.device
    total = 0.0
    for start in range(0, len(pairs), recipe.batch_size):
        batch = pairs[start : start + recipe.batch_size]
        source = _padded([pair.source for pair in batch]).to(device)
        target = _padded([pair.target for pair in batch]).to(device)
        lengths = torch.tensor([len(pair.source) for pair in batch])
        # the decoder reads START, then the target without its last token
        shifted = torch.cat([torch.full_like(target[:, :1], START), target[:, :-1]], dim=1)
        logits = model(source, lengths, shifted)  # (B, T, V)
        # (B, T); the paper's binary cross-entropy only differs by a constant factor
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), target, ignore_index=PAD, reduction="none")
        counts = torch.tensor([pair.count**recipe.count_power for pair in batch], device=device)  # (B,)
        mean = (loss.sum(1) / (target != PAD).sum(1) * counts).sum() / counts.sum()
        optimizer.zero_grad()
        mean.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += float(mean.detach()) * len(batch)
    return total / len(pairs)


def _exact(model: Translator, pairs: Sequence[Pair]) -> float:
    """Share (0-1) of *pairs*, weighted by count, that are translated exactly."""
    model.eval()
    said = translations(model, [pair.source for pair in pairs], max(len(pair.target) for pair in pairs))
    right = sum(pair.count for pair, numbers in zip(pairs, said, strict=True) if numbers == list(pair.target[:-1]))
    return right / sum(pair.count for pair in pairs)


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


def _padded(sequences: Sequence[Sequence[int]]) -> Tensor:
    longest = max(map(len, sequences))
    return torch.tensor([[*sequence, *[PAD] * (longest - len(sequence))] for sequence in sequences])
