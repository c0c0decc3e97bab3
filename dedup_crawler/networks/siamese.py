"""The Siamese LSTM of the capstone of 2018 in torch, for training: as published, and cured.

M. Lazem, "Detecting duplicate URLs", capstone of the Machine Learning Nanodegree, 2018. One LSTM reads both URLs
character by character. Its outputs at each position of the two URLs are concatenated, and a softmax decides. Padding is
read like any character, and left and right URL are treated differently.

Axes: U distinct URLs of a batch, P pairs of a batch, T positions, C characters or symbols, E embedding, H hidden units,
F agreements.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dedup_crawler.networks.alphabet import PADDING


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
