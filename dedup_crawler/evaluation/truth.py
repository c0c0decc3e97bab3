"""Quality of clusters, against an independent truth.

B-cubed: A. Bagga, B. Baldwin, "Entity-based cross-document coreferencing using the vector space model", COLING 1998.
Precision of one URL: the share of its cluster that truly shows the same page; recall: the share of its true cluster
that was found; both averaged over URLs. Pairwise: the same two shares over pairs of URLs.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from dedup_crawler.errors import BadInputError


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
        with _open_text(path) as file:
            for line, url, cluster in _rows(path, file):
                if truth.setdefault(url, cluster) != cluster:
                    raise BadInputError(f"{path}, line {line}: {url} is in the clusters {truth[url]} and {cluster}")
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


def _n_pairs(sizes: Iterable[int]) -> int:
    return sum(size * (size - 1) // 2 for size in sizes)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


@contextmanager
def _open_text(path: Path) -> Iterator[TextIO]:
    """Open a plain or gzipped file as UTF-8 text, with or without a byte order mark."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as raw:
        yield io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")


def _rows(path: Path, file: TextIO) -> Iterator[tuple[int, str, str]]:
    reader = csv.DictReader(file)
    columns = reader.fieldnames or []
    for needed in ("url", "cluster"):
        if needed not in columns:
            raise BadInputError(f"{path} has no column {needed!r}; it has: {', '.join(columns) or 'nothing'}")
    for row in reader:
        if not row["url"] or not row["cluster"]:
            raise BadInputError(f"{path}, line {reader.line_num}: url or cluster is missing")
        yield reader.line_num, row["url"], row["cluster"]
