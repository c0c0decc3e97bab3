"""The labellers of the two works that this program builds on, as they describe them, to compare with.

- ``cosine``: lazem/MLND-Capstone. The paragraphs of jusText, lower-cased, as vectors of word counts; pages found on
  one page, and that page, are the same when their cosine is at least 0.99.
- ``simhash``: K. Xu, Z. Liu, J. Callan, SIGIR 2017, after Manku et al., WWW 2007.
  64-bit simhash; pages of one title within 3 bits are the same. The features are not told: here words, with counts.

In both the clusters are what the pairs connect, and redirects join what they lead to.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from dedup_crawler.labels.clusters import cluster_redirects
from dedup_crawler.labels.cosine import DUPLICATE_SCORE, duplicate_groups
from dedup_crawler.labels.joins import Clustering
from dedup_crawler.labels.layout import Pages
from dedup_crawler.labels.simhash import near_duplicate_pairs

MAX_DISTANCE = 3
"""Bits; the threshold of Manku et al. and of SIGIR'17."""


def cluster_by_cosine(pages: Pages) -> Clustering:
    """Cluster as the capstone does; needs SciPy."""
    clustering = cluster_redirects(pages())
    for members in duplicate_groups(pages()):
        for member in members[1:]:
            clustering.join(members[0], member, f"cosine >= {DUPLICATE_SCORE} among the pages found on one page")
    return clustering


def cluster_by_simhash(pages: Pages) -> Clustering:
    """Cluster as SIGIR'17 does: pages without a fingerprint, which have hardly any text, stay alone."""
    clustering = cluster_redirects(pages())
    of_title: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for position, page in enumerate(pages()):
        if page.simhash is not None:
            of_title[page.title].append((position, page.simhash))
    for hashed in of_title.values():
        positions, fingerprints = zip(*hashed, strict=True)
        for left, right in near_duplicate_pairs(np.array(fingerprints, np.uint64), MAX_DISTANCE).tolist():
            reason = f"the same title and simhashes within {MAX_DISTANCE} bits"
            clustering.join(positions[left], positions[right], reason)
    return clustering
