"""A forum whose post URLs do not tell their topic: each redirects to the page of its topic."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

HOST = "http://forum.example"


@dataclass
class LinkedCrawl:
    """The columns of a crawl for the fit of a method."""

    urls: list[str] = field(default_factory=list)
    clusters: list[int] = field(default_factory=list)
    referrers: list[str | None] = field(default_factory=list)
    redirects: list[str | None] = field(default_factory=list)

    def add(self, url: str, page: int, referrer: str | None, redirect: str | None = None) -> None:
        """Add a URL."""
        self.urls.append(url)
        self.clusters.append(page)
        self.referrers.append(referrer)
        self.redirects.append(redirect)


def forum(
    n_topics: int = 300, *, first: int = 1, with_alone: bool = False, host: str = HOST, seed: int = 0
) -> LinkedCrawl:
    """Return topics in random order, each followed by three links to its posts.

    *with_alone*: every third topic has a post with its own page, so that posts are not covered.
    """
    crawl = LinkedCrawl()
    crawl.add(f"{host}/", 0, None)
    topics = list(range(first, first + n_topics))
    random.Random(seed).shuffle(topics)
    for topic in topics:
        url = f"{host}/topic/{topic}"
        crawl.add(url, topic, f"{host}/")
        for post in range(topic * 10, topic * 10 + 3):
            crawl.add(f"{host}/post/{post}", topic, url, url)
        if with_alone and topic % 3 == 0:
            crawl.add(f"{host}/post/{topic * 10 + 9}", 10**6 + topic, f"{host}/")
    return crawl
