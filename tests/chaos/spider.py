"""A user's spider: follows every link, and appends the page of each callback to a file.

``python -m tests.chaos.spider JOB`` is one crawl; JOB is ``{"settings": {...}, "url": ..., "out": ..., "stats": ...}``.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess

MAX_CPU_S = 60
_PAGE = re.compile(rb'<meta name="page" content="([^"]*)">')
_HREF = re.compile(r'<a href="([^"]*)">')


class Stranger(Spider):
    """Follows all links; notes ``PAGE<TAB>URL``, with an empty page for failures."""

    name = "stranger"

    def __init__(self, url: str, out: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [f"{url}/"]
        self._url = url
        self._out = os.open(out, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def parse(self, response: Any) -> Iterator[Request]:
        """Note the page and follow its links."""
        page = _PAGE.search(response.body)
        self._note(page[1].decode() if page is not None and response.status == 200 else "", response.url)
        for href in _HREF.findall(response.text) if page is not None else ():
            yield Request(self._url + unescape(href), errback=self.failed)

    def failed(self, failure: Any) -> None:
        """Note a failure."""
        self._note("", failure.request.url)

    def _note(self, page: str, url: str) -> None:
        os.write(self._out, f"{page}\t{url.removeprefix(self._url)}\n".encode())


def main() -> int:
    """Run one crawl in this process; return its exit status."""
    # ends a looping crawl even without the harness
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))
    job = json.loads(sys.argv[1])
    process = AsyncCrawlerProcess(job["settings"])
    crawler = process.create_crawler(Stranger)
    process.crawl(crawler, url=job["url"], out=job["out"])
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats is not None else {}
    with Path(job["stats"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(stats, default=str) + "\n")
    return int(process.bootstrap_failed)


if __name__ == "__main__":
    sys.exit(main())
