"""The components for Scrapy: downloader middleware, spider middleware, and the add-on that enables them.

The spider middleware drops links before they are queued, where this is cheapest. The downloader middleware confirms and
releases forms, and decides about requests that came another way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from inspect import isasyncgenfunction
from itertools import compress
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.settings import BaseSettings
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from dedup_crawler.live.collecting.collector import Collector
from dedup_crawler.live.collecting.response_page import REFERRER_KEY
from dedup_crawler.live.duplicate_filter import DuplicateFilter
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.scrapy_compat import sleep, stop_at_start
from dedup_crawler.live.seen.protocol import at_once

LOOK_AGAIN_S = 0.5
"""Seconds after which a late request goes back to the queue while a model is learnt."""
_BATCH = 250  # smaller batches have cold caches; larger ones cost more garbage collection


class DuplicateRequestError(IgnoreRequest):
    """A request was dropped because its page is fetched through another URL; the message gives the reason."""


class DuplicateFilterMiddleware:
    """Downloader middleware that drops requests for pages which the crawl fetches through another URL.

    Enabled by the add-on, or by ``DOWNLOADER_MIDDLEWARES = {"dedup_crawler.DuplicateFilterMiddleware": 120}``; works
    without the spider middleware, which drops most links earlier.
    ``DEDUP_MODEL`` names the model folder, or a folder of them. Without it the crawl is unfiltered; with an unreadable
    one it does not start.

    Never dropped: requests with ``dont_filter``, without a callback (robots.txt, media), with a method other than GET
    or a body, with ``meta["dedup"] = False``, start requests, retries, URLs of a host that no model knows. Start
    requests still own their form. The target of a redirect is dropped only if the page of its form is at hand, which
    then answers for the redirect.

    A request that is dropped here reaches its errback as :class:`scrapy.exceptions.IgnoreRequest`, with
    ``dedup_canonical`` and ``dedup_reason`` in its meta. If the URL that was fetched in its place fails (status 400 or
    more, an exception, a redirect to a page that was seen before), the dropped request is sent after all and reaches
    its callback. The stats are listed in docs/settings.md.
    """

    def __init__(self, duplicate_filter: DuplicateFilter) -> None:
        self._filter = duplicate_filter
        self._filter.has_downloader_side = True

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> DuplicateFilterMiddleware:
        """Build the filter from the ``DEDUP_*`` settings."""
        duplicate_filter = DuplicateFilter.of(crawler)
        if duplicate_filter is None:
            raise NotConfigured
        middleware = cls(duplicate_filter)
        for handler, signal in (
            (duplicate_filter.open, signals.spider_opened),
            (duplicate_filter.close, signals.spider_closed),
            (middleware._request_dropped, signals.request_dropped),
            (middleware._idle, signals.spider_idle),
        ):
            crawler.signals.connect(handler, signal=signal)
        return middleware

    def process_request(
        self, request: Request, spider: Spider | None = None
    ) -> Request | Coroutine[Any, Any, Request | None] | None:
        """Drop *request* if the page is fetched through another URL, or send it back to the end of the queue."""
        was_late = marks.take_late(request)
        if was_late and self._filter.is_learning():
            return _later(request)
        if not marks.is_decided(request, self._filter.name):
            return self._decide(request, was_late=was_late)
        if self._filter.decisions.questions.leads_back(request):
            return self._decide_again(request)
        return None if was_late else self._filter.late.again(request)

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Response | Coroutine[Any, Any, Response]:
        """Confirm or release the forms that *request* answers for."""
        consequences = self._filter.answers.received(request, response)
        return response if consequences is None else _after(consequences, response)

    def process_exception(
        self, request: Request, exception: Exception, spider: Spider | None = None
    ) -> Coroutine[Any, Any, None] | None:
        """Release the forms of *request*: it will not be answered."""
        if isinstance(exception, DuplicateRequestError):
            return None
        return self._filter.answers.failed(request, is_ignored=isinstance(exception, IgnoreRequest))

    async def _decide(self, request: Request, *, was_late: bool) -> Request | None:
        if not (await self._filter.decisions.decide([request]))[0]:
            await self._filter.answers.led_to_seen(request)
            raise DuplicateRequestError(_reason(request))
        return None if was_late else self._filter.late.again(request)

    async def _decide_again(self, request: Request) -> None:
        if not await self._filter.decisions.decide_again(request):
            await self._filter.answers.failed(request)
            raise DuplicateRequestError(_reason(request))

    def _request_dropped(self, request: Request) -> None:
        # most links of a crawl are repeats, which answer for no form; the spider middleware has seen them
        if marks.is_answering(request) or not self._filter.answers.has_spider_side:
            self._filter.go_on(self._filter.answers.swallowed(request))

    def _idle(self) -> None:
        if self._filter.is_busy_when_idle():
            raise DontCloseSpider


def _reason(request: Request) -> str:
    return f"duplicate by its canonical form {request.meta['dedup_canonical']!r}: {request.meta['dedup_reason']}"


async def _later(request: Request) -> Request:
    """Send a late request back to the queue, behind requests that were queued meanwhile."""
    await sleep(LOOK_AGAIN_S)
    return marks.send_late(request, request.priority)


async def _after(consequences: Coroutine[Any, Any, None], response: Response) -> Response:
    await consequences
    return response


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
                and not (await self._filter.decisions.decide([each], is_start=each.meta.get(REFERRER_KEY) is None))[0]
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
        kept = deque(compress(requests, await self._filter.decisions.decide(requests)))
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


class Addon:
    """Scrapy add-on: ``ADDONS = {"dedup_crawler.Addon": 500}``.

    Each component stays inactive until its setting is given (``DEDUP_MODEL``, ``DEDUP_LEARN_AFTER``,
    ``DEDUP_COLLECT``). A component that the project has placed itself keeps its place.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components to those of the project."""
        # 120: after robots.txt (100), so that a forbidden URL owns no form, and long before the HTTP cache (900)
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", DuplicateFilterMiddleware, 120)
        # closer to the engine than Scrapy's own, to see only the requests that these let through
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", DuplicateFilterSpiderMiddleware, 40)
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", Collector, 45)
