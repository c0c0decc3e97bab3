"""Lines that all pages of one time show, whatever they are about: the latest comments beside the text.

The text of a site cannot know them, for they change while it is read. They stand on nearly all pages that were fetched
just before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dedup_crawler.live.comparing.owner_pages import FetchedPage
from dedup_crawler.live.comparing.same_page import read

MIN_TITLES = 6
"""Pages of other titles that are needed to tell the frame of a time."""
MAX_TITLES = 8
"""... and that are read, at most."""
FRAME_SHARE = 0.75
"""A line on this share (0-1) of them belongs to it."""


def frames_of_time(owner: FetchedPage, duplicate: FetchedPage, beside: Iterable[Sequence[FetchedPage]]) -> set[int]:
    """Lines (by their hashes) that nearly all pages of the time of one of two pages show.

    *beside* are the pages that were fetched just before and after either of them, the nearest first.
    """
    titles = {page.title for page in (read(owner), read(duplicate)) if page is not None}
    return set().union(*(_frame_of(pages, titles) for pages in beside))


def _frame_of(pages: Iterable[FetchedPage], titles: set[str]) -> set[int]:
    """Lines that nearly all *pages* have; those of the same title as another one, or one of *titles*, are left out."""
    from dedup_crawler.evidence.digests import PageDigests  # only where two pages differ at all

    met, found = set(titles), []
    for page in pages:
        one = read(page)
        if one is not None and one.title not in met:
            met.add(one.title)
            found.append(one)
            if len(found) == MAX_TITLES:
                break
    if len(found) < MIN_TITLES:
        return set()
    n_of_line = PageDigests(found).n_of_line
    return {line for line, n in n_of_line.items() if n >= FRAME_SHARE * len(found)}
