"""What is late in a crawl: what is met first is not what comes later, so rules are confirmed by late duplicates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LATE = 0.7
"""What is met behind this share of the crawl, or of its duplicates, is late."""


def late_from(pages: Sequence[int]) -> int:
    """Place from which URLs are late; ``pages[i]`` is what URL i shows, negative where nobody knows.

    Time is counted in duplicates where these become fewer: a crawl that is filtered meanwhile shows hardly any, and
    must not lose the rules that it is filtered by when they are learnt again.

    >>> late_from([1, 2, 3, 4, 5, 1, 2, 3, 4, 5]), late_from([1, 1, 2, 2, 3, 4, 5, 6, 7, 8]), late_from([])
    (7, 3, 0)
    """
    shown = np.asarray(pages, np.int64)
    is_repeated = np.ones(len(shown), bool)
    is_repeated[np.unique(shown, return_index=True)[1]] = False
    n_duplicates = np.cumsum(is_repeated & (shown >= 0))
    by_place = int(np.ceil(LATE * len(shown)))
    if not len(shown) or n_duplicates[-1] == 0:
        return by_place
    return min(by_place, int(np.searchsorted(n_duplicates, LATE * n_duplicates[-1])))
