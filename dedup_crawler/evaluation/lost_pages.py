"""Estimate of the pages that a crawl lost by its drops, from its explorations."""

from __future__ import annotations

from typing import NamedTuple

from dedup_crawler.rules.language.statistics import share_interval


class LostPages(NamedTuple):
    """Number of lost pages, with a 95 % interval."""

    estimate: float | None
    """None: unknown, because no drop was tested."""
    low: float
    high: float


def lost_pages(n_dropped: int, n_agreed: int, n_disagreed: int, n_untested: int = 0) -> LostPages:
    """Estimate how many unfetched drops would have shown another page than their owner's.

    Explorations are a random sample of the would-be drops, so drops have the same share of disagreements (interval of
    Clopper and Pearson). The estimate is an upper one, because a page may also be reached through another link.
    *n_dropped* counts drops by tested rules, *n_untested* drops without any test: between none and all of these may be
    lost.
    """
    n_explored = n_agreed + n_disagreed
    if not n_explored:
        n_untested += n_dropped
        return LostPages(None if n_untested else 0.0, 0.0, float(n_untested))
    low, high = share_interval(n_disagreed, n_explored)
    return LostPages(n_dropped * n_disagreed / n_explored, n_dropped * low, n_dropped * high + n_untested)
