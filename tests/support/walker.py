"""A user's spider: follows links, and writes down the pages of its callbacks and the drops.

The class of a link tells how to request it: ``optout``, ``post``, ``again`` (dont_filter), ``media`` (no callback),
``copy`` (with the meta of the response, as many spiders do), ``anywhere`` (allowed off the site), ``plain`` (a callback
that is a plain generator, and fails at a link with the class ``raise``). The pages of the callbacks are also appended
to a file ``got``, line by line, for crawls that are killed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future

from dedup_crawler import signals


async def download(engine: Any, request: Request) -> Any:
    """Download outside the queue, as media pipelines do."""
    if hasattr(engine, "download_async"):
        return await engine.download_async(request)
    return await maybe_deferred_to_future(engine.download(request))  # until Scrapy 2.14


def links_in(response: HtmlResponse) -> Iterator[Any]:
    """The elements of the links; selectors of them would be a twelfth of the work of a crawl."""
    yield from response.selector.root.iter("a")


METAS: dict[Any, dict[str, Any]] = {"optout": {"dedup": False}, "anywhere": {"allow_offsite": True}}


class Walker(Spider):
    """Follows all links."""

    name = "walker"
    allowed_domains = ("127.0.0.1",)

    def __init__(self, url: str, out: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]
        self.out = out
        self.seen: dict[str, dict[str, Any]] = {}

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> Any:
        """Connect to the signals of the filter."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.dropped, signal=signals.request_dropped)
        return spider

    async def parse(self, response: Any) -> Any:
        """Follow."""
        self.note(response.request, status=response.status)
        with Path(self.out).with_name("got").open("a") as file:
            file.write(f"{response.url}\n")
        if not isinstance(response, HtmlResponse):
            return
        for link in links_in(response):
            url, how = response.urljoin(link.get("href")), link.get("class")
            if how == "media":
                media = await download(self.crawler.engine, Request(url, callback=NO_CALLBACK))
                self.note(media.request, status=media.status)
                continue
            yield Request(
                url,
                method="POST" if how == "post" else "GET",
                meta=response.meta if how == "copy" else METAS.get(how, {}),
                dont_filter=how == "again",
                callback=self.plain if how == "plain" else self.parse,
                errback=self.failed,
            )

    def plain(self, response: Any) -> Any:
        """Follow links at once, and fail if the page says so."""
        self.note(response.request, status=response.status)
        for link in links_in(response):
            if link.get("class") == "raise":
                raise RuntimeError("a fault of the spider")
            yield Request(response.urljoin(link.get("href")))

    def failed(self, failure: Any) -> None:
        """Note a request that was not fetched, and the reason."""
        self.note(failure.request, error=f"{failure.type.__name__}: {failure.getErrorMessage()}")

    def dropped(self, request: Request, reason: str, form: str, rules: Any, owner: str | None) -> None:
        """Note a drop with its signal's values."""
        self.note(request, dropped=reason, form=form, rules=list(rules), owner=owner)

    def note(self, request: Request, **facts: Any) -> None:
        """Note a result by path and query."""
        parts = urlsplit(request.url)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        meta = {key: request.meta.get(key) for key in ("dedup_canonical", "dedup_reason")}
        self.seen.setdefault(path, {}).update(facts | meta)

    def closed(self, reason: str) -> None:
        """Write all results to a file."""
        stats = self.crawler.stats.get_stats()
        Path(self.out).write_text(json.dumps({"stats": stats, "seen": self.seen}, default=str))
