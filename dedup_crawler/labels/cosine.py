"""Cosine scores of the pages found on one page: the labels of the capstone, one sparse product a group.

The capstone (lazem/MLND-Capstone) compares each page with the pages linked on it and those with each other: vectors of
word counts, cosine, 0.99 or more means duplicate. It fits a vectoriser for each pair. Here the words of each text are
counted once; the vectors of a group, scaled to length 1, are the rows of a sparse matrix, and its scores the product of
these rows with themselves. The scores are those of scikit-learn's ``CountVectorizer`` and ``cosine_similarity``.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain, takewhile
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dedup_crawler.labels.vectors import TextVectors, unit_rows, word_vector
from dedup_crawler.pages.records import LabelledPage

if TYPE_CHECKING:
    from types import TracebackType

    from scipy.sparse import csr_matrix

DUPLICATE_SCORE = 0.99
"""The capstone's threshold."""
PARTNERS_PER_PAGE = 50
"""A page is paired with the first so many of its group that it duplicates: all pairs of up to 51 duplicates."""
SAMPLED_SHARE = 0.05
"""Of the pairs below the threshold this share is given too, for a plot of the distribution ..."""
SAMPLED_PER_PAGE = 4
"""... but on average no more than this many for each page of a group."""
PART_PAGES = 1_000
"""A group of more pages is scored in parts, for its time grows with the square of its pages ..."""
PART_WORDS = 4_000_000
"""... and so is one whose different texts have more words, the different ones of each: some 200 MB."""

_BLOCK_CELLS = 4_000_000

Score = tuple[str, str, float]
Positions = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]


def term_frequencies(texts: Iterable[str]) -> csr_matrix:
    """Count the words of each text, lower-cased: (texts, words) sparse float64, rows scaled to length 1.

    A text without words has a row of zeros: its cosine with anything, itself included, is 0.

    Raises
    ------
    MissingExtraError
        If SciPy is not installed.
    """
    return unit_rows([word_vector(text) for text in texts])


def group_scores(rows: csr_matrix) -> Scores:
    """Cosine of every two rows of :func:`term_frequencies`: (k, k), 0-1."""
    return np.asarray((rows @ rows.T).toarray())


def sampled_share(n_pages: int) -> float:
    """The probability with which a pair below the threshold is given, in a group (or part of one) of *n_pages*."""
    return min(SAMPLED_SHARE, 2 * SAMPLED_PER_PAGE / max(n_pages - 1, 1))


def referrer_groups(pages: Iterable[LabelledPage]) -> Iterator[Positions]:
    """Positions of each page that has links and of the pages first found on it, those with text; ascending."""
    position: dict[str, int] = {}
    has_text = bytearray()
    groups: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
    for index, page in enumerate(pages):
        position[page.url] = index
        has_text.append(bool(page.main_text))
        if page.referrer is not None and page.main_text:
            groups[page.referrer].append(index)
    for referrer, members in groups.items():
        parent = position.get(referrer)
        if parent is not None and has_text[parent]:
            members.append(parent)
        if len(members) > 1:
            yield np.unique(members)


def score_pairs(pages: Iterable[LabelledPage], *, seed: int = 0, vectors: TextVectors | None = None) -> Iterator[Score]:
    """Score the pairs of each referrer group: the duplicates, and a sample of the others.

    Parameters
    ----------
    pages
        In crawl order, with their texts, which are counted as they come and not kept.
    seed
        Of the sample.
    vectors
        Of texts that are counted already; the others are added.

    Yields
    ------
    (url1, url2, score)
        *url1* was crawled before *url2*; score 0-1. A pair is scored once, in its referrer's group.

        Of the pairs that score 0.99 or more, equal texts among them, each page is given with the first 50 that were
        crawled before it: all pairs where up to 51 pages are the same. Of the others each is given with the probability
        :func:`sampled_share`: 5 %, in groups of more than 161 pages ``8 / (n_pages - 1)``. So a group has some 54
        scores a page at most, whatever its size.

        A group of more than 1,000 pages, or of very long texts (:data:`PART_WORDS`), is scored in parts, consecutive
        pages each, as if these were groups.

    Raises
    ------
    MissingExtraError
        If SciPy is not installed.

    Notes
    -----
    Memory holds URLs, links and the places of the texts' vectors, and the vectors of one part of a group; those of all
    texts are in a temporary file (:class:`~dedup_crawler.labels.vectors.TextVectors`).
    """
    generator = np.random.default_rng(seed)
    with _CountedPages(pages, vectors) as counted:
        for group in counted.groups:
            for part in counted.parts(group):
                urls = [counted.urls[position] for position in part]
                for left, right, score in _part_scores(counted, part, generator):
                    yield urls[left], urls[right], score


def duplicate_groups(pages: Iterable[LabelledPage]) -> Iterator[list[int]]:
    """Positions of the pages of a referrer group that pairs with a score of 0.99 or more connect, two or more.

    The vectors of a whole group are held at once, for every two of its pages may be connected.
    """
    with _CountedPages(pages) as counted:
        for group in counted.groups:
            members_of: defaultdict[int, list[int]] = defaultdict(list)
            for position in group.tolist():
                members_of[counted.texts[position]].append(position)
            labels = _connected(unit_rows(counted.vectors.fetch(members_of))) if len(members_of) > 1 else [0]
            connected: defaultdict[int, list[int]] = defaultdict(list)
            for label, members in zip(labels, members_of.values(), strict=True):
                connected[label].extend(members)
            yield from (sorted(members) for members in connected.values() if len(members) > 1)


class _CountedPages:
    """What is kept of pages to score them: URLs, referrer groups, which text each has, and the vectors of the texts."""

    def __init__(self, pages: Iterable[LabelledPage], vectors: TextVectors | None = None) -> None:
        self.urls: list[str] = []
        self.texts: array[int] = array("q")
        """Number of each page's text; equal texts have one."""
        with ExitStack() as stack:
            self.vectors = stack.enter_context(TextVectors()) if vectors is None else vectors
            self.groups = list(referrer_groups(self._counted(pages)))
            self._open = stack.pop_all()

    def __enter__(self) -> _CountedPages:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.close()

    def _counted(self, pages: Iterable[LabelledPage]) -> Iterator[LabelledPage]:
        for page in pages:
            self.urls.append(page.url)
            self.texts.append(self.vectors.number(page.main_text))
            yield page

    def parts(self, group: Positions) -> Iterator[list[int]]:
        """Cut a group into stretches of bounded size."""
        part: list[int] = []
        known: set[int] = set()
        n_words = 0
        for position in group.tolist():
            text = self.texts[position]
            n_new_words = 0 if text in known else self.vectors.n_words(text)
            if part and (len(part) == PART_PAGES or n_words + n_new_words > PART_WORDS):
                yield part
                part, known, n_words = [], set(), 0
                n_new_words = self.vectors.n_words(text)
            part.append(position)
            known.add(text)
            n_words += n_new_words
        yield part


def _part_scores(
    counted: _CountedPages, part: list[int], generator: np.random.Generator
) -> Iterator[tuple[int, int, float]]:
    """Left < right, positions in *part*, and their score: the duplicates, then the sample."""
    row_of_text: dict[int, int] = {}
    rows = [row_of_text.setdefault(counted.texts[position], len(row_of_text)) for position in part]
    scores = _text_scores(counted, list(row_of_text))
    partners = _partners(rows, scores >= DUPLICATE_SCORE)
    for right, row in enumerate(rows):
        for left in takewhile(right.__gt__, partners[row]):
            yield left, right, float(scores[rows[left], row])
    n_pairs = len(part) * (len(part) - 1) // 2
    for left, right in _pairs(np.flatnonzero(generator.random(n_pairs) < sampled_share(len(part)))):
        score = float(scores[rows[left], rows[right]])
        if score < DUPLICATE_SCORE:
            yield left, right, score


def _text_scores(counted: _CountedPages, texts: list[int]) -> Scores:
    """Scores of different texts (k, k); exactly 1 of each with itself, unless it has no words."""
    has_words = [counted.vectors.n_words(text) > 0 for text in texts]
    scores = np.zeros((1, 1)) if len(texts) == 1 else group_scores(unit_rows(counted.vectors.fetch(texts)))
    np.fill_diagonal(scores, has_words)
    return np.minimum(scores, 1, out=scores)


def _partners(rows: list[int], is_duplicate: npt.NDArray[np.bool_]) -> list[list[int]]:
    """Of each row the first pages whose text it duplicates: ascending, at most :data:`PARTNERS_PER_PAGE`."""
    pages_of: list[list[int]] = [[] for _ in is_duplicate]
    for page, row in enumerate(rows):
        if len(pages_of[row]) < PARTNERS_PER_PAGE:
            pages_of[row].append(page)
    # rows are in the order of their first pages, so later rows than so many have none of the first
    alike = (np.flatnonzero(row)[:PARTNERS_PER_PAGE].tolist() for row in is_duplicate)
    return [sorted(chain.from_iterable(map(pages_of.__getitem__, each)))[:PARTNERS_PER_PAGE] for each in alike]


def _pairs(codes: Positions) -> Iterator[tuple[int, int]]:
    """Pairs 0 <= left < right by their number: (0, 1), (0, 2), (1, 2), (0, 3), ..."""
    right = ((np.sqrt(8 * codes + 1) + 1) // 2).astype(np.int64)
    left = codes - right * (right - 1) // 2
    return zip(left.tolist(), right.tolist(), strict=True)


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
