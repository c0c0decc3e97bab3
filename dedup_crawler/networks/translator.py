"""The encoder-decoder of SIGIR'17 in torch.

K. Xu, Z. Liu, J. Callan, "De-duping URLs with Sequence-to-Sequence Neural Networks", SIGIR 2017: one GRU layer on each
side, one embedding for both, and the last state of the encoder is the first state of the decoder. The authors saw no
significant gain from attention or a bidirectional encoder, so there is neither.

Axes: B sequences of a batch, S source positions, T target positions, E embedding, H hidden units, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dedup_crawler.networks.vocabulary import END, PAD, START


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
