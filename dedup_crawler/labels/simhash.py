"""64-bit simhash of a text's features, and all pairs of fingerprints that differ in few bits.

M. Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002 (the fingerprint);
G. S. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007 (3 of 64 bits, the search).

The fingerprints have exactly the values of the PyPI package ``simhash`` for the same features and weights with its
default hash (the last 8 bytes of MD5). Two things differ, and only in speed: a feature is hashed once a run, and the
weighted vote over its 64 bits is one product per text.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dedup_crawler.errors import BadInputError, EmptyTextError

Fingerprints = npt.NDArray[np.uint64]

N_BITS = 64
MAX_DISTANCE = 7
"""Largest distance (bits) that is searched for: with more blocks than 8 a block of bits says too little."""

_MEMO_SIZE = 1_000_000


class _FeatureHashes(dict[str, bytes]):
    """Feature -> its hash (8 bytes), computed at the first look-up; forgets all when it holds a million features."""

    def __missing__(self, feature: str) -> bytes:
        if len(self) >= _MEMO_SIZE:
            self.clear()
        digest = hashlib.md5(feature.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()[-8:]
        self[feature] = digest
        return digest


_hashes = _FeatureHashes()


def simhash(weights: Mapping[str, float]) -> int:
    """Fingerprint a text so that similar texts differ in few bits.

    Parameters
    ----------
    weights
        Feature -> weight (a count, or any number > 0); not empty.

    Returns
    -------
    int
        64 bits, 0 <= value < 2**64. Compare with :func:`hamming_distance` (bits, 0-64); 3 bits is the threshold of
        Manku et al. for 8e9 pages.

    Raises
    ------
    EmptyTextError
        If *weights* is empty: an empty page is a duplicate of nothing.
    """
    if not weights:
        raise EmptyTextError("simhash() got no features: an empty text has no fingerprint")
    n_features = len(weights)
    hashed = np.frombuffer(b"".join(map(_hashes.__getitem__, weights)), dtype=np.uint8).reshape(n_features, 8)
    bits = np.unpackbits(hashed, axis=1)  # (features, 64)
    votes = np.fromiter(weights.values(), dtype=np.float64, count=n_features)
    # A bit is set when the features that have it outweigh the others; a tie leaves it unset, as the package does.
    is_set = votes @ bits > votes.sum() / 2  # (64,)
    return int.from_bytes(np.packbits(is_set).tobytes(), "big")


def simhash_many(texts: Iterable[Mapping[str, float]]) -> Fingerprints:
    """Fingerprint many texts: (n,) uint64, in the order of *texts*; see :func:`simhash`."""
    return np.fromiter((simhash(weights) for weights in texts), dtype=np.uint64)


def hamming_distance(left: int, right: int) -> int:
    """Count the bits in which two fingerprints differ (0-64)."""
    return (int(left) ^ int(right)).bit_count()


def near_duplicate_pairs(fingerprints: Fingerprints, max_distance: int = 3) -> npt.NDArray[np.int64]:
    """Find all fingerprints that differ in few bits.

    Parameters
    ----------
    fingerprints
        (n,) uint64.
    max_distance
        Bits, 0-7.

    Returns
    -------
    array
        (pairs, 2) int64 positions, left < right, sorted. Every pair of *different* fingerprints within
        *max_distance* is given once, by the first position of each; an equal fingerprint is paired only with the
        first position that has it, so that n copies give n - 1 pairs. The transitive closure is that of all pairs.

    Raises
    ------
    BadInputError
        If *max_distance* is out of range.

    Notes
    -----
    The bits are cut into ``max_distance + 1`` blocks; of two fingerprints that differ in fewer bits than there are
    blocks at least one block is equal (Manku et al., section 3). Each block is sorted on in turn, and only
    neighbours with an equal block are compared.
    """
    if not 0 <= max_distance <= MAX_DISTANCE:
        raise BadInputError(f"max_distance = {max_distance}: give a number of bits from 0 to {MAX_DISTANCE}")
    values, first, member_of = np.unique(np.asarray(fingerprints, np.uint64), return_index=True, return_inverse=True)
    positions = np.arange(len(member_of))
    first_position = first[member_of]
    is_copy = first_position != positions
    copies = np.stack([first_position[is_copy], positions[is_copy]], axis=1)
    between = first[_pairs_of_distinct(values, max_distance)]
    pairs = np.concatenate([copies, np.sort(between, axis=1)]).astype(np.int64)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _pairs_of_distinct(values: Fingerprints, max_distance: int) -> npt.NDArray[np.int64]:
    """Positions (pairs, 2) of distinct *values* within *max_distance* bits, each pair once."""
    n = len(values)
    found: list[npt.NDArray[np.int64]] = []
    edges = [N_BITS * block // (max_distance + 1) for block in range(max_distance + 2)]
    for low, high in itertools.pairwise(edges):
        mask = (1 << (high - low)) - 1
        # the narrowest type: NumPy sorts 16-bit integers by radix
        keys = ((values >> np.uint64(low)) & np.uint64(mask)).astype(np.min_scalar_type(mask))
        order = np.argsort(keys, kind="stable")
        found.extend(_close_neighbours(values[order], keys[order], order, max_distance))
    if not found:
        return np.empty((0, 2), np.int64)
    codes = np.unique(np.concatenate(found))
    return np.stack([codes // n, codes % n], axis=1)


def _close_neighbours(
    values: Fingerprints, keys: npt.NDArray[np.unsignedinteger[Any]], order: npt.NDArray[np.int64], max_distance: int
) -> Iterable[npt.NDArray[np.int64]]:
    """Compare each value with those after it that share its key, one step further each round; memory stays O(n)."""
    n = len(values)
    left = np.arange(n)
    for step in range(1, n):
        left = left[left < n - step]
        left = left[keys[left] == keys[left + step]]
        if not len(left):
            return
        is_close = np.bitwise_count(values[left] ^ values[left + step]) <= max_distance
        one, other = order[left[is_close]], order[left[is_close] + step]
        yield np.minimum(one, other) * n + np.maximum(one, other)
