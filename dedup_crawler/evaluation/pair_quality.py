"""Quality of answers about pairs of URLs: accuracy, precision, recall, area under the curve, confusion matrix.

The capstone of 2018 read its confusion matrix with the axes exchanged; here they have names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Answers = Sequence[float] | np.ndarray
Labels = Sequence[bool] | np.ndarray


@dataclass(frozen=True, slots=True)
class PairQuality:
    """Counts of pairs: what they are, and what was answered."""

    n_true_positives: int
    """The same page, and said to be."""
    n_false_positives: int
    """Different pages, said to be the same: a page is lost."""
    n_true_negatives: int
    n_false_negatives: int
    """The same page, not recognised: a fetch is wasted."""
    auc: float | None
    """Probability that a duplicate pair has a higher probability than another one (ties count half); None where all
    pairs are alike."""

    @property
    def n_pairs(self) -> int:
        """Number of pairs."""
        return self.n_true_positives + self.n_false_positives + self.n_true_negatives + self.n_false_negatives

    @property
    def accuracy(self) -> float:
        """Share (0-1) of right answers."""
        return (self.n_true_positives + self.n_true_negatives) / self.n_pairs

    @property
    def precision(self) -> float | None:
        """Share of what was called the same that is; None if nothing was."""
        called = self.n_true_positives + self.n_false_positives
        return self.n_true_positives / called if called else None

    @property
    def recall(self) -> float | None:
        """Share of the duplicate pairs that were recognised; None if there are none."""
        duplicates = self.n_true_positives + self.n_false_negatives
        return self.n_true_positives / duplicates if duplicates else None

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 where either is 0 or undefined."""
        halves = 2 * self.n_true_positives + self.n_false_positives + self.n_false_negatives
        return 2 * self.n_true_positives / halves if halves else 0.0

    def as_dict(self) -> dict[str, Any]:
        """All rates, and the confusion matrix with its axes named."""
        return {
            "pairs": self.n_pairs,
            "accuracy": self.accuracy,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "auc": self.auc,
            "confusion": {
                "truth different": {
                    "answer different": self.n_true_negatives,
                    "answer same": self.n_false_positives,
                },
                "truth same": {"answer different": self.n_false_negatives, "answer same": self.n_true_positives},
            },
        }


def pair_quality(probabilities: Answers, labels: Labels, threshold: float) -> PairQuality:
    """Judge answers.

    Parameters
    ----------
    probabilities
        (N,), N >= 1: how likely each pair is the same page (0-1).
    labels
        (N,) of 0 and 1: 1 for the same page.
    threshold
        A pair is called the same from this probability on.
    """
    called, is_same = np.asarray(probabilities) >= threshold, np.asarray(labels) == 1
    return PairQuality(
        n_true_positives=int((called & is_same).sum()),
        n_false_positives=int((called & ~is_same).sum()),
        n_true_negatives=int((~called & ~is_same).sum()),
        n_false_negatives=int((~called & is_same).sum()),
        auc=area_under_curve(probabilities, labels),
    )


def area_under_curve(probabilities: Answers, labels: Labels) -> float | None:
    """Area under the ROC curve, by ranks (Mann and Whitney); None where all labels are alike.

    >>> area_under_curve([0.1, 0.4, 0.4, 0.9], [0, 0, 1, 1])
    0.875
    """
    is_same = np.asarray(labels) == 1
    n_same = int(is_same.sum())
    n_different = len(is_same) - n_same
    if not n_same or not n_different:
        return None
    _, places, counts = np.unique(probabilities, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[places]  # tied answers share the mean of their ranks
    return float((ranks[is_same].sum() - n_same * (n_same + 1) / 2) / (n_same * n_different))
