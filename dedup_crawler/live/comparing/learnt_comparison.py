"""Comparison of two fetched pages with all that learning knows of their site and of the rules that are tested.

A crawl that has seen a few hundred pages cannot tell that "Leave a reply to Anna" stands on every page of a kind. The
model can: it keeps the text of the site and what its rules always change (:mod:`dedup_crawler.evidence.site_text`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dedup_crawler.live.comparing.owner_pages import FetchedPage
from dedup_crawler.live.comparing.page_lines import Kind, kind_of
from dedup_crawler.pages.records import LabelledPage

if TYPE_CHECKING:
    from dedup_crawler.evidence.comparing import Verdict
    from dedup_crawler.evidence.site_text import SiteText

MAX_BYTES = 2**19
"""A longer page is not read: it would hold up the crawl."""


def verdict_of_model(
    owner: FetchedPage, duplicate: FetchedPage, rules: Iterable[str], site: SiteText
) -> Verdict | None:
    """Compare two good answers as learning compares pages that *rules* make one; None where they cannot be read."""
    from dedup_crawler.evidence.comparing import PageEvidence  # only where two pages differ at all
    from dedup_crawler.evidence.digests import PageDigests

    pages = [_read(page) for page in (owner, duplicate)]
    known = [page for page in pages if page is not None]
    if len(known) < len(pages):
        return None
    return PageEvidence(PageDigests(known), site).judge_by(site.habits_of(rules), 0, 1)


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
