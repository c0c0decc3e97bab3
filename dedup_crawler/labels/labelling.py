"""Labelling a crawl: main texts, scores, clusters, from the store into the store.

Cleaning takes nearly all of the time and is done once a page; it is written as it comes, so that an interrupted run is
continued where it stopped. Scores and clusters are made anew each time, for a new page may join two old clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedup_crawler.labels.clusters import cluster_pages
from dedup_crawler.labels.cosine import score_pairs
from dedup_crawler.labels.main_text import clean_pages
from dedup_crawler.pages.records import LabelledPage, PageText

if TYPE_CHECKING:
    from dedup_crawler.pages.store import PageStore

BATCH_PAGES = 100
"""Texts that an interrupted run may have to read again, at most."""
REPORTED_SKIPS = 100

Progress = Callable[[str, int], None]
"""Called with the step (``main text``, ``scores``, ``clusters``) and the number of pages it has done."""


@dataclass(frozen=True, slots=True)
class LabelReport:
    """What a run of :func:`label_store` found."""

    n_pages: int
    n_cleaned: int
    """Pages whose text was read in this run; the others had been before."""
    n_without_text: int
    """Pages that can be joined by redirects only."""
    n_skipped: int
    """Pages, of those cleaned in this run, whose text could not be read ..."""
    skipped: tuple[tuple[str, str], ...]
    """... with the reason: (URL, reason), the first 100."""
    n_scores: int
    n_clusters: int
    n_duplicates: int
    """Pages that a crawl without duplicates would not have fetched: all but one of each cluster."""


def label_store(
    store: PageStore,
    *,
    n_workers: int | None = None,
    language: str = "English",
    seed: int = 0,
    progress: Progress | None = None,
) -> LabelReport:
    """Read the texts of the pages that have none yet, then score and cluster all pages.

    Parameters
    ----------
    store
        Read and written.
    n_workers, language
        See :func:`~dedup_crawler.labels.main_text.clean_pages`.
    seed
        Of the sample of scores below the threshold.
    progress
        Called after each batch of pages and after each step.

    Raises
    ------
    BadInputError, MissingExtraError
        As :func:`~dedup_crawler.labels.main_text.clean_pages` and :func:`~dedup_crawler.labels.cosine.score_pairs`.

    Notes
    -----
    Ctrl-C, or an error, leaves the texts read so far in the store.
    """
    report = progress or _silent
    skipped: list[tuple[str, str]] = []
    n_cleaned = _clean(store, n_workers, language, lambda url, reason: skipped.append((url, reason)), report)
    pages = list(store.labelled_pages())
    scores = list(score_pairs(pages, seed=seed))
    store.write_scores(scores)
    report("scores", len(pages))
    clusters = cluster_pages(pages, scores)
    store.write_clusters({page.url: cluster for page, cluster in zip(pages, clusters, strict=True)})
    report("clusters", len(pages))
    n_clusters = len(set(clusters))
    return LabelReport(
        n_pages=len(pages),
        n_cleaned=n_cleaned,
        n_without_text=sum(not page.main_text for page in pages),
        n_skipped=len(skipped),
        skipped=tuple(skipped[:REPORTED_SKIPS]),
        n_scores=len(scores),
        n_clusters=n_clusters,
        n_duplicates=len(pages) - n_clusters,
    )


def cluster_labelled(pages: Sequence[LabelledPage]) -> list[int]:
    """Cluster pages by themselves, as :func:`label_store` would if the crawl had been just these.

    Parameters
    ----------
    pages
        In crawl order, with their texts; any part of a crawl.

    Returns
    -------
    list of int
        One number a page, 0, 1, ... by first appearance.
    """
    return cluster_pages(pages, score_pairs(pages))


def _clean(
    store: PageStore, n_workers: int | None, language: str, on_skip: Callable[[str, str], None], report: Progress
) -> int:
    n_cleaned = 0
    uncleaned = store.uncleaned_pages()
    with closing(clean_pages(uncleaned, n_workers=n_workers, language=language, on_skip=on_skip)) as texts:
        for batch in _batches(texts):
            store.write_texts(batch)
            n_cleaned += len(batch)
            report("main text", n_cleaned)
    return n_cleaned


def _batches(texts: Iterator[PageText]) -> Iterator[list[PageText]]:
    batch: list[PageText] = []
    for text in texts:
        batch.append(text)
        if len(batch) == BATCH_PAGES:
            yield batch
            batch = []
    if batch:
        yield batch


def _silent(step: str, n_done: int) -> None:
    """No progress is wanted."""
