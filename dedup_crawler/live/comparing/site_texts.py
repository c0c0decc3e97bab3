"""The text of each site of a crawl, learnt from the fetched pages."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING

from dedup_crawler.live.comparing.owner_pages import FetchedPage, OwnerPages
from dedup_crawler.live.comparing.same_page import read

if TYPE_CHECKING:
    from dedup_crawler.evidence.growing_text import GrowingText
    from dedup_crawler.evidence.site_text import SiteText

FIRST_PAGES = 50
"""Number of first pages that are all read; later only a sample: reading takes a tenth of the fetch time."""
EVERY = 8
"""One page in 8 is read until MANY_PAGES were read,"""
MANY_PAGES = 200
EVERY_LATER = 32
"""and one in 32 from then on."""
MAX_HOSTS = 32
"""Number of sites whose text is kept; the least recently used one is forgotten."""


class PagesOfSite:
    """The sampled pages of one site, and the text learnt from them.

    Pages are read only when the text is first needed: a site without explorations needs none.
    """

    def __init__(self) -> None:
        self._text: GrowingText | None = None
        self._n_offered = 0
        self._n_read = 0
        self._unread: deque[bytes] = deque(maxlen=FIRST_PAGES)  # forms of sampled pages

    def offer(self, form: bytes, page: FetchedPage) -> None:
        """Take the fetched page of a form into the sample if its turn has come."""
        self._n_offered += 1
        every = EVERY if self._n_read < MANY_PAGES else EVERY_LATER
        if self._n_read + len(self._unread) < FIRST_PAGES or self._n_offered % every == 0:
            if self._text is None:
                self._unread.append(form)
            else:
                self._see(self._text, page)

    def text(self, pages: OwnerPages) -> SiteText | None:
        """Return the text of the site, or None if not known yet. Offered pages are read if *pages* still has them."""
        if self._text is None:
            from dedup_crawler.evidence.growing_text import GrowingText

            self._text = GrowingText()
        while self._unread:
            page = pages.get(self._unread.popleft())
            if page is not None:
                self._see(self._text, page)
        return self._text.text() if self._text.is_known else None

    def _see(self, text: GrowingText, page: FetchedPage) -> None:
        self._n_read += 1
        if (known := read(page)) is not None:
            text.see(known)


class SiteTexts:
    """Host -> its sampled pages; bounded."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, PagesOfSite] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sites)

    def of(self, host: str) -> PagesOfSite:
        """Return the entry of a host, a new one if it is unknown."""
        site = self._sites.get(host)
        if site is None:
            site = self._sites[host] = PagesOfSite()
            if len(self._sites) > MAX_HOSTS:
                self._sites.popitem(last=False)
        else:
            self._sites.move_to_end(host)
        return site

    def catch_up(self, pages: OwnerPages) -> None:
        """Read all unread pages before *pages* is cleared."""
        for site in self._sites.values():
            site.text(pages)
