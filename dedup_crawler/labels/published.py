"""The labellers of the literature: by the cosine of word counts (the capstone), and by simhash (SIGIR'17).

The capstone (lazem/MLND-Capstone) compares each page with the pages linked on it, and those with each other. The score
is the cosine of their vectors of word counts, and 0.99 or more means duplicate. It fits a vectoriser for each pair.
Here scikit-learn counts the words of each text once, by hashing, and the scores of a group are one matrix product.

K. Xu, Z. Liu, J. Callan, SIGIR 2017, after G. S. Manku, A. Jain, A. Das Sarma, WWW 2007, and M. Charikar, STOC 2002:
pages with the same title are the same if their simhashes differ in at most three bits. They do not name the features;
we use words with counts. The package ``simhash`` makes the fingerprints and finds similar ones.
"""

from __future__ import annotations

import functools
import hashlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dedup_crawler.errors import MissingExtraError
from dedup_crawler.labels.joins import Clustering, cluster_without_text
from dedup_crawler.labels.layout import Pages
from dedup_crawler.labels.lines import digest, split_words
from dedup_crawler.pages.records import LabelledPage

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DUPLICATE_SCORE = 0.99
"""Smallest score (0-1) of a duplicate, as in the capstone."""
PARTNERS_PER_PAGE = 50
"""Most earlier duplicates of its group with which a page is paired."""
SAMPLED_SHARE = 0.05
"""Share (0-1) of the pairs below the threshold that are kept, for a plot of the distribution."""
SAMPLED_PER_PAGE = 4
"""Most sampled pairs for each page of a group, on average."""
PART_PAGES = 1_000
"""Most pages that are scored at once, because the time grows with the square of the pages."""
MAX_DISTANCE = 3
"""Largest number of different bits, as in Manku et al. and SIGIR'17."""
MIN_WORDS = 30
"""Smallest number of words of a text with a fingerprint: in a shorter text, one changed word changes too many bits."""
_MAX_LENGTH = 80  # letters of the longest word of a text whose words are remembered
_BATCH_TEXTS = 500
_log = logging.getLogger(__name__)
_log.setLevel(logging.ERROR)  # the package simhash warns about each fingerprint with many similar ones

Score = tuple[str, str, float]
Positions = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]


class CountedPages(NamedTuple):
    """Pages in crawl order, with the words of their texts."""

    urls: list[str]
    texts: Positions
    """Row of each page's text, (pages,); equal texts have one row, and row 0 is the empty text."""
    rows: csr_matrix
    """Word counts, scaled to length 1, (different texts, hashes of words); zeros for a text without words."""
    groups: list[Positions]
    """Positions of each page with links and the pages first found on it, if they have text; ascending."""


def count_pages(pages: Iterable[LabelledPage]) -> CountedPages:
    """Count the words of pages without keeping the texts; MissingExtraError if scikit-learn is not installed."""
    try:
        from scipy.sparse import vstack
        from sklearn.feature_extraction.text import HashingVectorizer
    except ImportError:
        raise MissingExtraError("Scoring pages by cosine", "scikit-learn", "learn") from None
    position: dict[str, int] = {}
    texts: list[int] = []
    row_of: dict[int, int] = {digest(""): 0}
    members_of: defaultdict[str, list[int]] = defaultdict(list)

    def new_texts() -> Iterator[str]:
        yield ""
        for index, page in enumerate(pages):
            position[page.url] = index
            text = digest(page.main_text)
            if text not in row_of:
                row_of[text] = len(row_of)
                yield page.main_text
            texts.append(row_of[text])
            if page.referrer is not None and page.main_text:
                members_of[page.referrer].append(index)

    vectorizer = HashingVectorizer(alternate_sign=False, dtype=np.float32)  # lower-case words of two or more characters
    waiting, blocks = new_texts(), []
    while batch := [*islice(waiting, _BATCH_TEXTS)]:  # each occurrence of a word takes memory until its batch is done
        blocks.append(vectorizer.transform(batch))
    rows = vstack(blocks, "csr")
    for referrer, members in members_of.items():
        parent = position.get(referrer)
        if parent is not None and texts[parent]:
            members.append(parent)
    groups = [np.unique(members) for members in members_of.values()]
    return CountedPages(list(position), np.array(texts, np.int64), rows, [each for each in groups if len(each) > 1])


def score_pairs(pages: Iterable[LabelledPage]) -> Iterator[Score]:
    """Score the pairs in the group of each referrer: the duplicates, and a sample of the other pairs.

    Yields (url1, url2, score): *url1* was crawled before *url2*, and the score is 0-1. A page is paired with the first
    50 of its duplicates (score 0.99 or more) that were crawled before it. Any other pair is drawn with the probability
    :func:`sampled_share`. So a group has at most about 54 scores for each page. A group of more than 1,000 pages is
    scored in parts of consecutive pages.

    Memory holds URLs, links and 8 bytes for each different word of each different text. MissingExtraError if
    scikit-learn is not installed.
    """
    generator = np.random.default_rng(0)  # the same pages have the same scores
    counted = count_pages(pages)
    for group in counted.groups:
        for start in range(0, len(group), PART_PAGES):
            part = group[start : start + PART_PAGES]
            scores = group_scores(counted, part)  # (k, k), as the masks below
            is_duplicate = np.triu(scores >= DUPLICATE_SCORE, 1)
            is_sampled = np.triu(generator.random(scores.shape) < sampled_share(len(part)), 1) & ~is_duplicate
            is_given = is_duplicate & (np.cumsum(is_duplicate, axis=0) <= PARTNERS_PER_PAGE) | is_sampled
            for right, left in np.argwhere(is_given.T).tolist():
                yield counted.urls[part[left]], counted.urls[part[right]], float(scores[left, right])


def group_scores(counted: CountedPages, positions: Positions) -> Scores:
    """Cosine (0-1) of every two of k pages, (k, k); exactly 1 for equal texts with words."""
    texts, text_of_page = np.unique(counted.texts[positions], return_inverse=True)  # (texts,), (k,)
    rows = _dense_columns(counted.rows[texts])
    scores = np.minimum((rows @ rows.T).toarray(), 1)  # (texts, texts)
    np.fill_diagonal(scores, np.diff(rows.indptr) > 0)
    return np.asarray(scores[np.ix_(text_of_page, text_of_page)])


def sampled_share(n_pages: int) -> float:
    """Probability with which a pair below the threshold is drawn, in a group (or part) of *n_pages*."""
    return min(SAMPLED_SHARE, 2 * SAMPLED_PER_PAGE / max(n_pages - 1, 1))


def cluster_by_cosine(pages: Pages) -> Clustering:
    """Cluster as the capstone does: pages found on one page are the same if pairs of 0.99 or more connect them."""
    counted = count_pages(pages())
    clustering, _ = cluster_without_text(pages())
    for group in counted.groups:
        texts, text_of_page = np.unique(counted.texts[group], return_inverse=True)
        component = _components(_dense_columns(counted.rows[texts]))[text_of_page]
        for number in np.unique(component):
            first, *others = group[component == number].tolist()
            for other in others:
                clustering.join(first, other, f"cosine >= {DUPLICATE_SCORE} among the pages found on one page")
    return clustering


def _components(rows: csr_matrix) -> npt.NDArray[np.int32]:
    """Number of the component of each row, (k,); rows (k, words) with a cosine of 0.99 or more are connected."""
    from scipy.sparse.csgraph import connected_components
    from sklearn.neighbors import radius_neighbors_graph

    if rows.shape[0] == 1:
        return np.zeros(1, np.int32)
    graph = radius_neighbors_graph(rows, 1 - DUPLICATE_SCORE, metric="cosine")
    return np.asarray(connected_components(graph, directed=False)[1])


def _dense_columns(rows: csr_matrix) -> csr_matrix:
    """Leave out columns of zeros, because a product takes time for each column."""
    used, columns = np.unique(rows.indices, return_inverse=True)
    return type(rows)((rows.data, columns, rows.indptr), shape=(rows.shape[0], max(len(used), 1)))


def fingerprint(text: str) -> int | None:
    """64-bit simhash of the lower-case words of a text, with counts; None for a text of too few words.

    Words find more true near-duplicates than shingles. MissingExtraError if the package ``simhash`` is not installed.
    """
    words = split_words(text.lower())
    if len(words) < MIN_WORDS:
        return None
    hash_of = _hash_of if max(map(len, words)) <= _MAX_LENGTH else _hash_of.__wrapped__
    return int(simhash_package().Simhash(words, hashfunc=hash_of).value)


@functools.lru_cache(100_000)  # most words come again, and hashing them is most of the work
def _hash_of(word: bytes) -> bytes:
    """Hash a word as the package ``simhash`` does."""
    return hashlib.md5(word, usedforsecurity=False).digest()


def cluster_by_simhash(pages: Pages) -> Clustering:
    """Cluster as SIGIR'17 does; pages without a fingerprint stay alone."""
    package = simhash_package()
    clustering, _ = cluster_without_text(pages())
    of_title: defaultdict[str, dict[int, int]] = defaultdict(dict)
    reason = f"the same title and simhashes within {MAX_DISTANCE} bits"
    for position, page in enumerate(pages()):
        if page.simhash is not None:
            clustering.join(of_title[page.title].setdefault(page.simhash, position), position, reason)
    for positions in of_title.values():
        hashed = [(str(position), package.Simhash(value)) for value, position in positions.items()]
        index = package.SimhashIndex(hashed, k=MAX_DISTANCE, log=_log)
        for name, value in hashed:
            for near in index.get_near_dups(value):
                clustering.join(int(name), int(near), reason)
    return clustering


def simhash_package() -> Any:
    """Import the package ``simhash``; MissingExtraError if it is not installed."""
    try:
        import simhash
    except ImportError:
        raise MissingExtraError("Fingerprinting the text of pages", "simhash", "learn") from None
    return simhash
