"""All (prefix, suffix) envelopes of a list of URLs, as 64-bit hashes, without making a single substring.

An *envelope* is what stands around a substring of whole tokens: URLs that agree in one differ in what it encloses. The
n tokens of a URL have about n S of them with up to S tokens inside, 41 million for 50,000 long URLs, so they are never
held as texts: tokens are hashed once, and the hash of any run of tokens is a difference of two prefix sums (a
polynomial over the tokens modulo 2**64; the sums go over the whole list, and a difference is shifted back by the
inverse power of where its run starts).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import xxhash

from dedup_crawler.rules.substring_rule import END, START, split_tokens

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]

BLOCK = 2**20
"""Tokens that are looked at at once."""
_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse
_INVERSE = pow(_BASE, -1, 2**64)
_SUFFIX, _ENDING, _MIX_1, _MIX_2 = (
    np.uint64(n) for n in (0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


class TokenTable:
    """The tokens of all URLs in one row, with start and end marks.

    Parameters
    ----------
    rests
        Path and query of each URL.
    kinds
        URLs of two kinds (schemes) have no envelope in common.
    """

    def __init__(self, rests: Sequence[str], kinds: Sequence[str]) -> None:
        hashes: dict[str, int] = {}
        codes = array("Q")
        self.tokens: list[str] = []
        n_tokens: list[int] = []
        for rest, kind in zip(rests, kinds, strict=True):
            tokens = [START, *split_tokens(rest), END]
            self.tokens += tokens
            for token in tokens:
                code = hashes.get(token)
                if code is None:
                    code = hashes[token] = xxhash.xxh3_64_intdigest(token.encode())
                codes.append(code)
            codes[-len(tokens)] = xxhash.xxh3_64_intdigest(kind.encode())  # a start mark is never replaced alone
            n_tokens.append(len(tokens))
        n = len(codes)
        lengths: Places = np.array(n_tokens, np.int64)
        self.owners: Places = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
        """URL of each token."""
        self._end_of: Places = np.repeat(np.cumsum(lengths), lengths)
        self._start_of: Places = self._end_of - np.repeat(lengths, lengths)
        self._inverses = _powers(_INVERSE, n + 1)
        sums = np.zeros(n + 1, np.uint64)
        np.cumsum(np.frombuffer(codes, np.uint64) * _powers(_BASE, n), out=sums[1:])
        self._sums = sums

    def run_hash(self, starts: Places, ends: Places) -> Hashes:
        """Hashes of the runs of tokens from *starts* to *ends* (exclusive), each within one URL."""
        return (self._sums[ends] - self._sums[starts]) * self._inverses[starts]

    def n_before(self, places: Places) -> Places:
        """How many tokens of its URL, the start mark included, stand before each token."""
        return places - self._start_of[places]

    def n_envelopes(self, max_tokens: int) -> int:
        """How many envelopes there are, about."""
        return int(np.minimum(self._end_of - np.arange(len(self._end_of)), max_tokens + 1).sum())

    def envelopes(self, max_tokens: int, n_parts: int, part: int) -> Iterator[tuple[Hashes, Places, int]]:
        """Envelopes with the same number of tokens inside: their hashes, where the inside starts, and that number.

        Of *n_parts* parts only one is given; equal envelopes are in the same part.
        """
        n = len(self._end_of)
        for begin in range(0, n, BLOCK):
            block = np.arange(begin, min(begin + BLOCK, n))
            start_of, end_of = self._start_of[block], self._end_of[block]
            before = self.run_hash(start_of, block)
            for length in range(max_tokens + 1):
                fits = block + length <= end_of
                # neither an empty inside before the start mark nor the URL as a whole
                fits &= (block > start_of) | ((length > 0) & (length < end_of - start_of))
                if not fits.any():
                    break
                inside = block[fits]
                behind = self.run_hash(inside + length, end_of[fits])
                hashes = mixed(before[fits], behind)
                if n_parts > 1:
                    chosen = hashes % np.uint64(n_parts) == np.uint64(part)
                    hashes, inside = hashes[chosen], inside[chosen]
                yield hashes, inside, length


def mixed(left: Hashes, right: Hashes) -> Hashes:
    """One hash for two, in this order."""
    value: Hashes = left ^ (right * _SUFFIX + _ENDING)
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    value ^= value >> np.uint64(31)
    return value


def _powers(base: int, n: int) -> Hashes:
    powers = np.full(n, base, np.uint64)
    powers[:1] = 1
    np.multiply.accumulate(powers, out=powers)
    return powers
