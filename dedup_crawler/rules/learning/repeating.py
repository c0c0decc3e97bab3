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


def repeating_kinds(kinds: Sequence[Shape], alike: Sequence[int], leads_on: Sequence[bool]) -> frozenset[Shape]:
    """Find the kinds that repeat. A page that only repeating kinds show is no repetition.

    Of two kinds that show the same pages, only one repeats: the one of which more URLs redirect, because the page is at
    the target; else the one of more URLs.

    Parameters
    ----------
    kinds, alike, leads_on
        Kind of each URL, empty for none; a number for pages that are probably the same, UNKNOWN for none; and True for
        redirects.
    """
    n_urls: dict[Shape, int] = defaultdict(int)
    n_redirects: dict[Shape, int] = defaultdict(int)
    pages_of: dict[Shape, set[int]] = defaultdict(set)
    kinds_of: dict[int, set[Shape]] = defaultdict(set)
    for kind, page, is_redirect in zip(kinds, alike, leads_on, strict=True):
        if page != UNKNOWN:
            n_urls[kind] += 1
            n_redirects[kind] += is_redirect
            pages_of[kind].add(page)
            kinds_of[page].add(kind)
    found: set[Shape] = set()
    share = {kind: n_redirects[kind] / n for kind, n in n_urls.items()}
    for kind in sorted(filter(None, n_urls), key=lambda kind: (-share[kind], -n_urls[kind], kind)):
        if n_urls[kind] >= MIN_URLS:
            n_alone = sum(kinds_of[page] <= found | {kind} for page in pages_of[kind])
            if n_alone <= MAX_ALONE * n_urls[kind]:
                found.add(kind)
    return frozenset(found)
