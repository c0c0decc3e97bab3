"""Digests in little memory: a hash table from digests to small integers, a Bloom filter, and a set of URLs.

The table is packed into byte strings, about 30 bytes per entry. Linear hashing: the table grows by splitting one bucket
at a time, so no insertion is slow. The filter skips the look-up of forms that are surely not in a file (B. H. Bloom,
CACM 13(7), 1970). It has one hash function: with a million digests in it, the rate of false positives is 3 %; with ten
million 26 %. Python's own keyed hash chooses buckets and bits, and stands for URLs: an attacker cannot predict it.
"""

from __future__ import annotations

from collections.abc import Iterable

from dedup_crawler.live.seen.protocol import DIGEST_SIZE

_MAX_URLS = 200_000
_VALUE_SIZE = 6
_SIZE = DIGEST_SIZE + _VALUE_SIZE
_ENTRIES_PER_BUCKET = 16
_N_FIRST_BUCKETS = 16

MAX_VALUE = (1 << 8 * _VALUE_SIZE) - 1

N_RUNS = (1 << 15) - 1
"""Runs are numbered from 1 to this, then from 1 again, so that a packed owner fits into 47 bits."""

OWNER_MASK = 0xFFFF
"""The bits of an owner's tag that are kept, to save memory."""
_N_BITS = 1 << 25  # 4 MiB
_MASK = _N_BITS - 1


def pack(run: int, rules: int, owner: int) -> int:
    """Pack the owner of a form into an integer: its run, its rules, and its tag under :data:`OWNER_MASK`.

    >>> unpack(pack(3, 65535, 17))
    (3, 65535, 17)
    """
    return run << 32 | rules << 16 | owner & OWNER_MASK


def unpack(value: int) -> tuple[int, int, int]:
    """Return run, rules and owner of a packed integer."""
    return value >> 32, value >> 16 & 0xFFFF, value & OWNER_MASK


class DigestTable:
    """16-byte digest -> integer of 0 to :data:`MAX_VALUE`."""

    def __init__(self) -> None:
        self._n = 0
        self._mask = _N_FIRST_BUCKETS - 1  # for the buckets that were not split in this round
        self._n_split = 0
        self._buckets = [bytearray() for _ in range(_N_FIRST_BUCKETS)]

    def __len__(self) -> int:
        return self._n

    def get(self, digest: bytes) -> int | None:
        """Return the value of *digest*, if it has one."""
        bucket = self._bucket(digest)
        place = _find(bucket, digest)
        if place < 0:
            return None
        return int.from_bytes(bucket[place + DIGEST_SIZE : place + _SIZE], "little")

    def put(self, digest: bytes, value: int) -> None:
        """Set the value of *digest*."""
        bucket = self._bucket(digest)
        place = _find(bucket, digest)
        if place >= 0:
            bucket[place + DIGEST_SIZE : place + _SIZE] = value.to_bytes(_VALUE_SIZE, "little")
        else:
            bucket += digest + value.to_bytes(_VALUE_SIZE, "little")
            self._n += 1
            if self._n > _ENTRIES_PER_BUCKET * len(self._buckets):
                self._split()

    def discard(self, digest: bytes) -> None:
        """Remove *digest*; the table keeps its size."""
        bucket = self._bucket(digest)
        place = _find(bucket, digest)
        if place >= 0:
            bucket[place : place + _SIZE] = bucket[-_SIZE:]
            del bucket[-_SIZE:]
            self._n -= 1

    def _bucket(self, digest: bytes) -> bytearray:
        key = hash(digest)
        number = key & self._mask
        if number < self._n_split:
            number = key & (2 * self._mask + 1)
        return self._buckets[number]

    def _split(self) -> None:
        """Move entries of the next bucket to a new one, by one more bit of their hash."""
        whole = bytes(self._buckets[self._n_split])
        bit = self._mask + 1
        entries = [whole[place : place + _SIZE] for place in range(0, len(whole), _SIZE)]
        self._buckets[self._n_split] = bytearray().join(
            [each for each in entries if not hash(each[:DIGEST_SIZE]) & bit]
        )
        self._buckets.append(bytearray().join([each for each in entries if hash(each[:DIGEST_SIZE]) & bit]))
        self._n_split += 1
        if self._n_split > self._mask:
            self._mask = 2 * self._mask + 1
            self._n_split = 0


def _find(bucket: bytearray, digest: bytes) -> int:
    """Return the place of the entry of *digest*, or -1; matches across two entries do not count."""
    place = bucket.find(digest)
    while place > 0 and place % _SIZE:
        place = bucket.find(digest, place + 1)
    return place


class BloomFilter:
    """A set of digests with false positives, but no false negatives."""

    def __init__(self) -> None:
        self._bits = bytearray(_N_BITS >> 3)

    def add(self, digests: Iterable[bytes]) -> None:
        """Add all *digests*."""
        bits = self._bits
        for digest in digests:
            bit = hash(digest) & _MASK
            bits[bit >> 3] |= 1 << (bit & 7)

    def among(self, digests: Iterable[bytes]) -> list[bytes]:
        """Return those *digests*, in order, that may have been added; all others were not."""
        bits = self._bits
        return [each for each in digests if bits[(hash(each) & _MASK) >> 3] >> (hash(each) & 7) & 1]


class UrlSet:
    """A set of URLs by hash; it is cleared when it grows too large."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def __contains__(self, url: str) -> bool:
        return hash(url) in self._hashes

    def add(self, url: str) -> None:
        """Add a URL."""
        if len(self._hashes) >= _MAX_URLS:
            self._hashes.clear()
        self._hashes.add(hash(url))

    def discard(self, url: str) -> None:
        """Remove a URL."""
        self._hashes.discard(hash(url))

    def clear(self) -> None:
        """Remove all URLs."""
        self._hashes.clear()
