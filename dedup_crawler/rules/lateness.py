"""What is late in a crawl: what is met first is not what comes later, so rules are confirmed by late duplicates."""

from __future__ import annotations

import math

LATE = 0.7
"""What is met behind this share of the crawl is late."""


def late_from(n_urls: int, n_unfiltered: int | None = None) -> int:
    """Place from which the URLs of a crawl are late.

    A crawl that is filtered from the place *n_unfiltered* on shows hardly any duplicates there, and must not lose the
    rules that it is filtered by when they are learnt again: its time is that of the part before.

    >>> late_from(1000), late_from(1000, 100)
    (700, 70)
    """
    return math.ceil(LATE * (n_urls if n_unfiltered is None else min(n_urls, n_unfiltered)))
