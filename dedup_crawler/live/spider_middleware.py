"""Spider middleware: it drops links of a page before they are queued, where this is cheapest."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator
from inspect import isasyncgenfunction
from itertools import compress
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from dedup_crawler.live.collecting.response_page import REFERRER_KEY
from dedup_crawler.live.duplicate_filter import DuplicateFilter
from dedup_crawler.live.scrapy_compat import stop_at_start
from dedup_crawler.live.seen.protocol import at_once

_BATCH = 250  # smaller batches have cold caches; larger ones cost more garbage collection


class DuplicateFilterSpiderMiddleware(BaseSpiderMiddleware):
    """Spider middleware that drops links to pages that the crawl fetches through another URL.

    Enabled by the add-on, or by ``SPIDER_MIDDLEWARES = {"dedup_crawler.DuplicateFilterSpiderMiddleware": 40}`` beside
    :class:`~dedup_crawler.live.middleware.DuplicateFilterMiddleware`, whose settings it shares. Without that one the
    crawl does not start. It never sees redirects, retries, robots.txt or media requests. A drop sends the signal
    :data:`dedup_crawler.signals.request_dropped` and calls no errback.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        duplicate_filter = DuplicateFilter.of(crawler)
        if duplicate_filter is None:
            raise NotConfigured
        self._filter = duplicate_filter
        self._filter.answers.has_spider_side = True
        crawler.signals.connect(self._opened, signal=signals.spider_opened)
        # such a spider notes the referrer itself
        self._notes_referrers = not getattr(crawler.spidercls, "yields_pages", False)

    def _opened(self) -> None:
        """Refuse to work alone: the failures of owners would go unnoticed, and their substitutes would be lost."""
        if not self._filter.has_downloader_side:
            stop_at_start(
                self.crawler,
                "dedup_middleware_missing",
                "DuplicateFilterSpiderMiddleware is enabled without its partner, which sends a dropped request if "
                "its owner fails: use the add-on, or add 'dedup_crawler.DuplicateFilterMiddleware' to "
                "DOWNLOADER_MIDDLEWARES.",
            )

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Let start requests own their forms; they are never dropped.

        A spider that resumes from a database starts with the links of its pages, each with its referrer.
        """
        async for each in start:
            if (
                isinstance(each, Request)
                and not (await self._filter.decide([each], is_start=each.meta.get(REFERRER_KEY) is None))[0]
            ):
                continue
            yield each

    def process_spider_output(
        self, response: Response | None, result: Iterable[Any], spider: Spider | None = None
    ) -> Iterable[Any]:
        """Drop links, in versions of Scrapy before 2.16."""
        page = self._referrer_of_links(response)
        self._filter.note_link_names(response)
        for each in result:
            if isinstance(each, Request) and self._filter.seen.is_local:
                yield from at_once(self._kept([each], page))
            else:
                yield each
        self._processed(response)

    async def process_spider_output_async(
        self, response: Response | None, result: AsyncIterator[Any], spider: Spider | None = None
    ) -> AsyncIterator[Any]:
        """Drop links; decide about those of a page in batches, unless the spider may wait between them."""
        batch = 1 if self._takes_its_time(response) else _BATCH
        page = self._referrer_of_links(response)
        self._filter.note_link_names(response)
        waiting: list[Request] = []
        try:
            async for each in result:
                if not isinstance(each, Request):
                    yield each
                    continue
                waiting.append(each)
                if len(waiting) >= batch:
                    for request in await self._kept(waiting, page):
                        yield request
        except Exception:
            for request in await self._kept(waiting, page):  # requests that the spider yielded before it failed
                yield request
            raise
        for request in await self._kept(waiting, page):
            yield request
        self._processed(response)

    def process_spider_exception(self, response: Response, exception: Exception, spider: Spider | None = None) -> None:
        """Count a page as processed even if the spider failed on it: its duplicates would fail as well."""
        self._processed(response)

    async def _kept(self, requests: list[Request], page: str | None) -> Iterable[Request]:
        """Return the links of a page that are sent; empty *requests*."""
        if not requests:
            return ()
        if page is not None:
            links = [request for request in requests if request.url != page]
            for request in links:
                request.meta[REFERRER_KEY] = page
            self._filter.linked_on.saw((request.url for request in links), page)
        kept = deque(compress(requests, await self._filter.decide(requests)))
        requests.clear()
        return _one_by_one(kept)

    def _referrer_of_links(self, response: Response | None) -> str | None:
        """Return the page that holds the links, regardless of its Referrer-Policy; None: not to be noted."""
        return response.url if response is not None and self._notes_referrers else None

    def _takes_its_time(self, response: Response | None) -> bool:
        """Return True if the callback may wait between two of its requests."""
        request = response.request if response is not None else None
        callback = (request.callback if request is not None else None) or getattr(self.crawler.spider, "parse", None)
        return isasyncgenfunction(callback)

    def _processed(self, response: Response | None) -> None:
        if response is not None and response.request is not None:
            self._filter.answers.processed(response.request)


def _one_by_one(requests: deque[Request]) -> Iterator[Request]:
    """Yield *requests* and drop the reference to each: with a JOBDIR the queue is on disk, and its memory is freed."""
    while requests:
        yield requests.popleft()
