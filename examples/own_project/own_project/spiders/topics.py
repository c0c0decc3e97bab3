"""A spider as anybody writes one: it goes through a forum and yields its topics. It knows nothing of duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class TopicsSpider(CrawlSpider):
    """Title of every topic, with the page that shows it."""

    name = "topics"
    allowed_domains = ("127.0.0.1",)
    rules = (Rule(LinkExtractor(allow=r"/(forum|topic|post)/"), callback="parse_page", follow=True),)

    def __init__(self, url: str = "http://127.0.0.1:8000/", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.start_urls = [url]

    def parse_page(self, response: Response) -> Iterator[dict[str, str]]:
        """Yield the topic that a page shows, if it shows one."""
        title, _, kind = response.css("title::text").get("").strip().partition(" - ")
        if kind.startswith("Topic"):
            yield {"title": title, "url": response.url}
