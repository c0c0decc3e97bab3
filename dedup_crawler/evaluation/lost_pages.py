"""Estimate of the pages that a crawl has lost by its drops, from the drops that it explored."""

from __future__ import annotations

from typing import NamedTuple

from dedup_crawler.rules.judging.bounds import share_interval


class LostPages(NamedTuple):
    """Pages that were dropped and shown by no other URL, with a 95 % interval."""

    estimate: float | None
    """None: unknown, for nothing speaks about any of the drops."""
    low: float
    high: float


def lost_pages(n_dropped: int, n_agreed: int, n_disagreed: int, n_untested: int = 0) -> LostPages:
    """Estimate how many dropped URLs, which nobody fetched, would have shown another page than their owner's.

    The explored are a random sample of the would-be drops, so their share of disagreements is that of the dropped
    (interval of Clopper and Pearson). It is an upper estimate of pages, for a page may be reached through another link
    too. *n_dropped* counts drops by the rules that were explored, *n_untested* drops of which no exploration says
    anything: none of them may be lost, or all.
    """
    n_explored = n_agreed + n_disagreed
    if not n_explored:
        n_untested += n_dropped
        return LostPages(None if n_untested else 0.0, 0.0, float(n_untested))
    low, high = share_interval(n_disagreed, n_explored)
    return LostPages(n_dropped * n_disagreed / n_explored, n_dropped * low, n_dropped * high + n_untested)
