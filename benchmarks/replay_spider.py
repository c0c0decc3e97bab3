"""A user's spider for the replayed crawls: follows every link that was recorded, and notes where it got.

It knows nothing of the filter. Links that lead out of a recording are 404 for everybody and are not followed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

from scrapy import Request, Spider
from scrapy.http import Response

from spiders.site import links_of


class ExactFingerprinter:
    """No two URLs are the same: what a crawl costs that filters nothing but repeats."""

    def fingerprint(self, request: Request) -> bytes:
        """The URL itself."""
        return f"{request.method} {request.url}".encode()


class ReplaySpider(Spider):
    """Crawls a served recording from its home page; writes fetched URLs and stats as JSON to *out*."""

    name = "replay"
    custom_settings: ClassVar[dict[str, Any]] = {
        "AUTOTHROTTLE_ENABLED": False,
        "CONCURRENT_REQUESTS": 8,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        "ROBOTSTXT_OBEY": False,
        "RETRY_ENABLED": False,
        "COOKIES_ENABLED": False,
        "DEPTH_PRIORITY": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "LOG_LEVEL": "INFO",
        "TELNETCONSOLE_ENABLED": False,
    }

    def __init__(self, url: str, known: str, out: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]
        self.known = frozenset(Path(known).read_text(encoding="utf-8").splitlines())
        self.out = Path(out)
        self.reached: list[list[str]] = []

    def parse(self, response: Response) -> Any:
        """Follow what was recorded."""
        self.reached.append([*response.meta.get("redirect_urls", []), response.url])
        for url in links_of(response):
            if url in self.known:
                yield Request(url)

    def closed(self, reason: str) -> None:
        """Write what was seen."""
        stats = {key: value for key, value in self.crawler.stats.get_stats().items() if isinstance(value, (int, float))}
        self.out.write_text(json.dumps({"reached": self.reached, "stats": stats, "reason": reason}), encoding="utf-8")
