"""The labeller of SIGIR'17: pages with the same title are the same if their simhashes differ in at most three bits.

K. Xu, Z. Liu, J. Callan, SIGIR 2017, after G. S. Manku, A. Jain, A. Das Sarma, WWW 2007, and M. Charikar, STOC 2002.
They do not name the features; we use words with counts. The package ``simhash`` makes the fingerprints and finds
similar ones.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import Any

from dedup_crawler.errors import MissingExtraError
from dedup_crawler.labels.joins import Clustering, cluster_without_text
from dedup_crawler.labels.layout import Pages
from dedup_crawler.labels.lines import split_words

MAX_DISTANCE = 3
"""Largest number of different bits, as in Manku et al. and SIGIR'17."""
MIN_WORDS = 30
"""Smallest number of words of a text with a fingerprint: in a shorter text, one changed word changes too many bits."""

_log = logging.getLogger(__name__)
_log.setLevel(logging.ERROR)  # the package warns about each fingerprint with many similar ones


def fingerprint(text: str) -> int | None:
    """64-bit simhash of the lower-case words of a text, with counts; None for a text of too few words.

    Words find more true near-duplicates than shingles. MissingExtraError if the package ``simhash`` is not installed.
    """
    words = split_words(text.lower())
    return int(simhash_package().Simhash(words).value) if len(words) >= MIN_WORDS else None


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
