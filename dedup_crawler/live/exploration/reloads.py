"""Second fetches of a few pages, which show what changes with every fetch (:mod:`dedup_crawler.pages.rotating`).

A page is fetched again when a quarter more pages of its site have come, not at once: a cache would show the same text.
So 8 of the first 100 pages of a site are fetched twice, and 18 of the first 1,000. If the first eight do not change,
the next ones wait until the number of pages has doubled.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from dedup_crawler.live.collecting.response_page import FetchedPage, content_type_of
from dedup_crawler.live.exploration.same_page import read
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.scrapy_compat import download
from dedup_crawler.pages.records import ReloadedText
from dedup_crawler.pages.rotating import STEADY, RotatingText
from dedup_crawler.urls.normal import host_of, normal_form

logger = logging.getLogger("dedup_crawler.live")

FIRST_PAGE = 16
"""Number of the first page of a site that is fetched twice."""
GROWTH = 1.25
"""Each next one comes when the number of pages has grown by this factor;"""
STEADY_GROWTH = 2.0
"""or by this one, while the pages of the site do not change."""
STEADY_AFTER = 8
"""Number of reloads that show whether they change."""
MAX_HOSTS = 32
"""Number of sites whose reloads are known; the least recently used one is forgotten."""


@dataclass(slots=True)
class _Site:
    """Reloads of one site."""

    n_pages: int = 0
    next_page: float = FIRST_PAGE
    chosen: tuple[Request, FetchedPage] | None = None
    """The page that is fetched again next."""
    reloads: list[ReloadedText] = field(default_factory=list)
    rotating: RotatingText = STEADY

    @property
    def growth(self) -> float:
        """Factor of its pages from one reload to the next."""
        has_changed = any(reload.first != reload.second for reload in self.reloads)
        return GROWTH if has_changed or len(self.reloads) < STEADY_AFTER else STEADY_GROWTH


class Reloads:
    """Chooses the pages of one crawl that are fetched twice, and fetches them past the queue."""

    def __init__(self, crawler: Crawler) -> None:
        self.listeners: list[Callable[[ReloadedText], None]] = []
        """Called with the two texts of a page that was fetched twice."""
        self._crawler = crawler
        self._site = lru_cache(MAX_HOSTS)(lambda host: _Site())
        self._has_begun = False

    @classmethod
    def of(cls, crawler: Crawler) -> Reloads:
        """Return the reloads of a crawl; they are made at the first call."""
        return _RELOADS.setdefault(crawler, cls(crawler))

    def begin(self) -> None:
        """Fetch pages twice from now on."""
        if not self._has_begun:
            self._has_begun = True
            self._crawler.signals.connect(self._received, signal=signals.response_received)

    def rotating_text(self, host: str) -> RotatingText:
        """Return the places of rotating text found on a host so far."""
        return self._site(host).rotating

    def _received(self, response: Response, request: Request) -> None:
        """Count a page of its site, and choose it if its turn has come."""
        is_html = "html" in content_type_of(response).lower()
        if response.status != 200 or marks.is_exempt(request) or not is_html:
            return
        site = self._site(host_of(normal_form(response.url)))
        site.n_pages += 1
        if site.n_pages < site.next_page:
            return
        site.next_page *= site.growth
        chosen, site.chosen = site.chosen, (request, FetchedPage.of_response(response, response.url))
        if chosen is not None:
            like, page = chosen
            again = marks.once_more(like, page.final_url)
            again.meta.update(dont_cache=True, dont_retry=True)
            download(self._crawler, again, partial(self._compare, page))

    def _compare(self, first: FetchedPage, response: Response | None) -> None:
        if response is None or response.status != 200:
            return
        second = FetchedPage.of_response(response, response.url)
        texts = read(first), read(second)
        if texts[0] is None or texts[1] is None or first.final_url != second.final_url:
            return
        reload = ReloadedText(first.final_url, texts[0].main_text, texts[1].main_text)
        host = host_of(normal_form(reload.url))
        site = self._site(host)
        site.reloads.append(reload)
        was, site.rotating = site.rotating, RotatingText.of(site.reloads)
        self._crawler.stats.inc_value("dedup/request/reloaded")
        if site.rotating.places and not was.places:
            logger.info("Pages of %s show another text with every fetch, in the same places; it is ignored.", host)
        for listener in self.listeners:
            listener(reload)


_RELOADS: WeakKeyDictionary[Crawler, Reloads] = WeakKeyDictionary()
