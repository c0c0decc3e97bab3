"""Differences between the supported versions of Scrapy, 2.13 to 2.19, in one place.

Each part names the version that makes it superfluous. One difference cannot live here, and is superfluous with 2.14: a
method of a middleware or of a pipeline takes ``spider: Spider | None = None`` as its last argument. Scrapy 2.13 gives
it, by that name to middlewares, by its place to pipelines; later versions do not, and warn of a method that needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import version_info
from scrapy.exceptions import CloseSpider
from scrapy.utils.defer import deferred_from_coro

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.core.scheduler import BaseScheduler
    from scrapy.crawler import Crawler

_VERSION = version_info[:2]
_STARTS_WITHIN_S = 0.02

if TYPE_CHECKING or _VERSION >= (2, 14):
    from scrapy.utils.asyncio import create_looping_call, is_asyncio_available
else:
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available
    from twisted.internet import task

    create_looping_call = task.LoopingCall

if TYPE_CHECKING or _VERSION >= (2, 18):
    from scrapy.utils.asyncio import sleep
else:
    import asyncio

    from twisted.internet.task import deferLater

    async def sleep(seconds: float) -> None:
        """Let others run for *seconds*."""
        if is_asyncio_available():
            await asyncio.sleep(seconds)
        else:
            from twisted.internet import reactor  # importing it chooses one

            await deferLater(reactor, seconds)


__all__ = [
    "close_crawl",
    "create_looping_call",
    "download",
    "is_asyncio_available",
    "is_refused",
    "refuse_crawl",
    "scheduler_of",
    "sleep",
]


def scheduler_of(crawler: Crawler) -> BaseScheduler | None:
    """The scheduler of a crawl; None while its spider is not opened yet."""
    if _VERSION >= (2, 19):
        return crawler.engine.scheduler
    slot = crawler.engine._slot
    return None if slot is None else slot.scheduler


def download(crawler: Crawler, request: Request) -> None:
    """Begin to download *request* past the queue, through all downloader middlewares; its answer is dropped."""
    if _VERSION >= (2, 14):
        downloading = deferred_from_coro(crawler.engine.download_async(request))
    else:
        downloading = crawler.engine.download(request)
    downloading.addErrback(lambda failure: None)  # the filter is told of a failure by its middleware


def close_crawl(crawler: Crawler, reason: str) -> None:
    """Begin to close a running crawl; returns at once, for closing waits for whatever is being processed."""
    if _VERSION >= (2, 14):
        deferred_from_coro(crawler.engine.close_spider_async(reason=reason))
    else:
        crawler.engine.close_spider(crawler.engine.spider, reason=reason)  # type: ignore[arg-type]


def refuse_crawl(crawler: Crawler, reason: str) -> None:
    """Close a crawl before its first request; to be called, as the last thing, by a handler of ``spider_opened``.

    Since 2.18 an exception there is enough. Before, the engine would log it and go on; it can be closed only when it
    runs, so it is paused, and closed when it does.

    Raises
    ------
    CloseSpider
        Which Scrapy takes for what it says.
    """
    if _VERSION >= (2, 18):
        raise CloseSpider(reason)
    engine = crawler.engine
    if is_refused(crawler):
        return  # for another reason

    def close() -> None:
        if engine.running:
            clock.stop()
            close_crawl(crawler, reason)

    engine.pause()
    clock = create_looping_call(close)
    clock.start(_STARTS_WITHIN_S, now=False)


def is_refused(crawler: Crawler) -> bool:
    """Return True if ``Spider.start()`` runs in a crawl that was refused; since 2.18 it does not."""
    return _VERSION < (2, 18) and crawler.engine.paused
