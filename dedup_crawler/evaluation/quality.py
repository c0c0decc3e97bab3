"""Quality of forms by the metrics of WWW'10, of clusters against an independent truth, and of answers about pairs.

T. Lei et al., "A pattern tree-based approach to learning URL normalization rules", WWW 2010, section 5: compression of
a set of URLs, reduction of its duplicates, and false positives. Compression alone rewards merging everything, so
compare it with the false-positive rate. If a form joins two clusters, the paper does not define which of them remains;
here it is the cluster of the form's first URL.

Answers about pairs have accuracy, precision, recall, area under the curve, and a confusion matrix. The axes of the
matrix have names, because the capstone of 2018 exchanged them.

Clusters have B-cubed precision and recall (A. Bagga, B. Baldwin, "Entity-based cross-document coreferencing using the
vector space model", COLING 1998). Precision of one URL: the share of its cluster that truly shows the same page;
recall: the share of its true cluster that was found; both averaged over URLs. Pairwise: the same two shares over pairs
of URLs.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dedup_crawler.errors import BadInputError

Answers = Sequence[float] | np.ndarray
Labels = Sequence[bool] | np.ndarray


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
    n_pairs = _n_pairs(pages.total() for pages in members.values())
    n_true = _n_pairs(n for pages in members.values() for n in pages.values())
    left = {next(iter(pages)) for pages in members.values()}
    return NormalizationQuality(len(forms), len(members), len(set(clusters)), len(left), n_pairs, n_pairs - n_true)


def _n_pairs(sizes: Iterable[int]) -> int:
    """Number of pairs within groups of some sizes."""
    return sum(n * (n - 1) // 2 for n in sizes)


def pair_quality(probabilities: Answers, labels: Labels, threshold: float) -> dict[str, Any]:
    """Judge answers: return counts, rates from 0 to 1 (None if undefined), and the confusion matrix.

    *probabilities* (N,), N >= 1, are 0-1, *labels* (N,) are 1 for the same page, else 0. Pairs with at least the
    probability *threshold* count as the same page.
    """
    called, is_same = np.asarray(probabilities) >= threshold, np.asarray(labels) == 1
    n_pairs, n_right = len(called), int((called & is_same).sum())
    n_called, n_same = int(called.sum()), int(is_same.sum())
    n_neither = int((~called & ~is_same).sum())
    return {
        "pairs": n_pairs,
        "accuracy": (n_right + n_neither) / n_pairs,
        "precision": n_right / n_called if n_called else None,
        "recall": n_right / n_same if n_same else None,
        "f1": 2 * n_right / (n_called + n_same) if n_called + n_same else 0.0,
        "auc": area_under_curve(probabilities, labels),
        "confusion": {
            "truth different": {"answer different": n_neither, "answer same": n_called - n_right},
            "truth same": {"answer different": n_same - n_right, "answer same": n_right},
        },
    }


def area_under_curve(probabilities: Answers, labels: Labels) -> float | None:
    """Return the area under the ROC curve, by ranks (Mann and Whitney).

    It is the probability that a duplicate gets a higher answer than a pair of different pages; ties count half. None if
    all labels are equal.

    >>> area_under_curve([0.1, 0.4, 0.4, 0.9], [0, 0, 1, 1])
    0.875
    """
    is_same = np.asarray(labels) == 1
    n_same = int(is_same.sum())
    n_different = len(is_same) - n_same
    if not n_same or not n_different:
        return None
    _, places, counts = np.unique(probabilities, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks = (ends - (counts - 1) / 2)[places]  # (N,): tied answers share the mean of their ranks
    return float((ranks[is_same].sum() - n_same * (n_same + 1) / 2) / (n_same * n_different))


@dataclass(frozen=True, slots=True)
class LabelQuality:
    """Precision and recall (0-1) of clusters, over the *n_urls* URLs with a true cluster."""

    n_urls: int
    bcubed_precision: float
    bcubed_recall: float
    pair_precision: float
    """1 if no two URLs were put together."""
    pair_recall: float
    """1 if no two URLs belong together."""


def read_truth(path: str | Path) -> dict[str, str]:
    """Read a CSV file (plain or ``.gz``) with at least the columns ``url`` and ``cluster``: URL -> cluster name.

    BadInputError if the file is missing or unreadable, lacks a column or a value, or gives a URL two clusters.
    """
    path = Path(path)
    truth: dict[str, str] = {}
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as raw:
            reader = csv.DictReader(io.TextIOWrapper(raw, encoding="utf-8-sig", newline=""))
            columns = reader.fieldnames or []
            if missing := [name for name in ("url", "cluster") if name not in columns]:
                raise BadInputError(f"{path} has no column {missing[0]!r}; it has: {', '.join(columns) or 'nothing'}")
            for row in reader:
                url, cluster = row["url"], row["cluster"]
                if not url or not cluster:
                    raise BadInputError(f"{path}, line {reader.line_num}: url or cluster is missing")
                if truth.setdefault(url, cluster) != cluster:
                    message = f"{url} is in the clusters {truth[url]} and {cluster}"
                    raise BadInputError(f"{path}, line {reader.line_num}: {message}")
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInputError(f"{path}: the truth cannot be read ({reason}); give a .csv or .csv.gz file") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInputError(f"{path}: the truth is not a CSV file in UTF-8 ({error})") from None
    return truth


def label_quality(clusters: Mapping[str, int], truth: Mapping[str, str]) -> LabelQuality:
    """Judge *clusters* (URL -> number) by *truth* (URL -> name), over the URLs in both.

    BadInputError if no URL is in both.
    """
    both = [(cluster, truth[url]) for url, cluster in clusters.items() if url in truth]
    if not both:
        raise BadInputError(f"none of the {len(clusters)} labelled URLs is among the {len(truth)} URLs of the truth")
    ours = Counter(cluster for cluster, _ in both)
    theirs = Counter(name for _, name in both)
    shared = Counter(both)
    n_urls = len(both)
    return LabelQuality(
        n_urls=n_urls,
        bcubed_precision=sum(n * n / ours[cluster] for (cluster, _), n in shared.items()) / n_urls,
        bcubed_recall=sum(n * n / theirs[name] for (_, name), n in shared.items()) / n_urls,
        pair_precision=_share(_n_pairs(shared.values()), _n_pairs(ours.values())),
        pair_recall=_share(_n_pairs(shared.values()), _n_pairs(theirs.values())),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
