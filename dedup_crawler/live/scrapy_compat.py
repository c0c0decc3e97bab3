"""Differences between the supported versions of Scrapy, 2.13 to 2.19, in one place; stopping a crawl in all of them.

Each part names the version that makes it superfluous. One difference is handled elsewhere, and is superfluous with
2.14: methods of middlewares take ``spider: Spider | None = None`` as their last argument. Scrapy 2.13 passes it by
name; later versions do not, and warn if a method requires it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy import Request, signals, version_info
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro

logger = logging.getLogger(__name__)

_VERSION = version_info[:2]
_STARTS_WITHIN_S = 0.02

if TYPE_CHECKING or _VERSION >= (2, 14):
    from scrapy.utils.asyncio import create_looping_call as create_looping_call
    from scrapy.utils.asyncio import is_asyncio_available
else:
    from scrapy.utils.reactor import is_asyncio_reactor_installed as is_asyncio_available
    from twisted.internet import task

    create_looping_call = task.LoopingCall

if TYPE_CHECKING or _VERSION >= (2, 18):
    from scrapy.utils.asyncio import sleep as sleep
else:
    import asyncio

    from twisted.internet.task import deferLater

    async def sleep(seconds: float) -> None:
        """Wait *seconds* without blocking."""
        if is_asyncio_available():
            await asyncio.sleep(seconds)
        else:
            from twisted.internet import reactor  # not at the top: importing it installs one

            await deferLater(reactor, seconds)


def scheduler_of(crawler: Crawler) -> BaseScheduler | None:
    """Return the scheduler of a crawl; None until its spider is opened."""
    if _VERSION >= (2, 19):
        return crawler.engine.scheduler
    slot = crawler.engine._slot
    return None if slot is None else slot.scheduler


def download(crawler: Crawler, request: Request, answered: Callable[[Response | None], None]) -> None:
    """Start to download *request* past the queue, through all downloader middlewares.

    *answered* is called with the response, or with None if there is none.
    """
    if _VERSION >= (2, 14):
        downloading = deferred_from_coro(crawler.engine.download_async(request))
    else:
        downloading = crawler.engine.download(request)
    downloading.addCallbacks(answered, lambda failure: answered(None))


def close_crawl(crawler: Crawler, reason: str) -> None:
    """Start to close a running crawl; return at once, because closing waits for requests in progress."""
    if _VERSION >= (2, 14):
        deferred_from_coro(crawler.engine.close_spider_async(reason=reason))
    else:
        crawler.engine.close_spider(crawler.engine.spider, reason=reason)  # type: ignore[arg-type]


def refuse_to_start(crawler: Crawler, reason: str, message: str) -> None:
    """Close the crawl before its first request; call it while components are built.

    An exception there would show the user a traceback, so the first possible signal closes the crawl, as in
    :func:`stop_at_start`.
    """
    crawler.signals.connect(lambda: stop_at_start(crawler, reason, message), signal=signals.spider_opened, weak=False)


def stop_at_start(crawler: Crawler, reason: str, message: str) -> None:
    """Close the crawl before its first request; call it last in a handler of ``spider_opened``.

    *reason* is the ``finish_reason`` in its stats, *message* one line for the user: the problem and the way out. The
    exit status of ``scrapy crawl`` is 1.

    Since 2.18 an exception (CloseSpider) is enough. Earlier versions would log it and go on, and can only close a
    running engine. So the engine is paused, and closed as soon as it runs.
    """
    logger.error("%s", message, extra={"spider": crawler.spider})
    crawler.signals.connect(lambda: mark_as_failed(crawler), signal=signals.spider_closed, weak=False)
    if _VERSION >= (2, 18):
        raise CloseSpider(reason)
    engine = crawler.engine
    if is_start_refused(crawler):
        return  # already refused for another reason

    def close() -> None:
        if engine.running:
            clock.stop()
            close_crawl(crawler, reason)

    engine.pause()
    clock = create_looping_call(close)
    clock.start(_STARTS_WITHIN_S, now=False)


def mark_as_failed(crawler: Crawler) -> None:
    """Make ``scrapy crawl`` exit with status 1; call it in a handler of ``spider_closed``.

    Scrapy treats a crawl as failed only if it has no spider.
    """
    crawler.spider = None


def is_start_refused(crawler: Crawler) -> bool:
    """Return True if ``Spider.start()`` runs in a refused crawl; since 2.18 it does not."""
    return _VERSION < (2, 18) and crawler.engine.paused
