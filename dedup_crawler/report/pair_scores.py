"""Differences between duplicates and other pages, counted over the scored pairs of a crawl in bins; no pair is held."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from dedup_crawler.pages.records import ScoredPair

N_SCORES = 40
"""Bins of the score, 0-1."""
MAX_URL_DIFFERENCE = 60
"""Characters; larger differences are counted with this one."""
URL_BIN = 2
TEXT_BINS = 24
TEXT_BINS_PER_DECADE = 4
"""Differences of texts are binned by their logarithm: the first bin is no difference."""


@dataclass
class PairCounts:
    """Pairs of one kind."""

    n_pairs: int = 0
    scores: list[int] = field(default_factory=lambda: [0] * N_SCORES)
    url_differences: list[int] = field(default_factory=lambda: [0] * (MAX_URL_DIFFERENCE // URL_BIN + 1))
    text_differences: list[int] = field(default_factory=lambda: [0] * (TEXT_BINS + 1))

    def add(self, pair: ScoredPair) -> None:
        """Count a pair; a score that is no number between 0 and 1 is taken to be the nearest."""
        self.n_pairs += 1
        score = pair.score if math.isfinite(pair.score) else 0.0
        self.scores[min(N_SCORES - 1, max(0, int(score * N_SCORES)))] += 1
        url = abs(pair.url_lengths[0] - pair.url_lengths[1])
        self.url_differences[min(url, MAX_URL_DIFFERENCE) // URL_BIN] += 1
        text = abs(pair.text_lengths[0] - pair.text_lengths[1])
        place = 0 if text == 0 else 1 + int(math.log10(text) * TEXT_BINS_PER_DECADE)
        self.text_differences[min(place, TEXT_BINS)] += 1

    def mean_score(self) -> float:
        """By the middle of the bins."""
        return sum((place + 0.5) / N_SCORES * n for place, n in enumerate(self.scores)) / self.n_pairs


def count_pairs(pairs: Iterable[ScoredPair]) -> tuple[PairCounts, PairCounts]:
    """Counts of the pairs that are one page, and of the others."""
    same, different = PairCounts(), PairCounts()
    for pair in pairs:
        (same if pair.is_same else different).add(pair)
    return same, different
