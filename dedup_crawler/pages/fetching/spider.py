"""The spider that fetches single pages; run as ``python -m`` this module with SITE, DELAY_S and TIMEOUT_S.

It reads ``{"url": ..., "max_retries": ...}``, a JSON object a line, from stdin, and answers each by one on stdout, in
order; the first answer, before anything was asked for, is robots.txt. It ends with stdin. What robots.txt says, the
delay, retries, encodings and limits are the matter of Scrapy; redirects are answers like others.
"""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from typing import TYPE_CHECKING, Any

from protego import Protego
from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import IgnoreRequest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

USER_AGENT = "dedup-crawler (checks which of its URLs show the same page)"
SETTINGS = {
    "COOKIES_ENABLED": False,
    "CONCURRENT_REQUESTS": 1,
    "DOWNLOAD_MAXSIZE": 5_000_000,  # bytes of a body; what is larger is no page
    "HTTPERROR_ALLOW_ALL": True,
    "LOG_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "RANDOMIZE_DOWNLOAD_DELAY": False,
    "REDIRECT_ENABLED": False,
    "ROBOTSTXT_OBEY": True,
    "TELNETCONSOLE_ENABLED": False,
    "USER_AGENT": USER_AGENT,
}


class GuestSpider(Spider):
    """Fetches what it is asked for on stdin."""

    name = "guest"

    def __init__(self, site: str, **options: Any) -> None:
        super().__init__(**options)
        self._site = site

    async def start(self) -> AsyncIterator[Request]:
        """Ask for robots.txt, then for what stdin says."""
        # Scrapy asks for it itself before the first page, and takes an error for leave to fetch everything
        yield self._request(f"{self._site}/robots.txt", dont_obey_robotstxt=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            yield self._request(asked["url"], max_retry_times=asked["max_retries"])

    def _request(self, url: str, **meta: Any) -> Request:
        return Request(url, self.tell, errback=self.tell_failure, dont_filter=True, meta=meta)

    def tell(self, response: Response) -> None:
        """Answer with what came."""
        if response.meta.get("dont_obey_robotstxt") and response.status == 200:
            self._keep_crawl_delay(response.body)
        _answer(
            status=response.status,
            location=(response.headers.get("Location") or b"").decode("latin-1"),
            content_type=(response.headers.get("Content-Type") or b"").decode("latin-1"),
            body=base64.b64encode(response.body).decode(),
            n_requests=1 + response.meta.get("retry_times", 0),
        )

    def tell_failure(self, failure: Failure) -> None:
        """Answer that nothing came."""
        reason = failure.getErrorMessage() or repr(failure.value)
        is_forbidden = isinstance(failure.value, IgnoreRequest) and "robots.txt" in reason
        n_requests = 0 if is_forbidden else 1 + failure.request.meta.get("retry_times", 0)  # type: ignore[attr-defined]
        _answer(failure=reason, is_forbidden=is_forbidden, n_requests=n_requests)

    def _keep_crawl_delay(self, robots: bytes) -> None:
        """Wait as long as robots.txt asks, which Scrapy does not look at."""
        asked = Protego.parse(robots.decode(errors="replace")).crawl_delay(USER_AGENT) or 0.0
        assert self.crawler.engine is not None  # noqa: S101 - it has just given this answer
        for slot in self.crawler.engine.downloader.slots.values():
            slot.delay = max(slot.delay, asked)


def _answer(**fields: Any) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def main(site: str, delay_s: str, timeout_s: str) -> None:
    """Answer until stdin ends."""
    process = CrawlerProcess({**SETTINGS, "DOWNLOAD_DELAY": float(delay_s), "DOWNLOAD_TIMEOUT": float(timeout_s)})
    process.crawl(GuestSpider, site=site)
    process.start(install_signal_handlers=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
