"""Bounds of a share, with the standard library alone: a crawl does not import scipy.

All of them come from the beta distribution: the chance of at least k hits in n trials is the cumulative distribution
function of beta(k, n - k + 1) at the share.
"""

from __future__ import annotations

import math
from functools import lru_cache

_N_HALVINGS = 60
_N_TERMS = 300
_TINY = 1e-300
_ALPHA = (1 - 0.95) / 2


def tail(n_hits: int, n: int, share: float) -> float:
    """Chance (0-1) of at least *n_hits* of *n* when each hits with probability *share* (0-1)."""
    if n_hits <= 0:
        return 1.0
    return _beta_below(share, n_hits, n - n_hits + 1) if n_hits <= n else 0.0


def share_interval(n_hits: int, n: int) -> tuple[float, float]:
    """Two-sided bounds (0-1) of the share at 95 %, given *n_hits* in *n* trials; (0, 1) if *n* is 0.

    C. Clopper, E. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26, 1934: the interval covers the share with at least this confidence, even with few hits.
    """
    low = _quantile(_ALPHA, n_hits, n - n_hits + 1) if n_hits else 0.0
    high = _quantile(1 - _ALPHA, n_hits + 1, n - n_hits) if n_hits < n else 1.0
    return low, high


@lru_cache(10_000)
def jeffreys_bound(n_groups: int, n_wrong: int, confidence: float = 0.95) -> float:
    """Upper bound (0-1) of the share of wrong groups, by the one-sided Jeffreys interval; 1 without groups.

    No group wrong gives 0.10 at 18 groups, 0.05 at 38, 0.02 at 95.

    >>> round(jeffreys_bound(38, 0), 2)
    0.05
    """
    return _quantile(confidence, n_wrong + 0.5, n_groups - n_wrong + 0.5) if n_groups else 1.0


def _quantile(chance: float, a: float, b: float) -> float:
    """Return the quantile of a beta distribution, found by halving."""
    low, high = 0.0, 1.0
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        if _beta_below(middle, a, b) < chance:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta_below(x: float, a: float, b: float) -> float:
    """Share of the beta distribution below *x* (0-1), by Lentz's continued fraction on the side where it is short."""
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
