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

_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse
_INVERSE = pow(_BASE, -1, 2**64)
_SUFFIX, _ENDING, _MIX_1, _MIX_2 = (
    np.uint64(n) for n in (0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


class Envelopes(NamedTuple):
    """m envelopes."""

    hashes: Hashes
    """Hash of each envelope, (m,)."""
    starts: npt.NDArray[np.uint32]
    """Place of the first token inside, (m,)."""
    lengths: npt.NDArray[np.uint8]
    """Number of tokens inside, (m,)."""


class TokenTable:
    """The tokens of all URLs in one row of n entries, with a start mark and an end mark for each URL.

    *rests* are the paths and queries of the URLs. URLs of different *schemes* have no envelope in common.
    """

    def __init__(self, rests: Sequence[str], schemes: Sequence[str]) -> None:
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
        codes[np.cumsum(lengths) - lengths] = _hashed(schemes)  # the start mark says the scheme
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
        return (self._sums[ends] - self._sums[starts]) * self._inverses[self.n_before(starts)]

    def n_before(self, places: Places) -> Places:
        """Number of tokens of the URL before each token, the start mark included."""
        return places - self._start_of[np.minimum(places, len(self._start_of) - 1)]

    def envelopes(self, max_tokens: int, n_most: int) -> Iterator[Envelopes]:
        """All envelopes with up to *max_tokens* tokens inside, in parts of about *n_most* envelopes.

        Equal envelopes are in the same part, because their prefixes have equal lengths, and so have their suffixes.
        """
        n_before = self.n_before(np.arange(len(self._end_of)))
        order = np.argsort(n_before, kind="stable")
        for starts in np.split(order, np.cumsum(np.bincount(n_before)))[:-1]:
            left = self._end_of[starts] - starts
            n_classes = -(-int(np.minimum(left, max_tokens + 1).sum()) // n_most)
            for number in range(n_classes):
                lengths = range(min(max_tokens, int(left.max())) + 1)
                parts = [self._with_inside(starts, length, number, n_classes) for length in lengths]
                yield Envelopes(*map(np.concatenate, zip(*parts, strict=True)))

    def _with_inside(self, starts: Places, length: int, number: int, n_classes: int) -> Envelopes:
        """Envelopes with *length* tokens inside whose number of tokens behind is *number* modulo *n_classes*."""
        start_of, end_of = self._start_of[starts], self._end_of[starts]
        n_behind = end_of - starts - length
        # not an empty inside before the start mark, and not the whole URL
        fits = (n_behind >= 0) & ((starts > start_of) | ((length > 0) & (length < end_of - start_of)))
        fits &= n_behind % n_classes == number
        inside = starts[fits]
        before = self._sums[inside] - self._sums[start_of[fits]]
        behind = (self._sums[end_of[fits]] - self._sums[inside + length]) * self._inverses[
            inside + length - start_of[fits]
        ]
        return Envelopes(mixed(before, behind), inside.astype(np.uint32), np.full(len(inside), length, np.uint8))


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
