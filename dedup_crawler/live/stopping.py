"""Stopping a crawl that cannot do its job: one log line, a finish reason, and a failing exit status."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import signals

from dedup_crawler.live.scrapy_compat import refuse_crawl

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


def refuse_to_start(crawler: Crawler, reason: str, message: str) -> None:
    """Close the crawl before its first request.

    Call it while components are built: an exception there would show the user a traceback, so the first possible
    signal closes the crawl.

    *reason* is the ``finish_reason`` in its stats, *message* one line for the user: the problem and the way out.
    """

    def close(spider: Spider) -> None:
        logger.error("%s", message, extra={"spider": spider})
        refuse_crawl(crawler, reason)

    def fail(spider: Spider) -> None:
        mark_as_failed(crawler)

    crawler.signals.connect(close, signal=signals.spider_opened, weak=False)
    crawler.signals.connect(fail, signal=signals.spider_closed, weak=False)


def stop_at_start(crawler: Crawler, reason: str, message: str) -> None:
    """Close the crawl before its first request; call it last in a handler of ``spider_opened``.

    For the parameters see :func:`refuse_to_start`.
    """
    logger.error("%s", message, extra={"spider": crawler.spider})
    crawler.signals.connect(lambda: mark_as_failed(crawler), signal=signals.spider_closed, weak=False)
    refuse_crawl(crawler, reason)


def mark_as_failed(crawler: Crawler) -> None:
    """Make ``scrapy crawl`` exit with status 1; call it in a handler of ``spider_closed``.

    Scrapy treats a crawl as failed only if it has no spider.
    """
    crawler.spider = None
