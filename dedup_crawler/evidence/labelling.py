"""Labels the crawl in a page store: reads main texts, then makes scores and clusters.

Reading the texts takes nearly all of the time. Each text is read once and stored at once, so an interrupted run
continues where it stopped. Scores and clusters are made anew each time, because a new page may join two old clusters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from dedup_crawler.errors import BadInputError, did_you_mean
from dedup_crawler.evidence.compared_clusters import compared_clusters
from dedup_crawler.labels.clusters import REORDERED
from dedup_crawler.labels.joins import Clustering
from dedup_crawler.labels.layout import Pages
from dedup_crawler.labels.lines import lines_of, n_words
from dedup_crawler.labels.main_text import clean_pages
from dedup_crawler.labels.published import cluster_by_cosine, cluster_by_simhash, score_pairs
from dedup_crawler.pages.records import LabelledPage, PageText

if TYPE_CHECKING:
    from dedup_crawler.pages.store import PageStore

LABELLERS: Mapping[str, Callable[[Pages], Clustering]] = {
    "default": compared_clusters,
    "cosine": cluster_by_cosine,
    "simhash": cluster_by_simhash,
}
"""Name -> labeller: puts pages into duplicate clusters."""

BATCH_PAGES = 100
"""Pages in one batch of texts; an interrupted run reads at most one batch again."""
REPORTED_SKIPS = 100
MIN_SINK_URLS = 10
"""Smallest number of URLs of a sink."""
MIN_SINK_SHARE = 0.02
"""Smallest share (0-1) of all URLs that lead to a sink."""
MAX_SINK_WORDS = 100
"""Largest number of words of a sink in lines that are not common; error pages may have more."""
COMMON_SHARE = 0.05
"""A line is common if it is on more than this share (0-1) of the pages, and above the limit by SHARED."""
SHARED = 1.5
"""A line is common if it is on more than this number of pages for each URL of the cluster, and above COMMON_SHARE."""

Progress = Callable[[str, int], None]
"""Called with the step (``main text``, ``scores``, ``clusters``) and the number of pages done."""


@dataclass(frozen=True, slots=True)
class Sink:
    """A cluster to which very many URLs lead: the log-in form, the not-found page, the empty result."""

    cluster: int
    n_urls: int
    url: str
    """First URL of the cluster."""
    title: str


@dataclass(frozen=True, slots=True)
class LabelReport:
    """Results of a run of :func:`label_store`."""

    n_pages: int
    n_cleaned: int
    """Number of pages whose text was read in this run."""
    n_without_text: int
    """Number of pages without text, which only redirects and digests can join."""
    n_skipped: int
    """Number of pages whose text could not be read in this run."""
    skipped: tuple[tuple[str, str], ...]
    """URL and reason of the first 100 skipped pages."""
    n_scores: int
    n_clusters: int
    n_duplicates: int
    """Number of pages that were fetched in vain: all but one of each cluster."""
    n_reordered: int
    """Number of joins of lists in two orders; 0 for labellers that do not find them."""
    sinks: tuple[Sink, ...]
    """Sinks (log in, not found, no result), the largest first."""


def label_store(
    store: PageStore,
    *,
    n_workers: int | None = None,
    language: str = "English",
    labeller: str = "default",
    progress: Progress | None = None,
) -> LabelReport:
    """Read the texts of pages in *store* that have none yet, then score and cluster all pages.

    *n_workers* and *language* are those of :func:`~dedup_crawler.labels.main_text.clean_pages`. *labeller* is one of
    :data:`LABELLERS`. *progress* is called after each batch of pages and after each step. After Ctrl-C or an error, the
    texts read so far are in the store.

    BadInputError or MissingExtraError as :func:`~dedup_crawler.labels.main_text.clean_pages` and
    :func:`~dedup_crawler.labels.published.score_pairs`.
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
    """Look up a labeller; BadInputError if *name* is unknown."""
    if name not in LABELLERS:
        hint = did_you_mean(name, LABELLERS)
        raise BadInputError(f"labeller = {name!r} is not known; choose one of {', '.join(LABELLERS)}.{hint}")
    return LABELLERS[name]


@dataclass(frozen=True, slots=True)
class LabelStep:
    """Two URLs that were joined, and the reason."""

    url: str
    other: str
    reason: str


def explain_pair(store: PageStore, url: str, other: str, *, labeller: str = "default") -> tuple[LabelStep, ...]:
    """The joins that lead from one page of a crawl to another; empty if they are in different clusters.

    The store must be labelled (:func:`label_store`). Clusters are made anew, and nothing is written. BadInputError if a
    URL was not crawled or not labelled.
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
    """Find the sinks among *clusters* (the number of each page), the largest first; redirects do not count as URLs."""
    n_urls: Counter[int] = Counter()
    for page, cluster in zip(pages(), clusters, strict=True):
        n_urls[cluster] += bool(page.main_text)
    least = max(MIN_SINK_URLS, MIN_SINK_SHARE * n_urls.total())
    wanted = {cluster for cluster, n in n_urls.items() if n >= least}
    if not wanted:
        return ()
    first: dict[int, LabelledPage] = {}
    for page, cluster in zip(pages(), clusters, strict=True):
        if page.main_text and cluster in wanted:
            first.setdefault(cluster, page)
    lines = {line for page in first.values() for line in lines_of(page)}
    n_pages: Counter[str] = Counter()
    for page in pages():
        n_pages.update(lines.intersection(lines_of(page)))
    found: list[Sink] = []
    for cluster, page in first.items():
        most = max(COMMON_SHARE * n_urls.total(), SHARED * n_urls[cluster])
        own = sum(n_words(line) for line in set(lines_of(page)) if n_pages[line] <= most)
        if page.status >= 400 or own <= MAX_SINK_WORDS:
            found.append(Sink(cluster, n_urls[cluster], page.url, page.title))
    return tuple(sorted(found, key=lambda sink: (-sink.n_urls, sink.cluster)))


def _write_texts(store: PageStore, texts: Generator[PageText, None, None], report: Progress) -> int:
    """Write the texts, and return their number."""
    n_cleaned = 0
    with closing(texts):
        while batch := list(islice(texts, BATCH_PAGES)):
            store.write_texts(batch)
            n_cleaned += len(batch)
            report("main text", n_cleaned)
    return n_cleaned
