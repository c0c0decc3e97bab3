"""Lines that all pages of one time show, whatever they are about: the latest comments beside the text.

The text of a site cannot know them, for they change while it is crawled. They stand on nearly all pages that were
fetched just before one, or on nearly all that were fetched just after it: each side speaks for itself, because such a
line may come or go with that very page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set

from dedup_crawler.evidence.digests import PageDigest

N_BESIDE = 60
"""Pages before one, and after it, among which those of its time are looked for."""
MIN_TITLES = 6
"""Pages of other titles that are needed to tell the frame of a time."""
MAX_TITLES = 8
"""... and that are looked at, at most."""
FRAME_SHARE = 0.75
"""A line on this share (0-1) of them belongs to it."""


def frame_of_time(pages: Iterable[PageDigest], titles: Set[str] = frozenset()) -> frozenset[int]:
    """Lines that nearly all *pages* show, the nearest first.

    Of pages with one title the first counts, and none with one of *titles*.
    """
    met = set(titles)
    n_of_line: Counter[int] = Counter()
    n_read = 0
    for page in pages:
        if n_read == MAX_TITLES:
            break
        if page.lines and page.title and page.title not in met:
            met.add(page.title)
            n_of_line.update(page.lines)
            n_read += 1
    if n_read < MIN_TITLES:
        return frozenset()
    return frozenset(line for line, n in n_of_line.items() if n >= FRAME_SHARE * n_read)
