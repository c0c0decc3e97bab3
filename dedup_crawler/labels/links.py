"""Links of a stored page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import urljoin

import lxml.etree
import lxml.html

from dedup_crawler.labels.lines import content_kind, decode
from dedup_crawler.labels.main_text import MAX_BYTES
from dedup_crawler.pages.store import PageStore


def stored_links(store: PageStore) -> Callable[[str], Iterator[str]]:
    """Return a function that yields the URLs of the links on the page of a URL, each once; none if it is not stored.

    It reads HTML of good answers, as far as the parser can; the *store* must stay open.
    """

    def links_of(url: str) -> Iterator[str]:
        page = store.get(url)
        if page is None or page.status >= 300 or not 0 < len(page.content) <= MAX_BYTES:
            return
        content_type = page.content_type or ""
        if content_kind(page.content if not content_type else b"", content_type) != "html":
            return
        try:
            tree = lxml.html.fromstring(decode(page.content, page.content_type).encode(), parser=_parser())
        except (lxml.etree.LxmlError, ValueError):
            return
        base = next((each.get("href") for each in tree.iter("base") if each.get("href")), "")
        hrefs = (each.get("href") for each in tree.iter("a", "area"))
        for href in dict.fromkeys(href.strip() for href in hrefs if href):
            with suppress(ValueError):  # such as an unclosed bracket in the host
                yield urljoin(urljoin(url, base), href).partition("#")[0]

    return links_of


def _parser() -> lxml.html.HTMLParser:
    return lxml.html.HTMLParser(encoding="utf-8")
