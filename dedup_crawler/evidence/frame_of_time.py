"""Frame of a time: lines that all pages fetched at one time show, such as the latest comments beside the text.

The frame of the site does not contain them, because they change during the crawl. They are on nearly all pages fetched
just before a page, or on nearly all fetched just after it. The two sides are separate, because such a line may appear
or disappear with this page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from itertools import chain

from dedup_crawler.evidence.digests import PageDigest

N_BESIDE = 60
"""Number of pages before a page, and after it, that are searched for its time's frame."""
MIN_TITLES = 6
"""Least number of pages with other titles that show the frame of a time."""
MAX_TITLES = 8
"""Largest number of such pages that are used."""
FRAME_SHARE = 0.75
"""A line on this share (0-1) of them belongs to the frame."""


def frame_of_time(pages: Iterable[PageDigest], titles: Set[str] = frozenset()) -> frozenset[int]:
    """Return the lines that nearly all *pages* show; *pages* come nearest first.

    Of pages with one title only the first counts; pages with one of *titles* do not count.
    """
    met = set(titles)
    read: list[frozenset[int]] = []
    for page in pages:
        if len(read) == MAX_TITLES:
            break
        if page.lines and page.title and page.title not in met:
            met.add(page.title)
            read.append(page.lines)
    if len(read) < MIN_TITLES:
        return frozenset()
    n_of_line = Counter(chain.from_iterable(read))
    least = FRAME_SHARE * len(read)
    return frozenset([line for line, n in n_of_line.items() if n >= least])
