"""Stops a crawl that cannot do its job: one line in the log, a reason, and a failing exit status."""

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
    """Have the crawl closed before its first request.

    May be called while components are built. An exception raised there would reach the user as a traceback, so the
    crawl is closed by the first signal that Scrapy lets close it.

    Parameters
    ----------
    crawler
        The crawl to close.
    reason
        ``finish_reason`` in its stats.
    message
        The one line that tells the user what was found and what would help.
    """

    def close(spider: Spider) -> None:
        logger.error("%s", message, extra={"spider": spider})
        refuse_crawl(crawler, reason)

    def fail(spider: Spider) -> None:
        mark_as_failed(crawler)

    crawler.signals.connect(close, signal=signals.spider_opened, weak=False)
    crawler.signals.connect(fail, signal=signals.spider_closed, weak=False)


def stop_at_start(crawler: Crawler, reason: str, message: str) -> None:
    """Close the crawl before its first request, as the last thing that a handler of ``spider_opened`` does.

    Parameters as above.
    """
    logger.error("%s", message, extra={"spider": crawler.spider})
    crawler.signals.connect(lambda: mark_as_failed(crawler), signal=signals.spider_closed, weak=False)
    refuse_crawl(crawler, reason)


def mark_as_failed(crawler: Crawler) -> None:
    """Make ``scrapy crawl`` exit with status 1; to be called from a handler of ``spider_closed``.

    Scrapy knows one kind of failed crawl, the one that is left without a spider.
    """
    crawler.spider = None
