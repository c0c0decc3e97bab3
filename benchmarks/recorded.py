"""Recorded crawls for benchmarks: whole sites with truth, and mirrors (URLs and content hashes)."""

from __future__ import annotations

import atexit
import gzip
import json
import random
import sys
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from dedup_crawler.evaluation.comparison import JudgedCrawl, judged_crawl
from dedup_crawler.evaluation.quality import read_truth
from dedup_crawler.evaluation.simulated_crawl import (
    CrawlOutcome,
    LinksOf,
    Visit,
    by_normal_form,
    crawl_on,
    replay,
    visits,
)
from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.labelling import compared_clusters
from dedup_crawler.labels.main_text import stored_links
from dedup_crawler.methods import Canonicalizer
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.pages.store import PageStore
from dedup_crawler.urls.normal import normal_form

NAMES = ("forum", "dokuwiki", "ftp", "shop")
ALL_NAMES = ("wordpress", "mediawiki", "trac", "qa", *NAMES)
TRAINED = 0.75
"""Share of a crawl that is the training part."""


@dataclass(frozen=True)
class Crawl:
    """A crawl in crawl order, split in two; URLs in normal form, sequences with one entry per URL."""

    name: str
    urls: Sequence[str]
    referrers: Sequence[str | None]
    redirects: Sequence[str | None]
    pages: Sequence[Hashable]
    """The page that each URL shows, by truth."""
    labels: Sequence[int]
    """Our labels of the training part alone; of a mirror, its hashes."""
    evidence: PageEvidence | None = None
    """Evidence of the training part; None for a mirror."""
    links_of: LinksOf | None = None
    """Reads the links on the page of a URL; None for a mirror."""

    @property
    def cut(self) -> int:
        """Return the length of the training part."""
        return len(self.labels)

    def fit(self, method: Canonicalizer) -> Canonicalizer:
        """Train *method* on the training part."""
        n = self.cut
        return method.fit(self.urls[:n], list(self.labels), self.referrers[:n], self.redirects[:n], self.evidence)

    def cold(self, method: Canonicalizer) -> CrawlOutcome:
        """Simulate the crawl of the test part, with nothing seen."""
        return replay(method.canonicalize_many(self.urls[self.cut :]), self.pages[self.cut :])

    def warm(self, method: Canonicalizer) -> CrawlOutcome:
        """Simulate the continued crawl."""
        n = self.cut
        return crawl_on(
            method,
            self.urls[n:],
            self.referrers[n:],
            self.pages[n:],
            crawled_urls=self.urls[:n],
            crawled_clusters=set(self.pages[:n]),
            links_of=self.links_of,
        )

    def visits(self, method: Canonicalizer) -> Iterator[Visit]:
        """Decide about the URLs of the test part."""
        n = self.cut
        return visits(method, self.urls[n:], self.referrers[n:], crawled_urls=self.urls[:n], links_of=self.links_of)


@dataclass(frozen=True)
class Drop:
    """A URL of the test part that was not fetched."""

    place: int
    form: str
    same_form: str | None
    """The URL that was fetched for it; None if a coverage rule skipped it."""


@dataclass(frozen=True)
class Continued:
    """Outcome of a continued crawl for each URL; :class:`CrawlOutcome` only counts."""

    fetched: Sequence[int]
    """Places of the test URLs that were fetched."""
    dropped: Sequence[Drop]
    useless: Sequence[int]
    """Places of the wasted fetches: the page was known."""
    lost: frozenset[Hashable]


def continued(method: Canonicalizer, crawl: Crawl) -> Continued:
    """Continue a crawl as :func:`~dedup_crawler.evaluation.simulated_crawl.crawl_on`, with details."""
    n = crawl.cut
    known = set(crawl.pages[:n])
    fetched, dropped, useless = [], [], []
    for place, visit in enumerate(crawl.visits(method), n):
        if visit.is_fetched:
            fetched.append(place)
            if crawl.pages[place] in known:
                useless.append(place)
            known.add(crawl.pages[place])
        else:
            dropped.append(Drop(place, visit.form, None if visit.is_covered else visit.same))
    return Continued(fetched, dropped, useless, frozenset(set(crawl.pages[n:]) - known))


def labelled_pages(name: str, sites: Path, databases: Path) -> tuple[list[LabelledPage], dict[str, str]]:
    """Return the pages of a site that its truth knows, and the truth."""
    with PageStore(databases / f"{name}.db") as store:
        pages = list(store.labelled_pages())
    truth = read_truth(sites / name / "truth.csv.gz")
    return [page for page in pages if page.url in truth], truth


def links_in(database: Path) -> LinksOf:
    """Return a reader of the links on the pages of a database, which stays open until the program ends."""
    store = PageStore(database, create=False)
    atexit.register(store.close)
    links_of = stored_links(store)
    return cache(lambda url: tuple(map(sys.intern, links_of(url))))


def judged(name: str, pages: Sequence[LabelledPage], truth: dict[str, str]) -> JudgedCrawl:
    """Split a crawl as ``dedup-crawler evaluate`` does."""
    return judged_crawl(name, pages, truth, TRAINED)


def site(
    name: str,
    pages: Sequence[LabelledPage],
    truth: dict[str, str],
    n_learnt: int | None = None,
    labels: Sequence[int] | None = None,
    links_of: LinksOf | None = None,
) -> Crawl:
    """Return a site in the order of *pages*, its first *n_learnt* (default: three quarters) labelled by us.

    *labels* are cached labels of these; *links_of* reads the links of the page of a URL.
    """
    n_learnt = round(TRAINED * len(pages)) if n_learnt is None else n_learnt
    evidence = PageEvidence.of_pages(pages[:n_learnt], links_of=links_of)
    return Crawl(
        name,
        [normal_form(page.url) for page in pages],
        [page.referrer and normal_form(page.referrer) for page in pages],
        [page.redirect_to and normal_form(page.redirect_to) for page in pages],
        [truth[page.url] for page in pages],
        labels or compared_clusters(lambda: pages[:n_learnt], evidence).numbers(),
        evidence,
        links_of and by_normal_form(links_of, pages),
    )


def mirror(path: Path, seed: int) -> Crawl:
    """Return a mirror in random order, because its files are sorted. A page is a hash of main block and title."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row["url"] == row["url"].strip()]  # URLs that lost a `+`
    random.Random(seed).shuffle(rows)
    numbers: dict[Hashable, int] = {}
    pages = []
    for row in rows:
        page = (row["main"], row["title"]) if row["main"] else (row["url"],)
        pages.append(numbers.setdefault(page, len(numbers)))
    nothing = [None] * len(rows)
    urls = [normal_form(row["url"]) for row in rows]
    return Crawl(path.name.split(".")[0], urls, nothing, nothing, pages, pages[: round(TRAINED * len(pages))])


def shuffled_labels(crawl: Crawl, seed: int) -> Crawl:
    """Return the same crawl with its labels shuffled."""
    labels = list(crawl.labels)
    random.Random(seed).shuffle(labels)
    return replace(crawl, labels=labels)
