"""The simulated crawl of SIGIR'17: cold as in the paper, and warm as the continuation of a crawl.

K. Xu, Z. Liu, J. Callan, SIGIR 2017, section 4: URLs come in crawl order; a URL with a seen form is not fetched.
The paper starts with nothing seen (*cold*) and counts the clusters of the test pages. A user's crawl continues
(*warm*): the forms of the training pages are seen, and a page that they show is not needed again. A warm crawl knows
the referrer of a link if it fetched that page.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass

from dedup_crawler.methods import Canonicalizer, Referrer


@dataclass(frozen=True, slots=True)
class CrawlOutcome:
    """Counts of one simulated crawl, in URLs and pages (clusters)."""

    n_urls: int
    n_fetched: int
    n_needed: int
    """Number of pages that some URL shows and that were not known before."""
    n_covered: int
    """Number of needed pages that were fetched at least once."""

    @property
    def precision(self) -> float:
        """Return the share (0-1) of fetches that brought a new needed page; 1 if nothing was fetched."""
        return self.n_covered / self.n_fetched if self.n_fetched else 1.0

    @property
    def recall(self) -> float:
        """Return the share (0-1) of needed pages that were fetched; 1 if none was needed."""
        return self.n_covered / self.n_needed if self.n_needed else 1.0

    @property
    def f1(self) -> float:
        """Return the harmonic mean of precision and recall (0-1)."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def n_lost(self) -> int:
        """Return the number of needed pages that were never fetched."""
        return self.n_needed - self.n_covered

    @property
    def n_avoidable(self) -> int:
        """Return the number of fetches that a perfect filter would have saved."""
        return self.n_urls - self.n_needed

    @property
    def saved(self) -> float:
        """Return the share (0-1) of avoidable fetches that were saved; drops that lost a page do not count."""
        useless = self.n_urls - self.n_fetched - self.n_lost
        return useless / self.n_avoidable if self.n_avoidable else 0.0


def replay(
    forms: Sequence[str],
    clusters: Sequence[Hashable],
    *,
    seen_forms: Collection[str] = (),
    seen_clusters: Collection[Hashable] = (),
) -> CrawlOutcome:
    """Crawl URLs in order, fetching those with an unseen form.

    *forms* and *clusters*, of the same length, are the canonical form and the page of each URL; *seen_forms* and
    *seen_clusters* are those of an earlier crawl.
    """
    seen = set(seen_forms)
    needed = set(clusters) - set(seen_clusters)
    covered: set[Hashable] = set()
    n_fetched = 0
    for form, cluster in zip(forms, clusters, strict=True):
        if form not in seen:
            seen.add(form)
            n_fetched += 1
            covered.add(cluster)
    return CrawlOutcome(len(forms), n_fetched, len(needed), len(covered & needed))


def crawl_on(
    method: Canonicalizer,
    urls: Sequence[str],
    referrers: Sequence[str | None],
    clusters: Sequence[Hashable],
    *,
    crawled_urls: Sequence[str],
    crawled_clusters: Collection[Hashable],
) -> CrawlOutcome:
    """Continue a crawl as the live filter does, with referrers.

    *urls*, *referrers* and *clusters*, of the same length, are the next URLs, the URL on which each was found, and the
    page that it shows; *crawled_urls* and *crawled_clusters* were fetched before. The *method* is fitted.
    """
    form_of = dict(zip(crawled_urls, method.canonicalize_many(crawled_urls), strict=True))
    seen = set(form_of.values())
    needed = set(clusters) - set(crawled_clusters)
    covered: set[Hashable] = set()
    n_fetched = 0
    for url, referrer, cluster in zip(urls, referrers, clusters, strict=True):
        if method.is_covered(url):
            continue
        found_on = form_of.get(referrer) if referrer is not None else None
        form = method.canonicalize(url, Referrer(referrer, found_on) if referrer and found_on is not None else None)
        if form not in seen:
            seen.add(form)
            form_of[url] = form
            n_fetched += 1
            covered.add(cluster)
    return CrawlOutcome(len(urls), n_fetched, len(needed), len(covered & needed))
