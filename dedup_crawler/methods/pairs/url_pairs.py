"""Labelled pairs of URLs: read from a file, or drawn from a crawl.

The capstone of 2018 published its pairs as ``url1,url2,score``. The score is the cosine of the texts of both pages, and
pages with a score of 0.99 or more count as identical.

A random split of the pairs would leak, because a URL is in several pairs. So a fifth of the URLs is held out, with
every pair that contains one of them.

A new URL is compared with at most 50 known URLs. First come those that share a rare argument (one of at most 50 known
URLs), then the neighbours in alphabetical order among the URLs of the same template.

From a crawl, pairs are drawn by its duplicate clusters. Duplicates are pairs within a cluster. As different pages, each
URL is paired with two of the known URLs with which a crawl would compare it, and with a random one. Such pairs are the
hard ones, and those that the classifier has to decide. Each URL is also paired with its referrer, as in the capstone.
"""

from __future__ import annotations

import csv
import math
import random
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations, zip_longest
from pathlib import Path
from typing import NamedTuple

from dedup_crawler.errors import BadInputError
from dedup_crawler.urls.templates import Templater

IDENTICAL = 0.99
"""Smallest score (0-1) of two pages that are the same."""
MAX_CANDIDATES = 50
_MAX_SHARED = 50  # an argument of more URLs is not used
_PER_CLUSTER = 10  # pairs of one page, so that a page with a thousand URLs does not outnumber the others
_HELD_OUT = 0.2  # share of the URLs


class UrlPair(NamedTuple):
    """Two URLs; *is_duplicate* is True if they show the same page."""

    left: str
    right: str
    is_duplicate: bool


def stream_pairs(path: Path) -> Iterator[tuple[str, str, bool | None]]:
    """Read a CSV file with the columns ``url1``, ``url2`` and optionally ``score``; other columns are ignored.

    Yields both URLs, and if they show the same page; None without a score. BadInputError if the file cannot be read or
    lacks a column, or a line lacks a URL or has an invalid score.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = csv.DictReader(file)
            columns = lines.fieldnames
            if columns is None:
                raise BadInputError(f"{path} is empty: a header url1,url2,score is expected.")
            if missing := [name for name in ("url1", "url2") if name not in columns]:
                found = f"no column {' and no column '.join(missing)} in {','.join(columns)[:100]!r}"
                raise BadInputError(f"{path}, line 1: {found}; url1,url2,score are expected.")
            for line in lines:
                left, right = line["url1"], line["url2"]
                if not left or not right:
                    empty = f"{path}, line {lines.line_num}: url{2 if left else 1} is empty"
                    raise BadInputError(f"{empty}; two URLs and a score are expected.")
                is_scored = "score" in columns
                yield left, right, _score(line["score"], path, lines.line_num) >= IDENTICAL if is_scored else None
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
    for left, right, is_duplicate in stream_pairs(path):
        if is_duplicate is None:
            raise BadInputError(f"{path} has no column score: to learn, url1,url2,score are expected.")
        pairs.append(UrlPair(left, right, is_duplicate))
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

    urls = list(dict.fromkeys(url for pair in pairs for url in pair[:2]))
    draw = np.random.default_rng(seed)
    held_out = {url for url, drawn in zip(urls, draw.random(len(urls)), strict=True) if drawn < _HELD_OUT}
    seen = [pair for pair in pairs if pair.left not in held_out and pair.right not in held_out]
    new = [pair for pair in pairs if pair.left in held_out or pair.right in held_out]
    return seen, new


def _score(text: str | None, path: Path, number: int) -> float:
    try:
        score = float(text or "")
    except ValueError:
        score = math.nan
    if not 0 <= score <= 1.0001:  # allows for rounding of a cosine, and refuses NaN
        raise BadInputError(f"{path}, line {number}: score {text!r} is no number from 0 to 1.")
    return score


class KnownUrls:
    """Distinct URLs with their canonical forms, indexed by template and by argument."""

    def __init__(self, urls: Sequence[str], forms: Sequence[str], templater: Templater) -> None:
        self.urls, self.forms = list(urls), list(forms)
        self.form_of = dict(zip(urls, forms, strict=True))
        self.templater = templater
        self._of_template: dict[str, list[int]] = defaultdict(list)
        self._of_argument: dict[str, list[int]] = defaultdict(list)
        for number in sorted(range(len(self.urls)), key=self.urls.__getitem__):
            template, arguments = templater.split(self.urls[number])
            self._of_template[template].append(number)
            for argument in set(arguments):
                self._of_argument[argument].append(number)
        for argument in [argument for argument, found in self._of_argument.items() if len(found) > _MAX_SHARED]:
            del self._of_argument[argument]

    def candidates(self, url: str) -> list[int]:
        """Places of at most 50 known URLs other than *url*, the most similar ones first."""
        template, arguments = self.templater.split(url)
        shared: Counter[int] = Counter()
        for argument in set(arguments):
            shared.update(self._of_argument.get(argument, ()))
        found = sorted(shared, key=lambda number: (-shared[number], number))[:MAX_CANDIDATES]
        near = self._neighbours(url, self._of_template.get(template, []))
        chosen = dict.fromkeys(found[: MAX_CANDIDATES // 2] + near + found)
        return [number for number in chosen if self.urls[number] != url][:MAX_CANDIDATES]

    def _neighbours(self, url: str, same_template: list[int]) -> list[int]:
        """The neighbours in alphabetical order, alternately below and above."""
        place = bisect_left(same_template, url, key=self.urls.__getitem__)
        half = MAX_CANDIDATES // 2
        below, above = same_template[max(0, place - half) : place][::-1], same_template[place : place + half + 1]
        return [number for both in zip_longest(below, above) for number in both if number is not None]


def sample_pairs(
    known: KnownUrls, clusters: Sequence[int], referrers: Sequence[str | None], *, seed: int, max_pairs: int
) -> list[UrlPair]:
    """Draw at most *max_pairs* labelled pairs; *clusters* and *referrers* are those of the known URLs."""
    draw = random.Random(seed)  # noqa: S311 - reproducible, not secret
    urls = known.urls
    places = {url: number for number, url in enumerate(urls)}
    drawn: dict[tuple[int, int], None] = {}
    members: dict[int, list[int]] = defaultdict(list)
    for number, cluster in enumerate(clusters):
        members[cluster].append(number)
    for its in members.values():
        for left, right in _pairs_within(its, draw):
            drawn.setdefault((left, right) if draw.random() < 0.5 else (right, left))
    for number, url in enumerate(urls):
        others = [other for other in known.candidates(url) if clusters[other] != clusters[number]]
        chosen = [*others[:1], *draw.sample(others, min(1, len(others))), draw.randrange(len(urls))]
        referrer = places.get(referrers[number] or "", number)
        for other in (*chosen, referrer):
            if other != number and (number, other) not in drawn:
                drawn.setdefault((other, number))
    pairs = [UrlPair(urls[left], urls[right], clusters[left] == clusters[right]) for left, right in drawn]
    draw.shuffle(pairs)
    return pairs[:max_pairs]


def _pairs_within(members: Sequence[int], draw: random.Random) -> list[tuple[int, int]]:
    if len(members) * (len(members) - 1) // 2 <= _PER_CLUSTER:
        return list(combinations(members, 2))
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < _PER_CLUSTER:
        left, right = sorted(draw.sample(range(len(members)), 2))
        pairs.add((members[left], members[right]))
    return sorted(pairs)
