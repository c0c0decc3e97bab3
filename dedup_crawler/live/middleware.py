"""Downloader middleware: it confirms and releases forms, and decides about requests that came another way."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider, IgnoreRequest, NotConfigured
from scrapy.http import Response

from dedup_crawler.live.duplicate_filter import DuplicateFilter
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.scrapy_compat import sleep

LOOK_AGAIN_S = 0.5
"""Seconds after which a late request goes back to the queue while a model is learnt."""


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
        if not self._filter.is_decided(request):
            return self._decide(request, was_late=was_late)
        if self._filter.leads_back(request):
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
        if not (await self._filter.decide([request]))[0]:
            await self._filter.answers.led_to_seen(request)
            raise DuplicateRequestError(_reason(request))
        return None if was_late else self._filter.late.again(request)

    async def _decide_again(self, request: Request) -> None:
        if not await self._filter.decide_again(request):
            await self._filter.answers.failed(request)
            raise DuplicateRequestError(_reason(request))

    def _request_dropped(self, request: Request) -> None:
        # most links of a crawl are repeats, which answer for no form
        if marks.is_answering(request):
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
