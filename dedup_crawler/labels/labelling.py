"""Labelling a crawl: main texts, scores, clusters, from the store into the store.

Cleaning takes nearly all of the time and is done once a page; it is written as it comes, so that an interrupted run is
continued where it stopped. Scores and clusters are made anew each time, for a new page may join two old clusters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from dedup_crawler.errors import BadInputError, did_you_mean
from dedup_crawler.labels.clusters import REORDERED, cluster_pages
from dedup_crawler.labels.cosine import cluster_by_cosine, score_pairs
from dedup_crawler.labels.joins import Clustering
from dedup_crawler.labels.layout import Pages
from dedup_crawler.labels.lines import lines_of, n_words
from dedup_crawler.labels.main_text import clean_pages
from dedup_crawler.labels.simhash import cluster_by_simhash
from dedup_crawler.pages.records import LabelledPage, PageText

if TYPE_CHECKING:
    from dedup_crawler.pages.store import PageStore

LABELLERS: Mapping[str, Callable[[Pages], Clustering]] = {
    "default": cluster_pages,
    "cosine": cluster_by_cosine,
    "simhash": cluster_by_simhash,
}
"""Name -> ways to put pages into duplicate clusters."""

BATCH_PAGES = 100
"""Most texts that an interrupted run may have to read again."""
REPORTED_SKIPS = 100
MIN_SINK_URLS = 10
"""Least number of URLs of a sink."""
MIN_SINK_SHARE = 0.02
"""Least share (0-1) of all URLs that a sink has."""
MAX_SINK_WORDS = 100
"""Most words of a sink besides lines that the pages of the site share; error pages may have more."""
COMMON_SHARE = 0.05
"""A line on more than this share (0-1) of the pages says nothing about one of them; the larger of two limits counts."""
SHARED = 1.5
"""A line on more than so many pages for each URL of a cluster says nothing about the cluster."""

Progress = Callable[[str, int], None]
"""Called with the step (``main text``, ``scores``, ``clusters``) and the number of pages it has done."""


@dataclass(frozen=True, slots=True)
class Sink:
    """A cluster to which very many URLs lead: the login form, the not-found page, the empty result."""

    cluster: int
    n_urls: int
    url: str
    """Its first."""
    title: str


@dataclass(frozen=True, slots=True)
class LabelReport:
    """Results of a run of :func:`label_store`."""

    n_pages: int
    n_cleaned: int
    """Pages whose text was read in this run; the others had been before."""
    n_without_text: int
    """Pages that can be joined by redirects only."""
    n_skipped: int
    """Pages of this run whose text could not be read."""
    skipped: tuple[tuple[str, str], ...]
    """URL and reason of the first 100 skipped pages."""
    n_scores: int
    n_clusters: int
    n_duplicates: int
    """Pages that a crawl without duplicates would not have fetched: all but one of each cluster."""
    n_reordered: int
    """Joins of two orders of one list; 0 for labellers that do not look for them."""
    sinks: tuple[Sink, ...]
    """Clusters that say nothing (log in, not found, no result), the largest first."""


def label_store(
    store: PageStore,
    *,
    n_workers: int | None = None,
    language: str = "English",
    labeller: str = "default",
    progress: Progress | None = None,
) -> LabelReport:
    """Read the texts of the pages of *store* that have none yet, then score and cluster all pages.

    *n_workers* and *language* are those of :func:`~dedup_crawler.labels.main_text.clean_pages`, *labeller* is one of
    :data:`LABELLERS`, *progress* is called after each batch of pages and after each step. Ctrl-C, or an error, leaves
    the texts read so far in the store.

    Raises
    ------
    BadInputError, MissingExtraError
        As :func:`~dedup_crawler.labels.main_text.clean_pages` and :func:`~dedup_crawler.labels.cosine.score_pairs`.
    """
    report = progress or (lambda step, n_done: None)
    cluster = labeller_of(labeller)
    skipped: list[tuple[str, str]] = []
    texts = clean_pages(
        store.uncleaned_pages(),
        n_workers=n_workers,
        language=language,
        on_skip=lambda url, reason: skipped.append((url, reason)),
    )
    n_cleaned = _write_texts(store, texts, report)
    store.write_scores(score_pairs(store.labelled_pages()))
    report("scores", len(store))
    clustering = cluster(store.labelled_pages)
    clusters = clustering.numbers()
    store.write_clusters(dict(zip(store.urls(), clusters, strict=True)))
    report("clusters", len(clusters))
    n_clusters = len(set(clusters))
    return LabelReport(
        n_pages=len(clusters),
        n_cleaned=n_cleaned,
        n_without_text=sum(not page.main_text for page in store.labelled_pages()),
        n_skipped=len(skipped),
        skipped=tuple(skipped[:REPORTED_SKIPS]),
        n_scores=store.overview().n_scores,
        n_clusters=n_clusters,
        n_duplicates=len(clusters) - n_clusters,
        n_reordered=sum(join.reason == REORDERED for join in clustering.joins),
        sinks=find_sinks(store.labelled_pages, clusters),
    )


def labeller_of(name: str) -> Callable[[Pages], Clustering]:
    """Look up a way to cluster pages; BadInputError if there is none of that *name*."""
    if name not in LABELLERS:
        hint = did_you_mean(name, LABELLERS)
        raise BadInputError(f"labeller = {name!r} is not known; choose one of {', '.join(LABELLERS)}.{hint}")
    return LABELLERS[name]


def cluster_labelled(pages: Sequence[LabelledPage]) -> list[int]:
    """Cluster pages (any part of a crawl, in its order) as :func:`label_store` would if the crawl had been just these.

    Returns one number a page, 0, 1, ... by first appearance.
    """
    return cluster_pages(lambda: pages).numbers()


@dataclass(frozen=True, slots=True)
class LabelStep:
    """Two URLs that were put together, and the evidence."""

    url: str
    other: str
    reason: str


def explain_pair(store: PageStore, url: str, other: str, *, labeller: str = "default") -> tuple[LabelStep, ...]:
    """The steps by which the labels lead from one page of a crawl to another; none if they are different pages.

    The texts must have been read (:func:`label_store`); clusters are made anew, nothing is written. BadInputError if
    the crawl has not labelled one of the URLs.
    """
    urls: list[str] = []
    n_unlabelled = 0
    for page in store.labelled_pages():
        urls.append(page.url)
        n_unlabelled += page.cluster is None
    for each in (url, other):
        if each not in urls:
            raise BadInputError(f"{each} is not among the {len(urls)} pages of the crawl; give a URL as it was crawled")
    if n_unlabelled:
        raise BadInputError(
            f"{n_unlabelled} pages of the crawl are not labelled yet: run label without --explain first"
        )
    joins = labeller_of(labeller)(store.labelled_pages).explain(urls.index(url), urls.index(other))
    return tuple(LabelStep(urls[join.left], urls[join.right], join.reason) for join in joins)


def find_sinks(pages: Pages, clusters: Sequence[int]) -> tuple[Sink, ...]:
    """Find the sinks among *clusters* (one number a page), the largest first; redirects do not count as URLs.

    They are clusters like others, and "this kind of URL always ends here" is worth learning; but that two URLs end
    there says nothing about what else they would show.
    """
    n_urls: Counter[int] = Counter()
    for page, cluster in zip(pages(), clusters, strict=True):
        n_urls[cluster] += bool(page.main_text)
    least = max(MIN_SINK_URLS, MIN_SINK_SHARE * n_urls.total())
    first = _first_pages(pages, clusters, {cluster for cluster, n in n_urls.items() if n >= least})
    n_pages = _pages_with(pages, {line for page in first.values() for line in lines_of(page)})
    found: list[Sink] = []
    for cluster, page in first.items():
        most = max(COMMON_SHARE * n_urls.total(), SHARED * n_urls[cluster])
        own = sum(n_words(line) for line in set(lines_of(page)) if n_pages[line] <= most)
        if page.status >= 400 or own <= MAX_SINK_WORDS:
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


def _write_texts(store: PageStore, texts: Generator[PageText, None, None], report: Progress) -> int:
    """Write the texts, and return their number."""
    n_cleaned = 0
    with closing(texts):
        while batch := list(islice(texts, BATCH_PAGES)):
            store.write_texts(batch)
            n_cleaned += len(batch)
            report("main text", n_cleaned)
    return n_cleaned
