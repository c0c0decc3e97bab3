"""Counts for the section "The site": one pass over the pages, with a number for each page in memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from dedup_crawler.pages.records import PageFacts
from dedup_crawler.urls.normal import host_of, normal_form

PageOf = Callable[[PageFacts], "Hashable | None"]
"""Gives the page that a URL shows; None if it is not known."""
N_LARGEST = 12
"""Number of listed pages, those with most URLs."""
_N_POINTS = 120  # points of the curve
_MAX_HOSTS = 10_000
_N_HOSTS = 5


@dataclass(frozen=True)
class CrawlFacts:
    """Counts of one crawl."""

    n_urls: int
    n_judged: int
    """Number of URLs whose page is known."""
    n_pages: int
    """Number of different pages of these URLs."""
    n_bytes: int
    n_repeat_bytes: int
    """Bytes of URLs whose page an earlier URL showed."""
    statuses: tuple[tuple[str, int], ...]
    hosts: tuple[tuple[str, int], ...]
    """Hosts with most URLs, and their numbers of URLs."""
    n_hosts: int
    fetched: tuple[float, float] | None
    """Times of the first and the last fetch, in seconds since 1970."""
    growth: tuple[tuple[int, int], ...]
    """Points of a curve: number of judged URLs, and number of different pages among them."""
    largest: tuple[tuple[Hashable, int], ...]
    """Pages with most URLs, and their numbers of URLs."""
    unseen: frozenset[Hashable]
    """Pages of which the crawl has only redirects to them."""

    @property
    def n_repeats(self) -> int:
        """Number of fetches that showed nothing new."""
        return self.n_judged - self.n_pages

    @property
    def repeat_share(self) -> float:
        """Share (0-1) of the fetches that showed nothing new."""
        return self.n_repeats / self.n_judged if self.n_judged else 0.0


_STATUSES = {2: "answered", 3: "redirects", 4: "refused or missing (4xx)", 5: "errors of the server (5xx)"}


def crawl_facts(pages: Iterable[PageFacts], n_urls: int, page_of: PageOf) -> CrawlFacts:
    """Count the *n_urls* pages of a crawl, given in crawl order with their sizes."""
    urls_of: Counter[Hashable] = Counter()
    hosts: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    times: list[float] = []
    unseen: set[Hashable] = set()
    n_judged = n_bytes = n_repeat_bytes = 0
    step = max(1, math.ceil(n_urls / _N_POINTS))
    growth = [(0, 0)]
    for facts in pages:
        statuses[_STATUSES.get(facts.status // 100, "other")] += 1
        host = host_of(normal_form(facts.url))
        hosts[host if host in hosts or len(hosts) < _MAX_HOSTS else "other hosts"] += 1
        n_bytes += facts.n_bytes or 0
        if facts.fetched_at is not None:
            times = [min([facts.fetched_at, *times]), max([facts.fetched_at, *times])]
        page = page_of(facts)
        if page is None:
            continue
        n_judged += 1
        if page in urls_of:
            n_repeat_bytes += facts.n_bytes or 0
        if facts.status // 100 != 3:
            unseen.discard(page)
        elif page not in urls_of:
            unseen.add(page)
        urls_of[page] += 1
        if n_judged % step == 0:
            growth.append((n_judged, len(urls_of)))
    if growth[-1][0] != n_judged:
        growth.append((n_judged, len(urls_of)))
    return CrawlFacts(
        n_urls=statuses.total(),
        n_judged=n_judged,
        n_pages=len(urls_of),
        n_bytes=n_bytes,
        n_repeat_bytes=n_repeat_bytes,
        statuses=tuple(statuses.most_common()),
        hosts=tuple(hosts.most_common(_N_HOSTS)),
        n_hosts=len(hosts),
        fetched=(times[0], times[1]) if times else None,
        growth=tuple(growth),
        unseen=frozenset(unseen),
        largest=tuple((page, n) for page, n in urls_of.most_common(N_LARGEST) if n > 1),
    )


def first_shown(pages: Iterable[PageFacts], page_of: PageOf, wanted: set[Hashable]) -> dict[Hashable, PageFacts]:
    """The first URL of each wanted page."""
    found: dict[Hashable, PageFacts] = {}
    for facts in pages:
        if len(found) == len(wanted):
            break
        page = page_of(facts)
        if page in wanted and page not in found:
            found[page] = facts
    return found
