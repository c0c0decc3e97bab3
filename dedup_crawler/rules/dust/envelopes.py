"""All (prefix, suffix) envelopes of a list of URLs, as 64-bit hashes.

An *envelope* is the prefix and suffix around a substring of whole tokens (the *inside*). URLs with the same envelope
differ only inside. A URL of n tokens has about n S envelopes with up to S tokens inside: 41 million for 50,000 long
URLs. So no text is made of them. Each token is hashed once, and the hash of a run of tokens is a difference of two
prefix sums: of a polynomial modulo 2**64, whose power is the place of a token in its URL. A product with an inverse
power makes the hash independent of the place.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash

from dedup_crawler.rules.language.substring_rule import END, START, split_tokens

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
SmallPlaces = npt.NDArray[np.int32]

BLOCK = 2**14
"""Number of tokens in one step: few enough for intermediate results to stay in the cache."""
_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse
_INVERSE = pow(_BASE, -1, 2**64)
_SUFFIX, _ENDING, _MIX_1, _MIX_2 = (
    np.uint64(n) for n in (0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


class Part(NamedTuple):
    """Part of the envelopes: those that start at some tokens, and belong to one class by their suffix."""

    starts: Places
    """Places of the first tokens inside."""
    n_classes: int
    number: int
    """Number of the class: the number of tokens behind the inside, modulo *n_classes*."""


class TokenTable:
    """The tokens of all URLs in one row of n entries, with a start mark and an end mark for each URL.

    Parameters
    ----------
    rests
        Path and query of each URL.
    kinds
        Scheme of each URL; URLs of different schemes have no envelope in common.
    """

    def __init__(self, rests: Sequence[str], kinds: Sequence[str]) -> None:
        number_of: dict[str, int] = defaultdict(count().__next__)
        self._numbers = array("i")
        n_tokens = array("i")
        for rest in rests:
            before = len(self._numbers)
            self._numbers.extend(map(number_of.__getitem__, (START, *split_tokens(rest), END)))
            n_tokens.append(len(self._numbers) - before)
        self._words = list(number_of)
        n = len(self._numbers)
        lengths: Places = np.array(n_tokens, np.int64)  # (URLs,)
        codes = _hashed(self._words)[np.frombuffer(self._numbers, np.intc)] if n else np.empty(0, np.uint64)  # (n,)
        codes[np.cumsum(lengths) - lengths] = _hashed(kinds)  # the start mark says the scheme
        # int32, because these arrays are read at random places and should fit the cache
        self.owners: SmallPlaces = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)  # (n,)
        """URL of each token."""
        self._end_of: SmallPlaces = np.repeat(np.cumsum(lengths).astype(np.int32), lengths)  # (n,)
        self._start_of: SmallPlaces = self._end_of - np.repeat(lengths.astype(np.int32), lengths)  # (n,)
        n_before = np.arange(n) - self._start_of  # (n,)
        longest = int(lengths.max(initial=0))
        self._inverses = _powers(_INVERSE, longest + 1)
        sums = np.zeros(n + 1, np.uint64)  # sums[i] covers the first i tokens of the row
        np.cumsum(codes * _powers(_BASE, longest)[n_before], out=sums[1:])
        self._sums = sums

    def text(self, start: int, n_tokens: int) -> tuple[str, ...]:
        """The *n_tokens* tokens from place *start* on."""
        return tuple([self._words[number] for number in self._numbers[start : start + n_tokens]])

    def run_hash(self, starts: Places, ends: Places) -> Hashes:
        """Hashes of the runs of tokens from *starts* to *ends* (exclusive), each within one URL."""
        return self._hashes(starts, ends, self.n_before(starts))

    def _hashes(self, starts: Places, ends: Places, n_before: Places) -> Hashes:
        return (self._sums[ends] - self._sums[starts]) * self._inverses[n_before]

    def n_before(self, places: Places) -> Places:
        """Number of tokens of the URL before each token, the start mark included."""
        return places - self._start_of[np.minimum(places, len(self._start_of) - 1)]

    def parts(self, max_tokens: int, n_most: int) -> Iterator[Part]:
        """All envelopes with up to *max_tokens* tokens inside, in parts of about *n_most* envelopes.

        Equal envelopes are in the same part, because their prefixes have equal lengths, and so have their suffixes.
        """
        n_before = np.arange(len(self._end_of)) - self._start_of
        order = np.argsort(n_before, kind="stable")
        n_envelopes = np.minimum(self._end_of - np.arange(len(self._end_of)), max_tokens + 1)
        starts = np.cumsum(np.bincount(n_before))
        n_at = np.bincount(n_before, n_envelopes).astype(np.int64).tolist()
        begin = end = n_taken = 0
        for following, n in zip(starts.tolist(), n_at, strict=True):
            if n_taken and n_taken + n > n_most:
                yield from _split(order[begin:end], -(-n_taken // n_most))
                begin, n_taken = end, 0
            end = following
            n_taken += n
        yield from _split(order[begin:end], -(-n_taken // n_most))

    def envelopes(self, max_tokens: int, part: Part) -> Iterator[tuple[Hashes, Places, int]]:
        """Envelopes of a *part*, by number of tokens inside: hashes and first places, (m,) each, and the number."""
        for begin in range(0, len(part.starts), BLOCK):
            block = part.starts[begin : begin + BLOCK]
            start_of, end_of = self._start_of[block], self._end_of[block]
            before = self._sums[block] - self._sums[start_of]
            left = end_of - block
            n_before = block - start_of
            for length in range(min(max_tokens, int(left.max())) + 1):
                fits = left >= length
                # not an empty inside before the start mark, and not the whole URL
                fits &= (block > start_of) | ((length > 0) & (length < end_of - start_of))
                if part.n_classes > 1:
                    fits &= (left - length) % part.n_classes == part.number
                inside = block[fits]
                ends = end_of[fits].astype(np.int64, copy=False)
                behind = self._hashes(inside + length, ends, n_before[fits] + length)
                yield mixed(before[fits], behind), inside, length


def _split(starts: Places, n_classes: int) -> Iterator[Part]:
    return (Part(starts, n_classes, number) for number in range(n_classes))


def mixed(left: Hashes, right: Hashes) -> Hashes:
    """Mix two hashes into one; the order matters."""
    value: Hashes = left ^ (right * _SUFFIX + _ENDING)
    value = (value ^ (value >> np.uint64(30))) * _MIX_1
    value = (value ^ (value >> np.uint64(27))) * _MIX_2
    value ^= value >> np.uint64(31)
    return value


def _hashed(words: Sequence[str]) -> Hashes:
    hashed: dict[str, int] = {word: xxhash.xxh3_64_intdigest(word.encode()) for word in dict.fromkeys(words)}
    return np.fromiter(map(hashed.__getitem__, words), np.uint64, len(words))


def _powers(base: int, n: int) -> Hashes:
    powers = np.full(n, base, np.uint64)
    powers[:1] = 1
    np.multiply.accumulate(powers, out=powers)
    return powers
