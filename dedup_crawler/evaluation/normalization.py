"""The metrics of WWW'10: compression of a set of URLs, reduction of its duplicates, and false positives.

T. Lei et al., "A pattern tree-based approach to learning URL normalization rules", WWW 2010, section 5. Compression
alone rewards merging everything, so compare it with the false-positive rate. If a form joins two clusters, the paper
does not define which of them remains; here it is the cluster of the form's first URL.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class NormalizationQuality:
    """Counts of a set of URLs before and after normalization."""

    n_urls: int
    n_forms: int
    n_clusters: int
    n_clusters_left: int
    n_support_pairs: int
    """Number of pairs of URLs with one form."""
    n_false_pairs: int
    """Number of pairs of URLs with one form that show different pages."""

    @property
    def compression(self) -> float:
        """Return the share (0-1) by which the number of URLs shrinks."""
        return 1 - self.n_forms / self.n_urls

    @property
    def dup_reduction(self) -> float | None:
        """Return the share of the duplicate rate that is removed (1 at best); None for URLs without duplicates."""
        if self.n_clusters == self.n_urls:
            return None
        return 1 - (1 - self.n_clusters_left / self.n_forms) / (1 - self.n_clusters / self.n_urls)

    @property
    def false_positive_rate(self) -> float:
        """Return the share (0-1) of the pairs with one form that show different pages; 0 if there is no such pair."""
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
    """Pool all sites into one set of URLs (the micro average of WWW'10); URLs of two sites never show one page."""
    return NormalizationQuality(*map(sum, zip(*map(astuple, of_sites), strict=True)))


def _pairs(n: int) -> int:
    return n * (n - 1) // 2
