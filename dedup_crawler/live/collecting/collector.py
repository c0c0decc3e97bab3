"""Storing the pages of a crawl: a pipeline for spiders that yield pages, a collector for all others.

Both write through the same recorder to the database of the crawl (``DEDUP_COLLECT``, or the one that it learns from).
It flushes its pages every few seconds, and handles write errors.
"""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.exceptions import NotConfigured
from scrapy.http.request import NO_CALLBACK
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from dedup_crawler.errors import StoreError
from dedup_crawler.live.collecting.crawl_database import database_of
from dedup_crawler.live.collecting.response_page import REFERRER_KEY, PageItem, page_item, referrer_of, without_fragment
from dedup_crawler.live.options import warn_of_unknown_settings
from dedup_crawler.live.scrapy_compat import close_crawl, create_looping_call
from dedup_crawler.live.stopping import refuse_to_start

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall
    from typing_extensions import Self

    from dedup_crawler.pages.records import Page
    from dedup_crawler.pages.store import PageStore

logger = logging.getLogger(__name__)
_RECORDERS: WeakKeyDictionary[Crawler, PageRecorder] = WeakKeyDictionary()
_FLUSH_S = 5.0
"""A slow crawl that is killed loses at most the pages of this time, in seconds."""


class StorePipeline:
    """Item pipeline that stores every :class:`~dedup_crawler.live.collecting.response_page.PageItem`; other items pass.

    Such a spider only collects: when the database cannot be written any more, the crawl is closed
    (``finish_reason`` ``store_failed``).
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._recorder = _open_recorder(crawler, self._give_up)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the pipeline for Scrapy."""
        return cls(crawler)

    def open_spider(self, spider: Spider | None = None) -> None:
        """Start the periodic flush."""
        self._recorder.start()

    def process_item(self, item: Any, spider: Spider | None = None) -> Any:
        """Store pages; pass every item on."""
        if isinstance(item, PageItem):
            self._recorder.add(item)
        return item

    def close_spider(self, spider: Spider | None = None) -> None:
        """Write the remaining pages."""
        self._recorder.close()

    def _give_up(self, error: StoreError) -> None:
        logger.error("%s; the crawl stops here.", error, extra={"spider": self.crawler.spider})
        close_crawl(self.crawler, "store_failed")


class Collector(BaseSpiderMiddleware):
    """Stores every page that any spider fetches, redirects and errors included, in ``DEDUP_COLLECT``.

    It listens to the engine. It adds one meta key to requests, the URL of the page that held the link. Requests
    without a callback (robots.txt, media) are not stored. When the database cannot be written any more, one log line
    reports it and the crawl goes on without storing pages.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        if getattr(crawler.spidercls, "yields_pages", False):
            raise NotConfigured  # the pipeline stores them
        self._recorder = _open_recorder(crawler, self._give_up)
        for handler, signal in (
            (self._opened, signals.spider_opened),
            (self._scheduled, signals.request_scheduled),
            (self._received, signals.response_received),
            (self._closed, signals.spider_closed),
        ):
            crawler.signals.connect(handler, signal=signal)

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Note which page held the link."""
        # a spider that requests the same URL again (its own retry) has not followed a link
        if response is not None and request.url != response.url:
            request.meta[REFERRER_KEY] = response.url
        return request

    def _opened(self) -> None:
        self._recorder.start()

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

    def _received(self, response: Response, request: Request) -> None:
        if request.callback is not NO_CALLBACK:
            self._recorder.add(page_item(request, response))

    def _closed(self) -> None:
        self._recorder.close()

    def _give_up(self, error: StoreError) -> None:
        logger.error("%s; the crawl goes on, its pages are not stored.", error, extra={"spider": self.crawler.spider})


def _open_recorder(crawler: Crawler, on_error: Callable[[StoreError], None]) -> PageRecorder:
    warn_of_unknown_settings(crawler)
    database = database_of(crawler)
    if database is None:
        raise NotConfigured
    try:
        recorder = _RECORDERS[crawler] = PageRecorder(database, on_error)
        return recorder
    except StoreError as error:
        refuse_to_start(crawler, "store_failed", str(error))
        raise NotConfigured from error


def write_pages(crawler: Crawler) -> None:
    """Write the pages that *crawler* has collected so far, before its database is read."""
    if (recorder := _RECORDERS.get(crawler)) is not None:
        recorder.flush()


class PageRecorder:
    """Stores the pages of a crawl in *location*.

    The first failing write ends the recording: *on_error* is called once with the error, and later pages are ignored.
    The recorder never stops the crawl.

    StoreError if the database cannot be opened.
    """

    def __init__(self, location: str, on_error: Callable[[StoreError], None]) -> None:
        from dedup_crawler.pages.store import PageStore  # not loaded by a crawl that stores nothing

        self._store: PageStore | None = PageStore(location)
        self._on_error = on_error
        self._clock: AsyncioLoopingCall | LoopingCall | None = None

    def start(self) -> None:
        """Flush every few seconds from now on; needs a running event loop."""
        self._clock = create_looping_call(self.flush)
        self._clock.start(_FLUSH_S, now=False)

    def add(self, page: Page) -> None:
        """Store *page* with the next flush, or earlier."""
        self._guard(lambda store: store.add(page))

    def close(self) -> None:
        """Write the remaining pages."""
        if self._clock is not None and self._clock.running:
            self._clock.stop()
        self._guard(lambda store: store.close())
        self._store = None

    def flush(self) -> None:
        """Write the pages added since the last flush."""
        self._guard(lambda store: store.flush())

    def _guard(self, action: Callable[[PageStore], None]) -> None:
        store = self._store
        if store is None:
            return
        try:
            action(store)
        except StoreError as error:
            self._store = None
            with contextlib.suppress(StoreError):  # the first error is reported
                store.close()
            self._on_error(error)
