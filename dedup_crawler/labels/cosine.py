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
from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

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


def term_frequencies(texts: Sequence[str]) -> csr_matrix:
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
    shape = (len(texts), max(len(vocabulary), 1))
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


def score_pairs(pages: Sequence[LabelledPage], *, seed: int = 0) -> Iterator[Score]:
    """Score the pairs of each referrer group: all duplicates, and a sample of the others.

    Parameters
    ----------
    pages
        In crawl order, with their main texts.
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
    texts = list(dict.fromkeys(page.main_text for page in pages))
    row_of = {text: row for row, text in enumerate(texts)}
    rows = np.array([row_of[page.main_text] for page in pages], np.int64)
    matrix = term_frequencies(texts)
    generator = np.random.default_rng(seed)
    for group in referrer_groups(pages):
        distinct, first, member_of = np.unique(rows[group], return_index=True, return_inverse=True)
        for member, owner in enumerate(first[member_of]):
            if owner != member:
                yield pages[group[owner]].url, pages[group[member]].url, 1.0
        by_crawl = np.argsort(first)
        yield from _distinct_scores(pages, group[first[by_crawl]], matrix[distinct[by_crawl]], generator)


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
