"""Likely substring rules: substrings that often replace each other in URLs that may show the same page.

Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST: different URLs with similar text", poster, WWW 2006;
WWW 2007. *S* -> max_tokens, *T* -> max_bucket, *MS* -> min_support, *ST*, *IT* -> envelopes, pairs.

Every substring of up to S whole tokens (the *inside*) has an *envelope*: the prefix and suffix around it. URLs with the
same envelope are a bucket. Two URLs of a bucket that may show the same page (overlapping sizes, or the same cluster)
are an *instance* of the rule that replaces the inside of the one by the inside of the other. Buckets with more than T
URLs are left out: an inside with so many alternatives is an id (the small-bucket principle). A rule with MS instances
is likely. Only the direction that shrinks the URL is counted; the paper counts both and chooses later.

Cost: n S envelopes for a URL of n tokens, and sorting them: L log L in the number of URLs. About a million envelopes
are in memory at once; more are treated in parts. Of more than 3 million rules, those with fewest instances are dropped.

A URL of n tokens has about n S envelopes: 41 million for 50,000 long URLs. So no text is made of them, only 64-bit
hashes. Each token is hashed once, and the hash of a run of tokens is a difference of two prefix sums: of a polynomial
modulo 2**64, whose power is the place of a token in its URL. A product with an inverse power makes the hash independent
of the place.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash

from dedup_crawler.rules.language.rule import END, START, split_tokens
from dedup_crawler.rules.miners.url_list import UrlList

_MAX_ENVELOPES = 1_000_000
_MAX_TRIED = 100_000  # places times lengths in one step: one length of a large host, all lengths of a rare position
_MAX_PAIRS = 100_000  # pairs in one step
_MAX_CANDIDATES = 3_000_000
_MAX_LIKELY = 50_000
_MAX_SHIFT = 4  # tokens

_BASE = 0x9E3779B97F4A7C15  # odd, so that it has an inverse
_INVERSE = pow(_BASE, -1, 2**64)
_SUFFIX, _ENDING, _MIX_1, _MIX_2 = (
    np.uint64(n) for n in (0xD6E8FEB86659FD93, 0xA0761D6478BD642F, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)

Hashes = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
SmallPlaces = npt.NDArray[np.int32]
Tokens = tuple[str, ...]


class Substitution(NamedTuple):
    """A likely rule; start and end marks are tokens."""

    old: Tokens
    new: Tokens
    support: int
    """Number of instances: pairs of URLs that differ only in this and may show the same page."""


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
            lengths = np.arange(min(max_tokens, int(left.max())) + 1)
            step = max(_MAX_TRIED // len(starts), 1)
            for number in range(n_classes):
                parts = [
                    self._with_inside(starts, lengths[first : first + step], number, n_classes)
                    for first in range(0, len(lengths), step)
                ]
                yield Envelopes(*map(np.concatenate, zip(*parts, strict=True)))

    def _with_inside(self, starts: Places, lengths: Places, number: int, n_classes: int) -> Envelopes:
        """Envelopes with one of *lengths* inside, whose number of tokens behind is *number* modulo *n_classes*."""
        start_of, end_of, length = self._start_of[starts], self._end_of[starts], lengths[:, None]
        n_behind = end_of - starts - length  # (lengths, starts)
        # not an empty inside before the start mark, and not the whole URL
        fits = (n_behind >= 0) & ((starts > start_of) | ((length > 0) & (length < end_of - start_of)))
        fits &= n_behind % n_classes == number
        row, column = np.nonzero(fits)  # (n,)
        inside, first, end, n_inside = starts[column], start_of[column], end_of[column], lengths[row]
        before = self._sums[inside] - self._sums[first]
        behind = (self._sums[end] - self._sums[inside + n_inside]) * self._inverses[inside + n_inside - first]
        return Envelopes(mixed(before, behind), inside.astype(np.uint32), n_inside.astype(np.uint8))


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


def likely_substitutions(urls: UrlList, *, max_tokens: int, max_bucket: int, min_support: int) -> list[Substitution]:
    """Find the likely rules of a host, the best supported first; at most 50,000."""
    table = TokenTable(urls.rests, urls.schemes)
    # rank of each URL: shorter URLs come first, then lexicographically smaller ones
    ranks = np.argsort(sorted(range(len(urls)), key=lambda place: (len(urls.forms[place]), urls.forms[place])))
    found = [_Candidates(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty((0, 4), np.int64))]
    for envelopes in table.envelopes(max_tokens, _MAX_ENVELOPES):
        for instances in _pairs(table, urls, ranks, max_bucket, envelopes):
            found.append(instances)
            if sum(len(some.hashes) for some in found) > _MAX_CANDIDATES:
                found = [_together(found).best(1, _MAX_CANDIDATES // 2)]
    likely = _together(found).best(min_support, _MAX_LIKELY)
    supports: Counter[tuple[Tokens, Tokens]] = Counter()
    for support, (old, n_old, new, n_new) in zip(likely.counts.tolist(), likely.places.tolist(), strict=True):
        # a start mark hides the scheme, so the same rule may come twice
        supports[table.text(old, n_old), table.text(new, n_new)] += support
    rules = [Substitution(old, new, support) for (old, new), support in supports.items()]
    return sorted(rules, key=lambda rule: (-rule.support, len(rule.old), rule.old, rule.new))


class _Candidates(NamedTuple):
    """n rules, as hashes."""

    hashes: Hashes
    """Hash of each rule, (n,)."""
    counts: Places
    """Number of instances of each rule, (n,)."""
    places: Places
    """Place and number of tokens of the old side, then of the new side, in one instance of each rule, (n, 4)."""

    def counted(self) -> _Candidates:
        """Join the rows of equal rules, and add up their counts."""
        hashes, firsts, rule = np.unique(self.hashes, return_index=True, return_inverse=True)  # (rules,), (n,)
        return _Candidates(hashes, np.bincount(rule, self.counts).astype(np.int64), self.places[firsts])

    def best(self, min_support: int, limit: int) -> _Candidates:
        """Keep the rules with at least *min_support* instances, at most *limit* of them, the best supported first."""
        enough = np.flatnonzero(self.counts >= min_support)
        kept = enough[np.argsort(-self.counts[enough], kind="stable")[:limit]]
        return _Candidates(self.hashes[kept], self.counts[kept], self.places[kept])


def _together(found: Sequence[_Candidates]) -> _Candidates:
    return _Candidates(*map(np.concatenate, zip(*found, strict=True))).counted()


def _pairs(
    table: TokenTable, urls: UrlList, ranks: Places, max_bucket: int, envelopes: Envelopes
) -> Iterator[_Candidates]:
    """Instances of one part of the envelopes."""
    order = np.argsort(envelopes.hashes)  # the order within a bucket does not matter
    _, firsts, sizes = np.unique(envelopes.hashes[order], return_index=True, return_counts=True)  # (buckets,)
    for size in range(2, max_bucket + 1):
        buckets = firsts[sizes == size]
        step = max(_MAX_PAIRS // (size * (size - 1)), 1)
        for begin in range(0, len(buckets), step):
            members = order[buckets[begin : begin + step, None] + np.arange(size)]  # (up to step, size)
            starts, lengths = envelopes.starts[members].astype(np.int64), envelopes.lengths[members].astype(np.int64)
            yield _instances(table, urls, ranks, starts, lengths)


def _instances(table: TokenTable, urls: UrlList, ranks: Places, starts: Places, lengths: Places) -> _Candidates:
    """Rules between the members of buckets of one size; *starts* and *lengths* have the shape (buckets, size)."""
    left, right = np.triu_indices(starts.shape[1], 1)  # (pairs,), places in a bucket
    members = table.owners[starts]  # (buckets, size)
    lows, highs = urls.lows[members], urls.highs[members]
    may_be_same = (lows[:, left] <= highs[:, right]) & (lows[:, right] <= highs[:, left])  # (buckets, pairs)
    bucket, pair = np.nonzero(may_be_same)  # (n,), n instances
    left, right = left[pair], right[pair]
    one = np.stack((starts[bucket, left], lengths[bucket, left]))  # (2, n)
    other = np.stack((starts[bucket, right], lengths[bucket, right]))
    counts_once = ~_is_shifted(table, one, other)
    one, other = one[:, counts_once], other[:, counts_once]
    shrinks = ranks[table.owners[one[0]]] > ranks[table.owners[other[0]]]
    old, new = np.where(shrinks, one, other), np.where(shrinks, other, one)
    hashes = mixed(table.run_hash(old[0], old[0] + old[1]), table.run_hash(new[0], new[0] + new[1]))
    return _Candidates(hashes, np.ones(len(hashes), np.int64), np.concatenate((old, new)).T).counted()


def _is_shifted(table: TokenTable, one: Places, other: Places) -> npt.NDArray[np.bool_]:
    """Mask (n,) of the instances that repeat another one between the same two URLs, a few tokens further left.

    ``//a`` becomes ``/a`` without its first slash, and also without its second one: that is one instance.
    """
    shifted = np.zeros(one.shape[1], bool)
    before = np.minimum(table.n_before(one[0]), table.n_before(other[0]))
    ends = np.stack((one.sum(axis=0), other.sum(axis=0)))
    for n_tokens in range(1, _MAX_SHIFT + 1):
        at = np.flatnonzero((before >= n_tokens) & ~shifted)
        one_end, other_end = ends[:, at]
        at = at[table.run_hash(one_end - n_tokens, one_end) == table.run_hash(other_end - n_tokens, other_end)]
        for (start, _), end in zip((one, other), ends, strict=True):
            first, last = start[at], end[at]
            at = at[table.run_hash(first - n_tokens, last - n_tokens) == table.run_hash(first, last)]
        shifted[at] = True
    return shifted
