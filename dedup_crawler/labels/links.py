"""Links of a stored page, as evidence for referrer rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from urllib.parse import urljoin

import lxml.etree
import lxml.html

from dedup_crawler.labels.lines import content_kind, decode
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from dedup_crawler.urls.page_links import MAX_BYTES


def links_of(page: Page) -> Iterator[str]:
    """Yield the absolute URLs of the links on a page, each once, without fragments.

    None for anything but HTML with status 200-299. Of broken HTML those that the parser finds.
    """
    if page.status >= 300 or not 0 < len(page.content) <= MAX_BYTES:
        return
    content_type = page.content_type or ""
    if content_kind(page.content if not content_type else b"", content_type) != "html":
        return
    parser = lxml.html.HTMLParser(encoding="utf-8")
    try:
        tree = lxml.html.fromstring(decode(page.content, page.content_type).encode(errors="replace"), parser=parser)
    except (lxml.etree.LxmlError, ValueError):
        return
    base = next((each.get("href") for each in tree.iter("base") if each.get("href")), "")
    hrefs = (each.get("href") for each in tree.iter("a", "area"))
    found: dict[str, None] = {}
    for href in dict.fromkeys(href.strip() for href in hrefs if href):
        with suppress(ValueError):  # such as an unclosed bracket in the host
            found[urljoin(urljoin(page.url, base), href).partition("#")[0]] = None
    yield from found


def stored_links(store: PageStore) -> Callable[[str], Iterable[str]]:
    """Return :func:`links_of` for the pages of *store*, by their URLs; the store must stay open."""

    def links_on(url: str) -> Iterable[str]:
        page = store.get(url)
        return links_of(page) if page is not None else ()

    return links_on
