"""Exact binomial tails with the standard library alone: a crawl does not import scipy."""

from __future__ import annotations

import math

_NEGLIGIBLE = 1e-17
_N_HALVINGS = 60


def tail(n_hits: int, n: int, share: float) -> float:
    """Chance (0-1) of at least *n_hits* of *n* when each hits with probability *share* (0-1)."""
    if n_hits <= 0:
        return 1.0
    if n_hits > n or share <= 0:
        return 0.0
    if share >= 1:
        return 1.0
    if n_hits <= n * share:  # the shorter side, where terms shrink from the first
        return max(0.0, 1.0 - tail(n - n_hits + 1, n, 1 - share))
    log_term = (
        math.lgamma(n + 1)
        - math.lgamma(n_hits + 1)
        - math.lgamma(n - n_hits + 1)
        + n_hits * math.log(share)
        + (n - n_hits) * math.log1p(-share)
    )
    term, total = math.exp(log_term), 0.0
    odds = share / (1 - share)
    for hits in range(n_hits, n + 1):
        total += term
        if term <= total * _NEGLIGIBLE:
            break
        term *= (n - hits) / (hits + 1) * odds
    return min(1.0, total)


def share_interval(n_hits: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Bounds (0-1) of the share behind *n_hits* of *n*, two-sided; (0, 1) where n is 0.

    C. Clopper, E. Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26, 1934: the interval holds the share at least as often as it says, also where there are few hits.
    """
    if n <= 0:
        return 0.0, 1.0
    alpha = (1 - confidence) / 2
    low = _share_at(n_hits, n, alpha) if n_hits else 0.0
    high = 1 - _share_at(n - n_hits, n, alpha) if n_hits < n else 1.0
    return low, high


def _share_at(n_hits: int, n: int, chance: float) -> float:
    """The share at which at least *n_hits* of *n* have that chance: halving, for the tail grows with the share."""
    low, high = 0.0, 1.0
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        if tail(n_hits, n, middle) < chance:
            low = middle
        else:
            high = middle
    return (low + high) / 2
