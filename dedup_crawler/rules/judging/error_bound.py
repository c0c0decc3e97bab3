"""Jeffreys' upper bound with the standard library alone, for what is told in a crawl, where scipy is not loaded."""

from __future__ import annotations

import math
from functools import lru_cache

_N_HALVINGS = 50
_N_TERMS = 300
_TINY = 1e-300


@lru_cache(10_000)
def jeffreys_bound(n_groups: int, n_wrong: int, confidence: float = 0.95) -> float:
    """Upper bound (0-1) of the share of wrong groups, one-sided; 1 without evidence.

    As :meth:`dedup_crawler.rules.judging.judge.MergeEvidence.error_bound`, which is faster once it is loaded.

    >>> round(jeffreys_bound(38, 0), 2)
    0.05
    """
    if n_groups == 0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        if _beta_below(middle, n_wrong + 0.5, n_groups - n_wrong + 0.5) < confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta_below(x: float, a: float, b: float) -> float:
    """Share of the beta distribution below *x* (0-1): Lentz's continued fraction, on the side where it is short."""
    if not 0 < x < 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_below(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, _N_TERMS):
        before = fraction
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            fraction *= d * c
        if abs(fraction - before) < 1e-14 * abs(fraction):
            break
    return math.exp(log_front) * fraction / a


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
