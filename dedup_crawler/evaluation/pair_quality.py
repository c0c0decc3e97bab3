"""Quality of answers about pairs of URLs: accuracy, precision, recall, area under the curve, confusion matrix.

The capstone of 2018 read its confusion matrix with the axes exchanged; here they have names.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Answers = Sequence[float] | np.ndarray
Labels = Sequence[bool] | np.ndarray


def pair_quality(probabilities: Answers, labels: Labels, threshold: float) -> dict[str, Any]:
    """Judge answers: counts, rates from 0 to 1 (None where they are not defined), and the confusion matrix.

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
    """Area under the ROC curve, by ranks (Mann and Whitney): how probably a duplicate gets the higher answer.

    Ties count half; None where all labels are alike.

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
