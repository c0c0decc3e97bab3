"""A spider that yields very many links of one page, and measures the cost of each."""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path
from typing import Any, ClassVar

from scrapy import Request, Spider
from scrapy.http import Response

_STRETCH = 1000


class LinkSpider(Spider):
    """Yields *n* links of one kind; writes microseconds, loops and bytes per link to *out*.

    Loops: the time of each thousand links is divided by that of a reference loop, because a computer may be slower for
    a moment.

    ``new`` links are all different, ``repeated`` ones are one URL, ``tracked`` ones differ in a meaningless
    parameter (*tracking*). The first link is fetched; the others are measured.
    """

    name = "links"
    custom_settings: ClassVar[dict[str, Any]] = {
        "AUTOTHROTTLE_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
    }

    def __init__(self, url: str, kind: str, n: str, tracking: str, out: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.url, self.kind, self.n, self.tracking, self.out = url, kind, int(n), tracking, Path(out)

    async def start(self) -> Any:
        """Request the page of links."""
        yield Request(self.url)

    def parse(self, response: Response) -> Any:
        """Yield links, one to warm up; queued links are not fetched."""
        for slot in self.crawler.engine.downloader.slots.values():
            slot.delay = 3600  # not as a setting, which would delay the first request too
        yield Request(self._link(0))
        memory, seconds, loops, loop = _peak(), 0.0, 0.0, _loop()
        for first in range(1, self.n + 1, _STRETCH):
            begun = time.perf_counter()
            for i in range(first, first + _STRETCH):
                yield Request(self._link(i))
            took = time.perf_counter() - begun
            before, loop = loop, _loop()
            seconds += took
            loops += took / ((before + loop) / 2)
        n = len(range(1, self.n + 1, _STRETCH)) * _STRETCH
        found = {"us": seconds / n * 1e6, "loops": loops / n, "bytes": (_peak() - memory) * 1024 / n}
        self.out.write_text(json.dumps(found), encoding="utf-8")
        os._exit(0)  # do not wait for queued requests

    def _link(self, i: int) -> str:
        if self.kind == "new":
            return f"{self.url}topic.php?t={i}"
        if self.kind == "repeated":
            return f"{self.url}topic.php?t=1"
        return f"{self.url}topic.php?t=1&{self.tracking}={i:08x}"


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _loop() -> float:
    """Return the seconds of a fixed reference loop."""
    texts, begun = {}, time.perf_counter()
    for i in range(10_000):
        texts[i & 1023] = str(i)
    return time.perf_counter() - begun
