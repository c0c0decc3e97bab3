"""The labeller of SIGIR'17: pages with the same title are the same if their simhashes differ in at most three bits.

K. Xu, Z. Liu, J. Callan, SIGIR 2017, after G. S. Manku, A. Jain, A. Das Sarma, WWW 2007, and M. Charikar, STOC 2002.
They do not name the features; we use words with counts. The package ``simhash`` finds similar fingerprints. We make the
same fingerprints as the package, with the hashes of words remembered.
"""

from __future__ import annotations

import hashlib
import logging
from collections import defaultdict
from typing import Any

import numpy as np

from dedup_crawler.errors import MissingExtraError
from dedup_crawler.labels.joins import Clustering, cluster_without_text
from dedup_crawler.labels.layout import Pages
from dedup_crawler.labels.lines import split_words

MAX_DISTANCE = 3
"""Largest number of different bits, as in Manku et al. and SIGIR'17."""
MIN_WORDS = 30
"""Smallest number of words of a text with a fingerprint: in a shorter text, one changed word changes too many bits."""

_BITS = 64
_BATCH_WORDS = 10_000  # words whose bits are in memory at a time
_MAX_KNOWN = 100_000  # words whose hashes are remembered
_MAX_LENGTH = 40  # letters of such a word

_log = logging.getLogger(__name__)
_log.setLevel(logging.ERROR)  # the package warns about each fingerprint with many similar ones


def fingerprint(text: str) -> int | None:
    """64-bit simhash of the lower-case words of a text, with counts; None for a text of too few words.

    Words find more true near-duplicates than shingles.
    """
    words = split_words(text.lower())
    if len(words) < MIN_WORDS:
        return None
    n_set = np.zeros(_BITS, np.int64)
    for start in range(0, len(words), _BATCH_WORDS):
        hashes = b"".join(map(_hash_of.__getitem__, words[start : start + _BATCH_WORDS]))
        n_set += np.unpackbits(np.frombuffer(hashes, np.uint8)).reshape(-1, _BITS).sum(0, np.int64)  # (words, 64)
    return int.from_bytes(np.packbits(n_set > len(words) / 2).tobytes(), "big")


class _WordHashes(dict[str, bytes]):
    """Word -> its hash of 64 bits, the end of its MD5 as in the package ``simhash``; most words come again."""

    def __missing__(self, word: str) -> bytes:
        found = hashlib.md5(word.encode(), usedforsecurity=False).digest()[-_BITS // 8 :]
        if len(word) <= _MAX_LENGTH:
            if len(self) >= _MAX_KNOWN:
                self.clear()
            self[word] = found
        return found


_hash_of = _WordHashes()


def cluster_by_simhash(pages: Pages) -> Clustering:
    """Cluster as SIGIR'17 does; pages without a fingerprint stay alone."""
    package = simhash_package()
    clustering = cluster_without_text(pages())
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
