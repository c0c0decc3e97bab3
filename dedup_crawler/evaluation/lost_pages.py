"""How many pages a crawl has lost by its drops, told from those that it explored."""

from __future__ import annotations

from typing import NamedTuple

from dedup_crawler.rules.binomial import share_interval


class LostPages(NamedTuple):
    """Pages that were dropped and shown by no other URL, with a 95 % interval."""

    estimate: float
    low: float
    high: float


def lost_pages(n_dropped: int, n_agreed: int, n_disagreed: int) -> LostPages:
    """Estimate how many of *n_dropped* URLs that nobody fetched would have shown another page than their owner's.

    The explored are a random sample of the would-be drops, so their share of disagreements is that of the dropped
    (interval of Clopper and Pearson). Without exploration nothing is known: the estimate is 0, the interval everything.
    It is an upper estimate of pages, for a page may be reached through another link too.
    """
    n_explored = n_agreed + n_disagreed
    low, high = share_interval(n_disagreed, n_explored)
    share = n_disagreed / n_explored if n_explored else 0.0
    return LostPages(n_dropped * share, n_dropped * low, n_dropped * high)
