"""Texts as vectors of word counts: counted once, kept in a file, fetched for the few that are compared at a time.

The vectors of a crawl would be nearly as large as its texts. So only the place of each is kept in memory; the words are
known by 64-bit hashes, for a vocabulary grows with the crawl too.
"""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash

from dedup_crawler.errors import MissingExtraError
from dedup_crawler.labels.comparing import word_counts

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MEMO_SIZE = 200_000
"""Words whose hashes are remembered, at most; some 25 MB."""
MEMORY_BYTES = 16_000_000
"""Vectors up to this size in all are kept in memory; more go to a temporary file, 12 bytes a word."""

_BYTES = 12
_NO_WORDS = np.empty(0, np.uint64)
_NO_COUNTS = np.empty(0, np.uint32)


class WordVector(NamedTuple):
    """The different words of a text, of two characters or more, as scikit-learn's ``CountVectorizer`` takes them."""

    words: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.uint32]


class _Hashes(dict[str, bytes]):
    """Word -> 64-bit hash (8 bytes), the same in every run; zero for a word of one character."""

    def __missing__(self, word: str) -> bytes:
        if len(self) >= MEMO_SIZE:
            self.clear()
        found = xxhash.xxh3_64_digest(word.encode("utf-8", "surrogatepass")) if len(word) > 1 else bytes(8)
        self[word] = found
        return found


_hashes = _Hashes()


def word_vector(text: str) -> WordVector:
    """Count the words of a text, lower-cased."""
    return vector_of(word_counts(text))


def vector_of(counted: Mapping[str, int]) -> WordVector:
    """The vector of counted words (:func:`~dedup_crawler.labels.comparing.word_counts`)."""
    words = np.frombuffer(b"".join(map(_hashes.__getitem__, counted)), np.uint64)
    counts = np.fromiter(counted.values(), np.uint32, len(counted))
    is_long = words != 0
    return WordVector(words[is_long], counts[is_long])


def unit_rows(vectors: Sequence[WordVector]) -> csr_matrix:
    """One row of length 1 a vector: (vectors, words that occur) sparse float64; a vector without words gives zeros.

    Raises
    ------
    MissingExtraError
        If SciPy is not installed.
    """
    sparse = _sparse()
    sizes = np.array([len(vector.words) for vector in vectors], np.int64)
    words, columns = np.unique(np.concatenate([_NO_WORDS, *(each.words for each in vectors)]), return_inverse=True)
    counts = np.concatenate([_NO_COUNTS, *(each.counts for each in vectors)]).astype(np.float64)
    lengths = np.sqrt(np.bincount(np.repeat(np.arange(len(sizes)), sizes), counts * counts, len(sizes)))
    data = counts / np.repeat(lengths, sizes)
    ends = np.append(0, np.cumsum(sizes))
    return sparse.csr_matrix((data, columns.astype(np.int32), ends), (len(sizes), max(len(words), 1)))


class TextVectors:
    """The vectors of different texts, each counted once; a context manager. In memory are some 100 bytes a text."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(MEMORY_BYTES)  # noqa: SIM115 - closed by __exit__
        self._ends = array("q", [0])
        self._numbers: dict[bytes, int] = {}

    def __enter__(self) -> TextVectors:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()

    def number(self, text: str, vector: WordVector | None = None) -> int:
        """Number of a text: 0, 1, ... as they come; a new one is counted, unless its *vector* is given.

        All texts come before the first vector is fetched.
        """
        digest = xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass"))
        number = self._numbers.setdefault(digest, len(self._numbers))
        if number == len(self._ends) - 1:
            vector = word_vector(text) if vector is None else vector
            self._file.write(vector.words.tobytes() + vector.counts.tobytes())
            self._ends.append(self._ends[-1] + len(vector.words))
        return number

    def n_words(self, text: int) -> int:
        """Different words of a text."""
        return self._ends[text + 1] - self._ends[text]

    def fetch(self, texts: Iterable[int]) -> list[WordVector]:
        """The vectors of some texts."""
        return [self._read(text) for text in texts]

    def _read(self, text: int) -> WordVector:
        n = self.n_words(text)
        self._file.seek(_BYTES * self._ends[text])
        content = self._file.read(_BYTES * n)
        return WordVector(np.frombuffer(content, np.uint64, n), np.frombuffer(content, np.uint32, n, 8 * n))


def _sparse() -> Any:
    try:
        from scipy import sparse
    except ImportError:
        raise MissingExtraError("Scoring pages by cosine", "scipy", "learn") from None
    return sparse
