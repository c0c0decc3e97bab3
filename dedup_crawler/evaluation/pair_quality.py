"""Quality of answers about pairs of URLs: accuracy, precision, recall, area under the curve, confusion matrix.

The axes of the confusion matrix have names, because the capstone of 2018 exchanged them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Answers = Sequence[float] | np.ndarray
Labels = Sequence[bool] | np.ndarray


def pair_quality(probabilities: Answers, labels: Labels, threshold: float) -> dict[str, Any]:
    """Judge answers: return counts, rates from 0 to 1 (None if undefined), and the confusion matrix.

    Parameters
    ----------
    probabilities
        (N,), N >= 1: probability (0-1) that the pair is one page.
    labels
        (N,) of 0 and 1: 1 for the same page.
    threshold
        Pairs with at least this probability count as the same page.
    """
    called, is_same = np.asarray(probabilities) >= threshold, np.asarray(labels) == 1
    n_right, n_called, n_same, n_pairs = (
        int((called & is_same).sum()),
        int(called.sum()),
        int(is_same.sum()),
        len(called),
    )
    n_neither = int((~called & ~is_same).sum())
    return {
        "pairs": n_pairs,
        "accuracy": (n_right + n_neither) / n_pairs,
        "precision": n_right / n_called if n_called else None,
        "recall": n_right / n_same if n_same else None,
        "f1": 2 * n_right / (n_called + n_same) if n_called + n_same else 0.0,
        "auc": area_under_curve(probabilities, labels),
        "confusion": {
            "truth different": {"answer different": n_neither, "answer same": n_called - n_right},
            "truth same": {"answer different": n_same - n_right, "answer same": n_right},
        },
    }


def area_under_curve(probabilities: Answers, labels: Labels) -> float | None:
    """Return the area under the ROC curve, by ranks (Mann and Whitney).

    It is the probability that a duplicate gets a higher answer than a pair of different pages; ties count half. None if
    all labels are equal.

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
    ranks = (ends - (counts - 1) / 2)[places]  # (N,): tied answers share the mean of their ranks
    return float((ranks[is_same].sum() - n_same * (n_same + 1) / 2) / (n_same * n_different))
