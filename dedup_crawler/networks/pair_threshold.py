"""From which probability on two URLs are called the same page."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def best_threshold(probabilities: Array, is_same: Array, recall_weight: float) -> float:
    """The threshold with the highest F measure, between two answers that were given; 0.5 without a duplicate.

    Parameters
    ----------
    probabilities
        (N,), 0-1.
    is_same
        (N,) of bool.
    recall_weight
        Beta: recall counts beta times as much as precision.

    >>> best_threshold(np.array([0.1, 0.6, 0.7, 0.9]), np.array([False, False, True, True]), 0.5)
    0.65
    """
    n_same = int(is_same.sum())
    if not n_same:
        return 0.5
    order = np.argsort(-probabilities, kind="stable")
    answers, n_right = probabilities[order], np.cumsum(is_same[order])
    n_called = np.arange(1, len(answers) + 1)
    square = recall_weight**2
    f_measure = (1 + square) * n_right / (n_called + square * n_same)
    # equal answers cannot be told apart: a cut lies behind the last of them
    f_measure[:-1][answers[1:] == answers[:-1]] = -1.0
    last = int(np.argmax(f_measure))
    below = answers[last + 1] if last + 1 < len(answers) else 0.0
    return round(float(answers[last] + below) / 2, 4)
