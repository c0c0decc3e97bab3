"""The text of each site of a crawl, read from the pages that it fetches."""

from __future__ import annotations

from collections import OrderedDict, deque
from typing import TYPE_CHECKING

from dedup_crawler.live.comparing.owner_pages import FetchedPage, OwnerPages
from dedup_crawler.live.comparing.same_page import read

if TYPE_CHECKING:
    from dedup_crawler.evidence.growing_text import GrowingText
    from dedup_crawler.evidence.site_text import SiteText

FIRST_PAGES = 50
"""The first pages, which are all read; later only one in so many: reading takes a tenth of what fetching does."""
EVERY = 8
"""Until as many pages were read ..."""
MANY_PAGES = 200
EVERY_LATER = 32
"""... and from then on."""
MAX_HOSTS = 32
"""Sites whose text is known; the least recently asked for is forgotten."""


class PagesOfSite:
    """The pages of one site that are read, and its text.

    Nothing is read before somebody asks: on a site where nothing is explored no page has to be.
    """

    def __init__(self) -> None:
        self._text: GrowingText | None = None
        self._n_offered = 0
        self._n_read = 0
        self._unread: deque[bytes] = deque(maxlen=FIRST_PAGES)  # forms of pages that wait

    def offer(self, form: bytes, page: FetchedPage) -> None:
        """Say that the page of a form was fetched."""
        self._n_offered += 1
        every = EVERY if self._n_read < MANY_PAGES else EVERY_LATER
        if self._n_read + len(self._unread) < FIRST_PAGES or self._n_offered % every == 0:
            if self._text is None:
                self._unread.append(form)
            else:
                self._see(self._text, page)

    def text(self, pages: OwnerPages) -> SiteText | None:
        """Text of the site; None as long as it is not known. What was offered is read if it is among *pages*."""
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
    """The pages of each site of a crawl; bounded."""

    def __init__(self) -> None:
        self._sites: OrderedDict[str, PagesOfSite] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sites)

    def of(self, host: str) -> PagesOfSite:
        """Pages of a host, none if it is not known yet."""
        site = self._sites.get(host)
        if site is None:
            site = self._sites[host] = PagesOfSite()
            if len(self._sites) > MAX_HOSTS:
                self._sites.popitem(last=False)
        else:
            self._sites.move_to_end(host)
        return site

    def catch_up(self, pages: OwnerPages) -> None:
        """Read what waits, for *pages* are forgotten now."""
        for site in self._sites.values():
            site.text(pages)
