"""The metrics of WWW'10: how much a set of URLs shrinks, how much of its duplication goes, and at what error.

T. Lei et al., "A pattern tree-based approach to learning URL normalization rules", WWW 2010, section 5. Compression
alone rewards merging everything: read it beside the false-positive rate. Where a form joins two clusters the paper
does not say which of them is left; here it is the cluster of the form's first URL.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class NormalizationQuality:
    """Counts of a set of URLs before and after normalisation."""

    n_urls: int
    n_forms: int
    n_clusters: int
    n_clusters_left: int
    n_support_pairs: int
    """Pairs of URLs with one form."""
    n_false_pairs: int
    """Pairs of URLs with one form that show different pages."""

    @property
    def compression(self) -> float:
        """Share (0-1) of the URLs that are gone."""
        return 1 - self.n_forms / self.n_urls

    @property
    def dup_reduction(self) -> float | None:
        """Share of the duplicate rate that is gone (1 at best); None for URLs without duplicates."""
        if self.n_clusters == self.n_urls:
            return None
        return 1 - (1 - self.n_clusters_left / self.n_forms) / (1 - self.n_clusters / self.n_urls)

    @property
    def false_positive_rate(self) -> float:
        """Share (0-1) of the pairs with one form that show different pages; 0 where no pair has one form."""
        return self.n_false_pairs / self.n_support_pairs if self.n_support_pairs else 0.0


def normalization_quality(forms: Sequence[str], clusters: Sequence[Hashable]) -> NormalizationQuality:
    """Measure forms against the clusters of their URLs (at least one)."""
    members: dict[str, Counter[Hashable]] = defaultdict(Counter)
    for form, cluster in zip(forms, clusters, strict=True):
        members[form][cluster] += 1
    n_pairs = sum(_pairs(pages.total()) for pages in members.values())
    n_true = sum(_pairs(n) for pages in members.values() for n in pages.values())
    left = {next(iter(pages)) for pages in members.values()}
    return NormalizationQuality(len(forms), len(members), len(set(clusters)), len(left), n_pairs, n_pairs - n_true)


def pooled(of_sites: Iterable[NormalizationQuality]) -> NormalizationQuality:
    """All sites as one set of URLs: what WWW'10 calls micro; URLs of two sites are never one page."""
    return NormalizationQuality(*map(sum, zip(*map(astuple, of_sites), strict=True)))


def _pairs(n: int) -> int:
    return n * (n - 1) // 2
