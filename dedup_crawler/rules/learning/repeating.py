"""Kinds of URLs that mostly repeat pages which other URLs show.

Nothing is dropped for that. A crawl that learns fetches such URLs last, when it knows most about them: until then a
rule may be believed that spares their fetches. So similar pages are enough here, where rules must be proved.

A kind is a shape, or all URLs with the same query names: ``?sort=`` mostly means the same in all sections of a site.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from dedup_crawler.rules.language.site_rules import Shape
from dedup_crawler.rules.learning.belief import UNKNOWN

MIN_URLS = 5
"""Smallest number of URLs of a kind that is judged."""
MAX_ALONE = 1 / 3
"""Largest share (0-1) of the URLs of a kind that repeats, for the pages that no other kind shows."""


def repeating_kinds(kinds: Sequence[Shape], alike: Sequence[int]) -> frozenset[Shape]:
    """Find the kinds that repeat, of most URLs first; a page that only repeating kinds show is no repetition.

    Parameters
    ----------
    kinds, alike
        Kind of each URL, empty for none, and a number for pages that are probably the same; UNKNOWN for none.
    """
    n_urls: dict[Shape, int] = defaultdict(int)
    pages_of: dict[Shape, set[int]] = defaultdict(set)
    kinds_of: dict[int, set[Shape]] = defaultdict(set)
    for kind, page in zip(kinds, alike, strict=True):
        if page != UNKNOWN:
            n_urls[kind] += 1
            pages_of[kind].add(page)
            kinds_of[page].add(kind)
    found: set[Shape] = set()
    for kind in sorted(filter(None, n_urls), key=lambda kind: (-n_urls[kind], kind)):
        if n_urls[kind] >= MIN_URLS:
            n_alone = sum(kinds_of[page] <= found | {kind} for page in pages_of[kind])
            if n_alone <= MAX_ALONE * n_urls[kind]:
                found.add(kind)
    return frozenset(found)
