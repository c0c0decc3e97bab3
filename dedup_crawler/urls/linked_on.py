"""The pages on which each link was seen: a later page may tell more about a link than the first one.

``/question/7?answer=9`` is linked on the page of its author and on the page of its question, and only there a referrer
rule knows that it leads back. The first link waits in the queue by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MAX_LINKS = 50_000
"""Most links whose pages are known; the oldest are forgotten first."""
MAX_PAGES = 8
"""Most pages that are known of one link, such as one in the menu of all pages: the first ones."""

MAX_SETS = 1_000
"""Most different sets of names that are kept once for all pages."""


class LinkedOn:
    """URL of a link -> URLs of the first pages that hold it; and page -> names in its links. Bounded."""

    def __init__(self, max_links: int = MAX_LINKS) -> None:
        self._max_links = max_links
        self._pages: dict[str, tuple[str, ...]] = {}
        self._numbers: dict[str, int] = {}  # pages whose links were seen, numbered
        self._names: dict[str, frozenset[str]] = {}  # page -> names in its links; most pages share one set
        self._sets: dict[frozenset[str], frozenset[str]] = {}
        self._n_seen = 0
        self._n_lost = 0  # number of the latest page with a forgotten link

    def saw(self, links: Iterable[str], page: str) -> None:
        """Note the URLs of the *links* on a page."""
        self._n_seen += 1
        self._numbers.setdefault(page, self._n_seen)
        if len(self._numbers) > self._max_links:
            del self._numbers[next(iter(self._numbers))]
        known = self._pages
        for url in links:
            pages = known.get(url)
            if pages is None:
                if len(known) >= self._max_links:
                    lost = known.pop(next(iter(known)))
                    self._n_lost = max(self._n_lost, *(self._numbers.get(each, 0) for each in lost))
                known[url] = (page,)
            elif len(pages) < MAX_PAGES and page not in pages:
                known[url] = (*pages, page)

    def note_names(self, page: str, names: frozenset[str]) -> None:
        """Note the names in the links of a page, whose URL is in normal form (:mod:`dedup_crawler.urls.link_names`)."""
        if len(self._names) >= self._max_links:
            del self._names[next(iter(self._names))]
        if len(self._sets) >= MAX_SETS:
            self._sets.clear()
        self._names[page] = self._sets.setdefault(names, names)

    def names(self, page: str) -> frozenset[str] | None:
        """Return the names in the links of a page, whose URL is in normal form; None if they are not known."""
        return self._names.get(page)

    def lacks(self, page: str, url: str) -> bool:
        """Return True if the links of *page* are known, and *url* is none of them."""
        if self._numbers.get(page, 0) <= self._n_lost:
            return False
        pages = self.pages(url)
        return len(pages) < MAX_PAGES and page not in pages

    def pages(self, url: str) -> Sequence[str]:
        """Return pages with a link to *url*, the first ones first; none if they are not known."""
        return self._pages.get(url, ())
