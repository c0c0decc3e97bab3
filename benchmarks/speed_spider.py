"""A spider that fetches very many pages as fast as it can."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, ClassVar

from scrapy import Request, Spider
from scrapy.http import Response

_LINKS_OF_A_PAGE = 10


class SpeedSpider(Spider):
    """Fetches *n* pages, ten links of a page at a time; writes pages a second to *out*."""

    name = "speed"
    custom_settings: ClassVar[dict[str, Any]] = {
        "AUTOTHROTTLE_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
    }

    def __init__(self, url: str, n: str, out: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.url, self.n, self.out = url, int(n), Path(out)
        self.n_pages = 0
        self.begun = 0.0

    async def start(self) -> Any:
        """Begin."""
        self.begun = time.perf_counter()
        yield Request(f"{self.url}topic.php?t=0")

    def parse(self, response: Response) -> Any:
        """Count, and go on."""
        number = int(response.url.rpartition("=")[2])
        self.n_pages += 1
        for link in range(_LINKS_OF_A_PAGE * number + 1, _LINKS_OF_A_PAGE * (number + 1) + 1):
            if link < self.n:
                yield Request(f"{self.url}topic.php?t={link}")

    def closed(self, reason: str) -> None:
        """Write the speed."""
        self.out.write_text(json.dumps(self.n_pages / (time.perf_counter() - self.begun)), encoding="utf-8")
