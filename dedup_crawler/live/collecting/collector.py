"""Storing the pages of a crawl in its database (``DEDUP_COLLECT``, or the one that it learns from).

The recorder flushes the pages every few seconds, and handles write errors.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from dedup_crawler.errors import StoreError
from dedup_crawler.live.collecting.crawl_database import database_of
from dedup_crawler.live.collecting.response_page import REFERRER_KEY, PageItem, page_item, referrer_of, without_fragment
from dedup_crawler.live.exploration.reloads import Reloads
from dedup_crawler.live.options import warn_of_unknown_settings
from dedup_crawler.live.scrapy_compat import close_crawl, create_looping_call, refuse_to_start
from dedup_crawler.pages.records import Page, ReloadedText

if TYPE_CHECKING:
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from dedup_crawler.pages.store import PageStore

logger = logging.getLogger(__name__)
_RECORDERS: WeakKeyDictionary[Crawler, PageRecorder] = WeakKeyDictionary()
_FLUSH_S = 5.0
"""A slow crawl that is killed loses at most the pages of this time, in seconds."""
_MAX_WAIT_S = 300.0
"""Longest time between two tries to write, in seconds."""
_PAUSE = 10  # the crawl stands still during a try, so the next one waits for ten times as long
_MAX_LATE_BYTES = 64 * 2**20
_PAGE_BYTES = 1_000  # memory of a page besides its body


class Collector(BaseSpiderMiddleware):
    """Stores every page that any spider fetches, redirects and errors included, in ``DEDUP_COLLECT``.

    It listens to the engine. It adds one meta key to requests, the URL of the page that held the link. Requests
    without a callback (robots.txt, media) are not stored. While the database cannot be written, it keeps the pages and
    tries again. If that lasts too long, one log line reports it, and the crawl goes on without storing pages.

    Of a spider that yields pages (:class:`~dedup_crawler.live.collecting.response_page.PageItem`) it stores these. Such
    a spider only collects: when the database cannot be written, the crawl is closed (``finish_reason``
    ``store_failed``).
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        warn_of_unknown_settings(crawler)
        database = database_of(crawler)
        if database is None:
            raise NotConfigured
        self._yields_pages = getattr(crawler.spidercls, "yields_pages", False)
        try:
            self._recorder = PageRecorder(crawler, database, only_collects=self._yields_pages)
        except StoreError as error:
            refuse_to_start(crawler, "store_failed", str(error))
            raise NotConfigured from error
        _RECORDERS[crawler] = self._recorder
        crawler.signals.connect(self._recorder.start, signal=signals.spider_opened)
        crawler.signals.connect(self._recorder.close, signal=signals.spider_closed)
        if self._yields_pages:
            crawler.signals.connect(self._scraped, signal=signals.item_scraped)
        else:
            crawler.signals.connect(self._scheduled, signal=signals.request_scheduled)
            crawler.signals.connect(self._received, signal=signals.response_received)

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Note which page held the link; a spider that yields pages notes it itself."""
        # a spider that requests the same URL again (its own retry) has not followed a link
        if response is not None and request.url != response.url and not self._yields_pages:
            request.meta[REFERRER_KEY] = response.url
        return request

    def _scheduled(self, request: Request) -> None:
        """Store the redirect that led to *request*: Scrapy follows it before any other component sees the response."""
        sources = request.meta.get("redirect_urls")
        if not sources:
            return
        # A spider may copy this meta to a request that is no redirect; the store keeps the first version of a page.
        reason = request.meta["redirect_reasons"][-1]
        status = reason if isinstance(reason, int) else 200  # "meta refresh" is a page with status 200
        target = without_fragment(request.url)
        url = without_fragment(sources[-1])
        self._recorder.add(
            PageItem(url=url, status=status, referrer=referrer_of(request), redirect_to=target, fetched_at=time.time())
        )

    def _scraped(self, item: Any) -> None:
        if isinstance(item, PageItem):
            self._recorder.add(item)

    def _received(self, response: Response, request: Request) -> None:
        if request.callback is not NO_CALLBACK:
            self._recorder.add(page_item(request, response))


def write_pages(crawler: Crawler) -> None:
    """Write the pages that *crawler* has collected so far, before its database is read."""
    if (recorder := _RECORDERS.get(crawler)) is not None:
        recorder.flush()


class PageRecorder:
    """Stores the pages of a crawl in *location*.

    If the crawl *only_collects*, the first failing write closes it. Otherwise the crawl goes on: the recorder keeps up
    to 64 MiB of pages and tries again, ever more rarely. If the pages become too many, or the crawl ends, it gives up,
    and ignores all other pages.

    StoreError if the database cannot be opened.
    """

    def __init__(self, crawler: Crawler, location: str, *, only_collects: bool) -> None:
        from dedup_crawler.pages.store import PageStore  # not loaded by a crawl that stores nothing

        self._crawler = crawler
        self._store: PageStore | None = PageStore(location)
        self._only_collects = only_collects
        self._keeps_trying = not only_collects
        self._clock: AsyncioLoopingCall | LoopingCall | None = None
        self._error: StoreError | None = None
        """The error of the last write, if it failed."""
        self._late: deque[Page] = deque()
        """Pages that came since then."""
        self._late_bytes = 0
        self._wait_s = 0.0
        self._next_try = 0.0
        reloads = Reloads.of(crawler)
        reloads.begin()
        reloads.listeners.append(self.add_reload)

    def start(self) -> None:
        """Flush every few seconds from now on; needs a running event loop."""
        self._clock = create_looping_call(self.flush)
        self._clock.start(_FLUSH_S, now=False)

    def add(self, page: Page) -> None:
        """Store *page* with the next flush, or earlier."""
        if self._error is None:
            self._guard(lambda store: store.add(page))
        elif self._store is not None:
            self._late.append(page)
            self._late_bytes += len(page.content) + _PAGE_BYTES
            if self._late_bytes > _MAX_LATE_BYTES:
                self._give_up(self._error)

    def add_reload(self, reload: ReloadedText) -> None:
        """Store the texts of a page that was fetched twice; while nothing can be written, it is left out."""
        if self._error is None:
            self._guard(lambda store: store.add_reload(reload))

    def close(self) -> None:
        """Write the remaining pages."""
        if self._clock is not None and self._clock.running:
            self._clock.stop()
        self._keeps_trying = False
        self._guard(self._write)
        self._guard(lambda store: store.close())
        self._store = None

    def flush(self) -> None:
        """Write the pages added since the last flush."""
        if self._error is None or time.monotonic() >= self._next_try:
            self._guard(self._write)

    def _write(self, store: PageStore) -> None:
        store.flush()
        while self._late:
            store.add(self._late.popleft())  # the store keeps a page that it cannot write
        if self._error is not None:
            logger.info("The pages of this crawl are stored again.")
        self._error, self._late_bytes, self._wait_s = None, 0, 0.0

    def _guard(self, action: Callable[[PageStore], object]) -> None:
        store = self._store
        if store is None:
            return
        begun = time.monotonic()
        try:
            action(store)
        except StoreError as error:
            if not self._keeps_trying:
                self._give_up(error)
                return
            if self._error is None:
                logger.warning("%s; the crawl goes on, and tries again to store its pages.", error)
            self._error = error
            now = time.monotonic()
            self._wait_s = min(_MAX_WAIT_S, max(_FLUSH_S, 2 * self._wait_s, _PAUSE * (now - begun)))
            self._next_try = now + self._wait_s

    def _give_up(self, error: StoreError) -> None:
        store, self._store = self._store, None
        self._late.clear()
        with contextlib.suppress(StoreError):  # the error of the write is reported
            if store is not None:
                store.close()
        what = "the crawl stops here" if self._only_collects else "the crawl goes on, its pages are not stored"
        logger.error("%s; %s.", error, what, extra={"spider": self._crawler.spider})
        if self._only_collects:
            close_crawl(self._crawler, "store_failed")
