"""Cosine scores of the pages found on one page: the labels of the capstone, one sparse product a group.

The capstone (lazem/MLND-Capstone) compares each page with the pages linked on it and those with each other: vectors of
word counts, cosine, 0.99 or more means duplicate. It fits a vectoriser for each pair. Here the words of all texts are
counted once into one sparse matrix with rows of length 1; the scores of a group are then a product of its rows with
themselves. The scores are those of scikit-learn's ``CountVectorizer`` and ``cosine_similarity``.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import xxhash

from dedup_crawler.errors import MissingExtraError
from dedup_crawler.pages.records import LabelledPage

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DUPLICATE_SCORE = 0.99
"""The capstone's threshold."""
SAMPLED_SHARE = 0.05
"""Of the pairs below the threshold this share is given too, for a plot of the distribution ..."""
SAMPLED_PER_PAGE = 4
"""... but never more than this many for each page of a group."""
PARTNERS_PER_PAGE = 20
"""Of the earlier pages of its group that a page duplicates, at most so many are paired with it."""

_BLOCK_CELLS = 4_000_000
_TOKEN = re.compile(r"\w\w+")  # finds what scikit-learn's default, \b\w\w+\b, finds: a match starts where a word does

Score = tuple[str, str, float]


def term_frequencies(texts: Iterable[str]) -> csr_matrix:
    """Count the words of each text, lower-cased: (texts, words) sparse float64, rows scaled to length 1.

    A text without words has a row of zeros: its cosine with anything, itself included, is 0.

    Raises
    ------
    MissingExtraError
        If SciPy is not installed.
    """
    sparse = _sparse()
    vocabulary: defaultdict[str, int] = defaultdict(count().__next__)
    columns = array("i")
    ends = array("q", [0])
    for text in texts:
        columns.extend(map(vocabulary.__getitem__, _TOKEN.findall(text.lower())))
        ends.append(len(columns))
    shape = (len(ends) - 1, max(len(vocabulary), 1))
    matrix = sparse.csr_matrix((np.ones(len(columns)), np.array(columns, np.int32), np.array(ends)), shape)
    matrix.sum_duplicates()
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    lengths[lengths == 0] = 1
    matrix.data /= np.repeat(lengths, np.diff(matrix.indptr))
    return matrix


def group_scores(rows: csr_matrix) -> npt.NDArray[np.float64]:
    """Cosine of every two rows of :func:`term_frequencies`: (k, k), 0-1."""
    return np.asarray((rows @ rows.T).toarray())


def referrer_groups(pages: Sequence[LabelledPage]) -> Iterator[npt.NDArray[np.int64]]:
    """Positions of each page that has links and of the pages first found on it, those with text; ascending."""
    position = {page.url: index for index, page in enumerate(pages)}
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for index, page in enumerate(pages):
        if page.referrer is not None and page.main_text:
            groups[page.referrer].append(index)
    for referrer, members in groups.items():
        parent = position.get(referrer)
        if parent is not None and pages[parent].main_text:
            members.append(parent)
        if len(members) > 1:
            yield np.unique(members)


def score_pairs(pages: Iterable[LabelledPage], *, seed: int = 0) -> Iterator[Score]:
    """Score the pairs of each referrer group: all duplicates, and a sample of the others.

    Parameters
    ----------
    pages
        In crawl order, with their main texts, which are counted as they come and not kept.
    seed
        Of the sample.

    Yields
    ------
    (url1, url2, score)
        *url1* was crawled before *url2*; score 0-1. A pair is scored once, in its referrer's group. Every page whose
        text another page of its group has is paired with the first of these; of two different texts a pair is given
        when it scores 0.99 or more (up to 20 earlier partners a page), or in 5 % of the other cases (up to 4 a
        page, on average). So the number of scores grows with the number of pages, not with its square.

    Raises
    ------
    MissingExtraError
        If SciPy is not installed.
    """
    held, rows, matrix = _counted(pages)
    generator = np.random.default_rng(seed)
    for group in referrer_groups(held):
        distinct, first, member_of = np.unique(rows[group], return_index=True, return_inverse=True)
        for member, owner in enumerate(first[member_of]):
            if owner != member:
                yield held[group[owner]].url, held[group[member]].url, 1.0
        by_crawl = np.argsort(first)
        yield from _distinct_scores(held, group[first[by_crawl]], matrix[distinct[by_crawl]], generator)


def duplicate_groups(pages: Iterable[LabelledPage]) -> Iterator[list[int]]:
    """Positions of the pages of a referrer group that pairs with a score of 0.99 or more connect, two or more."""
    held, rows, matrix = _counted(pages)
    for group in referrer_groups(held):
        members_of: defaultdict[int, list[int]] = defaultdict(list)
        for position in group.tolist():
            members_of[int(rows[position])].append(position)
        labels = _connected(matrix[list(members_of)])
        connected: defaultdict[int, list[int]] = defaultdict(list)
        for label, members in zip(labels, members_of.values(), strict=True):
            connected[label].extend(members)
        yield from (sorted(members) for members in connected.values() if len(members) > 1)


def _counted(pages: Iterable[LabelledPage]) -> tuple[list[LabelledPage], npt.NDArray[np.int64], csr_matrix]:
    """Pages with ``x`` for a text, the row of each page's text, and the word frequencies of the different texts."""
    held: list[LabelledPage] = []
    rows: list[int] = []
    row_of: dict[int, int] = {}

    def different_texts() -> Iterator[str]:
        for page in pages:
            held.append(replace(page, main_text=page.main_text and "x"))
            text = xxhash.xxh3_128_intdigest(page.main_text.encode("utf-8", "surrogatepass"))
            is_new = text not in row_of
            rows.append(row_of.setdefault(text, len(row_of)))
            if is_new:
                yield page.main_text

    matrix = term_frequencies(different_texts())
    return held, np.array(rows, np.int64), matrix


def _connected(rows: csr_matrix) -> list[int]:
    """Number of the component of each row (k, words); rows with a cosine of 0.99 or more are connected."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    k = rows.shape[0]
    labels = np.arange(k)
    n_rows = max(1, _BLOCK_CELLS // k)
    for start in range(0, k, n_rows):
        block = np.asarray((rows[start : start + n_rows] @ rows.T).toarray())  # (block, k)
        left, right = np.nonzero(block >= DUPLICATE_SCORE)
        left, right = np.append(left + start, np.arange(k)), np.append(right, labels)
        edges = coo_matrix((np.ones(len(left), np.int8), (left, right)), (k, k))
        labels = _first_of_each(connected_components(edges, directed=False)[1])
    return [int(label) for label in labels]


def _first_of_each(components: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """The first row of each row's component."""
    _, first, member_of = np.unique(components, return_index=True, return_inverse=True)
    return first[member_of].astype(np.int64)


def _distinct_scores(
    pages: Sequence[LabelledPage], members: npt.NDArray[np.int64], rows: csr_matrix, generator: np.random.Generator
) -> Iterator[Score]:
    """Scores of the pages *members* (k,), whose texts *rows* (k, words) all differ; a block of rows at a time."""
    k = len(members)
    share = min(SAMPLED_SHARE, 2 * SAMPLED_PER_PAGE / max(k - 1, 1))
    n_rows = max(1, _BLOCK_CELLS // k)
    for start in range(0, k, n_rows):
        stop = min(start + n_rows, k)
        block = np.asarray((rows[start:stop] @ rows[:stop].T).toarray())  # (block, stop)
        is_earlier = np.arange(stop) < np.arange(start, stop)[:, None]
        is_duplicate = is_earlier & (block >= DUPLICATE_SCORE)
        is_kept = is_duplicate & (np.cumsum(is_duplicate, axis=1) <= PARTNERS_PER_PAGE)
        is_sampled = is_earlier & ~is_duplicate & (generator.random(block.shape) < share)
        for row, column in np.argwhere(is_kept | is_sampled).tolist():
            score = min(float(block[row, column]), 1.0)
            yield pages[members[column]].url, pages[members[start + row]].url, score


def _sparse() -> Any:
    try:
        from scipy import sparse
    except ImportError:
        raise MissingExtraError("Scoring pages by cosine", "scipy", "train") from None
    return sparse
