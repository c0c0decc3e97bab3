"""A user's spider for the replayed crawls: it follows every recorded link, and writes down the results.

It does not know the filter. URLs outside the recording are another site for it: it follows neither links nor redirects
there.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urldefrag, urljoin
from zlib import crc32

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from typing_extensions import Self

from spiders.site import links_of


class ExactFingerprinter:
    """Fingerprints that differ for all URLs, to measure a crawl that filters only repeated URLs."""

    def fingerprint(self, request: Request) -> bytes:
        """Return the URL itself."""
        return f"{request.method} {request.url}".encode()


class RecordedSiteMiddleware:
    """Downloader middleware that refuses redirects out of the recording, as Scrapy's own does for other hosts."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the component for Scrapy."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Refuse URLs that were not recorded."""
        known: frozenset[str] = self._crawler.spider.known
        if "redirect_urls" in request.meta and urldefrag(request.url).url not in known:
            raise IgnoreRequest(f"{request.url} was not recorded")


class ReplaySpider(Spider):
    """Crawls a served recording, and writes its results to *out* as JSON.

    These are the fetched URLs (each with the page that holds the link, and True for a test), the reached and the linked
    URLs, the fetched pages with links that were not recorded, and the stats.
    """

    name = "replay"
    custom_settings: ClassVar[dict[str, Any]] = {
        "AUTOTHROTTLE_ENABLED": False,
        "DOWNLOADER_MIDDLEWARES": {"replay_spider.RecordedSiteMiddleware": 50},
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

    def __init__(self, url: str, known: str, out: str, order: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.is_random = order == "random"
        self.start_urls = [url]
        self.site = urljoin(url, "/")
        self.known = frozenset(Path(known).read_text(encoding="utf-8").splitlines())
        self.out = Path(out)
        self.fetched: list[tuple[str, str | None, bool]] = []
        self.reached: list[list[str]] = []
        self.linked: set[str] = set()
        self.incomplete: list[str] = []
        self.begun = time.perf_counter()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Build the component for Scrapy."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.sent, signal=signals.request_reached_downloader)
        return spider

    def sent(self, request: Request) -> None:
        """Note a fetched URL."""
        source = request.headers.get("Referer")
        self.fetched.append((request.url, source and source.decode(), "test" in request.meta.get("dedup_mark", ())))

    def parse(self, response: Response) -> Any:
        """Follow recorded links."""
        self.reached.append([*response.meta.get("redirect_urls", []), response.url])
        links = [url for url in links_of(response) if url.startswith(self.site)]
        known = [url for url in links if url in self.known]
        if len(known) < len(links):
            self.incomplete.append(response.url)
        self.linked.update(known)
        for url in known:
            yield Request(url, priority=crc32(url.encode()) % 1000 if self.is_random else 0)

    def closed(self, reason: str) -> None:
        """Write the results."""
        stats = {key: value for key, value in self.crawler.stats.get_stats().items() if isinstance(value, (int, float))}
        told = {
            "fetched": self.fetched,
            "reached": self.reached,
            "linked": sorted(self.linked),
            "incomplete": self.incomplete,
            "stats": stats,
            "seconds": time.perf_counter() - self.begun,
        }
        self.out.write_text(json.dumps(told), encoding="utf-8")
