"""Training data of a method, and how it is read from a page store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.model.folder import folder_name
from dedup_crawler.urls.normal import host_of, normal_form

if TYPE_CHECKING:
    from dedup_crawler.evidence.comparing import PageEvidence
    from dedup_crawler.pages.records import LabelledPage
    from dedup_crawler.pages.store import PageStore


class TrainingData(NamedTuple):
    """The arguments of :meth:`~dedup_crawler.methods.base.Canonicalizer.fit`: lists of one length, in crawl order."""

    urls: list[str]
    clusters: list[int]
    referrers: list[str | None]
    redirects: list[str | None]
    evidence: PageEvidence | None = None
    """Compares pages, given their places in the lists."""

    @classmethod
    def of_pages(cls, pages: Sequence[LabelledPage], clusters: Sequence[int], evidence: PageEvidence) -> TrainingData:
        """Make training data of *pages* (in crawl order), their *clusters* and *evidence*."""
        return cls(
            [page.url for page in pages],
            list(clusters),
            [page.referrer for page in pages],
            [page.redirect_to for page in pages],
            evidence,
        )

    def rows(self, rows: Sequence[int]) -> TrainingData:
        """Training data of the URLs at some places."""
        return TrainingData(
            [self.urls[i] for i in rows],
            [self.clusters[i] for i in rows],
            [self.referrers[i] for i in rows],
            [self.redirects[i] for i in rows],
            self.evidence.of(rows) if self.evidence is not None else None,
        )


def training_data(store: PageStore) -> TrainingData:
    """Read all labelled pages of *store*, which must stay open for learning: methods may ask for links.

    BadInputError if there are no pages, or pages without a cluster.
    """
    # a crawl that only applies a model does not compare pages
    from dedup_crawler.evidence.comparing import PageEvidence
    from dedup_crawler.labels.main_text import stored_links

    pages = list(store.labelled_pages())
    n_unlabelled = sum(page.cluster is None for page in pages)
    if not pages:
        raise BadInputError("the database holds no pages: crawl or import some first.")
    if n_unlabelled:
        raise BadInputError(f"{n_unlabelled} of {len(pages)} pages have no cluster: run `dedup-crawler label` first.")
    clusters = [page.cluster for page in pages if page.cluster is not None]
    evidence = PageEvidence.of_pages(pages, store.rotating_text(), stored_links(store))
    return TrainingData.of_pages(pages, clusters, evidence)


def default_model_folder(urls: Sequence[str]) -> Path:
    """``models/<host>`` for the host of most URLs."""
    hosts = Counter(host_of(normal_form(url)) for url in urls)
    return Path("models") / folder_name(hosts.most_common(1)[0][0])
