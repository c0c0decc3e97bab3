"""Labelled pairs of URLs, and the CSV files that hold them.

The capstone of 2018 published its pairs as ``url1,url2,score``. The score is the cosine of the texts of both pages, and
pages with a score of 0.99 or more count as identical.

A random split of the pairs would leak, because a URL is in several pairs. So a fifth of the URLs is held out, with
every pair that contains one of them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dedup_crawler.errors import BadInputError

IDENTICAL = 0.99
"""Smallest score (0-1) of two pages that are the same."""
_HELD_OUT = 0.2  # share of the URLs
_URL_COLUMNS = ("url1", "url2")
_SCORE = "score"


@dataclass(frozen=True, slots=True)
class UrlPair:
    """Two URLs; *is_duplicate* is True if they show the same page."""

    left: str
    right: str
    is_duplicate: bool


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """A line of a file of pairs; *score* (0-1) is None if the file has none."""

    left: str
    right: str
    score: float | None

    @property
    def is_duplicate(self) -> bool | None:
        """Return True if the score means the same page; None without a score."""
        return None if self.score is None else self.score >= IDENTICAL


def stream_pairs(path: Path) -> Iterator[ScoredPair]:
    """Read a CSV file with the columns ``url1``, ``url2`` and optionally ``score``; other columns are ignored.

    BadInputError if the file cannot be read or lacks a column, or a line lacks a URL or has an invalid score.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield from _pairs(csv.DictReader(file), path)
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadInputError(f"{path} is not UTF-8 text: a CSV with the columns url1,url2,score is expected.") from error
    except csv.Error as error:
        raise BadInputError(f"{path} is not a CSV file: {error}; the columns url1,url2,score are expected.") from error


def read_pairs(path: Path) -> list[UrlPair]:
    """Read a CSV file of labelled pairs, with a score in every line.

    BadInputError as :func:`stream_pairs`; and if scores are missing, there are no lines, or all pairs are of one kind.
    """
    pairs = []
    for pair in stream_pairs(path):
        if pair.is_duplicate is None:
            raise BadInputError(f"{path} has no column score: to learn, url1,url2,score are expected.")
        pairs.append(UrlPair(pair.left, pair.right, pair.is_duplicate))
    check_kinds(pairs, str(path))
    return pairs


def check_kinds(pairs: Sequence[UrlPair], source: str) -> None:
    """Raise BadInputError unless *pairs* has both kinds; the error names *source*."""
    if not pairs:
        raise BadInputError(f"{source} holds no pairs: lines url1,url2,score are expected below the header.")
    if len({pair.is_duplicate for pair in pairs}) == 1:
        kind = "identical" if pairs[0].is_duplicate else "different"
        raise BadInputError(
            f"all {len(pairs)} pairs of {source} are {kind}: "
            f"to learn, pairs with a score of {IDENTICAL} or more and pairs below are expected."
        )


def cut_by_url(pairs: Sequence[UrlPair], seed: int) -> tuple[list[UrlPair], list[UrlPair]]:
    """Split into training pairs, and pairs with a URL that is in no training pair; either may be empty."""
    import numpy as np  # only needed for fitting

    urls = list(dict.fromkeys(url for pair in pairs for url in (pair.left, pair.right)))
    draw = np.random.default_rng(seed)
    held_out = {url for url, drawn in zip(urls, draw.random(len(urls)), strict=True) if drawn < _HELD_OUT}
    seen = [pair for pair in pairs if pair.left not in held_out and pair.right not in held_out]
    new = [pair for pair in pairs if pair.left in held_out or pair.right in held_out]
    return seen, new


def _pairs(lines: csv.DictReader[str], path: Path) -> Iterator[ScoredPair]:
    columns = lines.fieldnames
    if columns is None:
        raise BadInputError(f"{path} is empty: a header url1,url2,score is expected.")
    missing = [name for name in _URL_COLUMNS if name not in columns]
    if missing:
        found = ",".join(columns)[:100]
        raise BadInputError(
            f"{path}, line 1: no column {' and no column '.join(missing)} in {found!r}; url1,url2,score are expected."
        )
    for line in lines:
        left, right = line["url1"], line["url2"]
        if not left or not right:
            raise BadInputError(
                f"{path}, line {lines.line_num}: url{1 if not left else 2} is empty; two URLs and a score are expected."
            )
        yield ScoredPair(left, right, _score(line[_SCORE], path, lines.line_num) if _SCORE in columns else None)


def _score(text: str | None, path: Path, number: int) -> float:
    try:
        score = float(text or "")
    except ValueError:
        score = math.nan
    if not 0 <= score <= 1.0001:  # allows for rounding of a cosine, and refuses NaN
        raise BadInputError(f"{path}, line {number}: score {text!r} is no number from 0 to 1.")
    return score
