"""Sinks: the login form, the not-found page, the empty result, to which very many URLs lead.

They are clusters like others, and "this kind of URL always ends here" is worth learning; but that two URLs end there
says nothing about what else they would show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dedup_crawler.labels.layout import Pages
from dedup_crawler.labels.lines import lines_of, n_words
from dedup_crawler.pages.records import LabelledPage

MIN_URLS = 10
"""A sink has so many URLs ..."""
MIN_SHARE = 0.02
"""... and this share of all ..."""
MAX_WORDS = 100
"""... and at most so many words besides lines that the pages of the site share; error pages may have more."""
COMMON_SHARE = 0.05
"""A line on this share of the pages says nothing about one of them ..."""
SHARED = 1.5
"""... nor one on more than so many pages for each of the cluster."""


@dataclass(frozen=True, slots=True)
class Sink:
    """One such cluster."""

    cluster: int
    n_urls: int
    url: str
    """Its first."""
    title: str


def find_sinks(pages: Pages, clusters: Sequence[int]) -> tuple[Sink, ...]:
    """Find the sinks among *clusters* (one number a page), the largest first; redirects do not count as URLs."""
    n_urls: Counter[int] = Counter()
    for page, cluster in zip(pages(), clusters, strict=True):
        n_urls[cluster] += bool(page.main_text)
    least = max(MIN_URLS, MIN_SHARE * n_urls.total())
    first = _first_pages(pages, clusters, {cluster for cluster, n in n_urls.items() if n >= least})
    n_pages = _pages_with(pages, {line for page in first.values() for line in lines_of(page)})
    found: list[Sink] = []
    for cluster, page in first.items():
        most = max(COMMON_SHARE * n_urls.total(), SHARED * n_urls[cluster])
        own = sum(n_words(line) for line in set(lines_of(page)) if n_pages[line] <= most)
        if page.status >= 400 or own <= MAX_WORDS:
            found.append(Sink(cluster, n_urls[cluster], page.url, page.title))
    return tuple(sorted(found, key=lambda sink: (-sink.n_urls, sink.cluster)))


def _first_pages(pages: Pages, clusters: Sequence[int], wanted: set[int]) -> dict[int, LabelledPage]:
    """The first page with text of each of some clusters, of which there are few."""
    first: dict[int, LabelledPage] = {}
    if wanted:
        for page, cluster in zip(pages(), clusters, strict=True):
            if page.main_text and cluster in wanted:
                first.setdefault(cluster, page)
    return first


def _pages_with(pages: Pages, lines: set[str]) -> Counter[str]:
    """On how many pages each of these lines is."""
    found: Counter[str] = Counter()
    if lines:
        for page in pages():
            found.update(lines.intersection(lines_of(page)))
    return found
