"""Sinks: the login form, the not-found page, the empty result, to which very many URLs lead.

They are clusters like others, and "this kind of URL always ends here" is worth learning; but that two URLs end there
says nothing about what else they would show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dedup_crawler.labels.counting import BoundedCounter
from dedup_crawler.labels.layout import COMMON_SHARE, Pages
from dedup_crawler.labels.lines import facts, lines_of

MIN_URLS = 10
"""A sink has so many URLs ..."""
MIN_SHARE = 0.02
"""... and this share of all ..."""
MAX_WORDS = 100
"""... and at most so many words besides lines that the pages of the site share; error pages may have more."""
SHARED = 1.5
"""A line on more than so many pages for each of the cluster is not the cluster's own."""


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
    lines: BoundedCounter[int] = BoundedCounter()
    for page, cluster in zip(pages(), clusters, strict=True):
        if page.main_text:
            n_urls[cluster] += 1
            lines.update({facts(line).digest for line in lines_of(page)})
    least = max(MIN_URLS, MIN_SHARE * n_urls.total())
    candidates = {cluster for cluster, n in n_urls.items() if n >= least}
    common = COMMON_SHARE * n_urls.total()
    found: list[Sink] = []
    for page, cluster in zip(pages(), clusters, strict=True):
        if page.main_text and cluster in candidates:
            candidates.remove(cluster)
            most = max(common, SHARED * n_urls[cluster])
            known = {facts(line) for line in lines_of(page)}
            own = sum(each.n_words for each in known if lines[each.digest] <= most)
            if page.status >= 400 or own <= MAX_WORDS:
                found.append(Sink(cluster, n_urls[cluster], page.url, page.title))
    return tuple(sorted(found, key=lambda sink: (-sink.n_urls, sink.cluster)))
