"""Comparison of two fetched pages with all that learning knows of their site and of the rules that are tested.

A crawl that has seen a few hundred pages cannot tell that "Leave a reply to Anna" stands on every page of a kind. The
model can: it keeps the text of the site and what its rules always change (:mod:`dedup_crawler.evidence.site_text`).

The model cannot know the latest comments beside the text, which every page shows until the next ones come. Such a line
stands on nearly all pages that were fetched just before and after, whatever they are about: the frame of that time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from dedup_crawler.live.comparing.owner_pages import FetchedPage
from dedup_crawler.live.comparing.page_lines import Kind, kind_of
from dedup_crawler.pages.records import LabelledPage

if TYPE_CHECKING:
    from dedup_crawler.evidence.comparing import Verdict
    from dedup_crawler.evidence.site_text import SiteText

MAX_BYTES = 2**19
"""A longer page is not read: it would hold up the crawl."""
MIN_TITLES = 6
"""Pages of other titles that are needed to tell the frame of a time."""
MAX_TITLES = 8
"""... and that are read, at most."""
FRAME_SHARE = 0.75
"""A line on this share (0-1) of them belongs to it."""


def verdict_of_model(
    owner: FetchedPage,
    duplicate: FetchedPage,
    rules: Iterable[str],
    site: SiteText,
    beside: Iterable[Sequence[FetchedPage]] = (),
) -> Verdict | None:
    """Compare two good answers as learning compares pages that *rules* make one; None where they cannot be read.

    *beside* are the pages that were fetched just before and after either of them, the nearest first.
    """
    from dedup_crawler.evidence.comparing import PageEvidence, Verdict  # only where two pages differ at all
    from dedup_crawler.evidence.digests import PageDigests

    one, other = _read(owner), _read(duplicate)
    if one is None or other is None:
        return None
    digests, habits = PageDigests([one, other]), site.habits_of(rules)
    verdict = PageEvidence(digests, site).judge_by(habits, 0, 1)
    if verdict is Verdict.SAME:
        return verdict
    frames = [_frame_of(pages, {one.title, other.title}) for pages in beside]
    if not any(frames):
        return verdict
    return PageEvidence(digests, replace(site, frame=site.frame.union(*frames))).judge_by(habits, 0, 1)


def _frame_of(pages: Iterable[FetchedPage], titles: set[str]) -> frozenset[int]:
    """Lines that nearly all *pages* have; those of the same title as another one, or one of *titles*, are left out."""
    from dedup_crawler.evidence.digests import PageDigests

    met, found = set(titles), []
    for page in pages:
        read = _read(page)
        if read is not None and read.title not in met:
            met.add(read.title)
            found.append(read)
            if len(found) == MAX_TITLES:
                break
    if len(found) < MIN_TITLES:
        return frozenset()
    n_of_line = PageDigests(found).n_of_line
    return frozenset(line for line, n in n_of_line.items() if n >= FRAME_SHARE * len(found))


@lru_cache(64)  # the pages around one time are looked at for each test of it
def _read(page: FetchedPage) -> LabelledPage | None:
    """The page as learning reads it; None if it is no HTML, or cannot be read."""
    from dedup_crawler.labels.html import read_html
    from dedup_crawler.labels.lines import decode

    if kind_of(page) is not Kind.HTML or page.n_bytes > MAX_BYTES:
        return None
    try:
        html = read_html(decode(page.body, page.content_type or None).replace("\0", "\ufffd"), page.url, "English")
    except Exception:  # noqa: BLE001 - one page must not end the crawl, whatever it does to the parsers
        return None
    lines = (" ".join(each.text.split()) for each in html.paragraphs)
    return LabelledPage(page.url, None, 200, None, html.title, "\n".join(filter(None, lines)), None, None)
