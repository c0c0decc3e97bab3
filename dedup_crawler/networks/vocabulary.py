"""Tokens and their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

PAD, START, END, UNKNOWN = range(4)
_N_SPECIAL = 4


class Vocabulary:
    """A fixed list of tokens; all other tokens are UNKNOWN."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.tokens = tuple(tokens)
        self._numbers = {token: i for i, token in enumerate(self.tokens, start=_N_SPECIAL)}

    @classmethod
    def of(cls, sequences: Iterable[Sequence[str]]) -> Vocabulary:
        """All tokens of *sequences*, sorted, so that the same data give the same numbers."""
        return cls(sorted({token for sequence in sequences for token in sequence}))

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
