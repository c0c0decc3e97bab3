"""Likely substring rules: substrings that often replace each other in URLs that may show the same page.

Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST: different URLs with similar text", poster, WWW 2006;
WWW 2007. *S* -> max_tokens, *T* -> max_bucket, *MS* -> min_support, *ST*, *IT* -> envelopes, pairs.

Every substring of up to S tokens has an envelope, and URLs with the same envelope are a bucket. Two URLs of a bucket
that may show the same page (overlapping sizes, or the same cluster) are an *instance* of the rule that replaces the
inside of the one by the inside of the other. Buckets with more than T URLs are left out: an inside with so many
alternatives is an id (the small-bucket principle). A rule with MS instances is likely. Only the direction that shrinks
the URL is counted; the paper counts both and chooses later.

Cost: n S envelopes for a URL of n tokens, and sorting them: L log L in the number of URLs. About a million envelopes
are in memory at once; more are treated in parts. Of more than 3 million rules, those with fewest instances are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dedup_crawler.rules.dust.envelopes import Hashes, Part, Places, TokenTable, mixed
from dedup_crawler.rules.dust.url_list import UrlList

_MAX_ENVELOPES = 1_000_000
_MAX_PAIRS = 100_000  # pairs in one step
_MAX_CANDIDATES = 3_000_000
_MAX_LIKELY = 50_000
_MAX_SHIFT = 4  # tokens

Tokens = tuple[str, ...]


class Substitution(NamedTuple):
    """A likely rule; start and end marks are tokens."""

    old: Tokens
    new: Tokens
    support: int
    """Number of instances: pairs of URLs that differ only in this and may show the same page."""


def likely_substitutions(
    urls: UrlList, *, max_tokens: int = 35, max_bucket: int = 11, min_support: int = 5
) -> list[Substitution]:
    """Find the likely rules of a host, the best supported first; at most 50,000."""
    table = TokenTable(urls.rests, urls.schemes)
    ranks = _shrinking_ranks(urls.forms)
    found: list[_Candidates] = []
    n_found = 0
    for part in table.parts(max_tokens, _MAX_ENVELOPES):
        for bucketed in _pairs(table, urls, ranks, max_tokens, max_bucket, part):
            found.append(bucketed)
            n_found += len(bucketed.hashes)
            if n_found > _MAX_CANDIDATES:
                found = [_together(found).best(1, _MAX_CANDIDATES // 2)]
                n_found = len(found[0].hashes)
    supported = _together(found).best(min_support, _MAX_LIKELY)
    texts: dict[tuple[Tokens, Tokens], int] = {}
    for old, new, support in supported.texts(table):
        # a start mark hides the scheme, so the same rule may come twice
        texts[old, new] = texts.get((old, new), 0) + support
    likely = [Substitution(old, new, support) for (old, new), support in texts.items()]
    return sorted(likely, key=lambda rule: (-rule.support, len(rule.old), rule.old, rule.new))


class _Candidates(NamedTuple):
    """n rules, as hashes."""

    hashes: Hashes
    """Hash of each rule, (n,)."""
    counts: Places
    """Number of instances of each rule, (n,)."""
    places: npt.NDArray[np.int64]
    """Place and number of tokens of the old side, then of the new side, in one instance of each rule, (n, 4)."""

    def counted(self) -> _Candidates:
        """Join the rows of equal rules, and add up their counts."""
        if not len(self.hashes):
            return self
        order = np.argsort(self.hashes)
        hashes = self.hashes[order]
        firsts = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))  # (rules,)
        return _Candidates(hashes[firsts], np.add.reduceat(self.counts[order], firsts), self.places[order[firsts]])

    def best(self, min_support: int, limit: int) -> _Candidates:
        """Keep the rules with at least *min_support* instances, at most *limit* of them, the best supported first."""
        enough = np.flatnonzero(self.counts >= min_support)
        kept = enough[np.argsort(-self.counts[enough], kind="stable")[:limit]]
        return _Candidates(self.hashes[kept], self.counts[kept], self.places[kept])

    def texts(self, table: TokenTable) -> Iterator[tuple[Tokens, Tokens, int]]:
        """Old and new side of each rule as tokens, and the count."""
        for count, (old, n_old, new, n_new) in zip(self.counts.tolist(), self.places.tolist(), strict=True):
            yield table.text(old, n_old), table.text(new, n_new), count


def _together(found: Sequence[_Candidates]) -> _Candidates:
    if not found:
        return _Candidates(np.empty(0, np.uint64), np.empty(0, np.int64), np.empty((0, 4), np.int64))
    return _Candidates(
        np.concatenate([some.hashes for some in found]),
        np.concatenate([some.counts for some in found]),
        np.concatenate([some.places for some in found]),
    ).counted()


def _shrinking_ranks(forms: Iterable[str]) -> Places:
    """Rank of each URL: shorter URLs come first, then lexicographically smaller ones."""
    forms = list(forms)
    order = sorted(range(len(forms)), key=lambda place: (len(forms[place]), forms[place]))
    ranks = np.empty(len(forms), np.int64)
    ranks[order] = np.arange(len(forms))
    return ranks


def _pairs(
    table: TokenTable, urls: UrlList, ranks: Places, max_tokens: int, max_bucket: int, part: Part
) -> Iterator[_Candidates]:
    """Instances of one part of the envelopes (m of them)."""
    pieces = list(table.envelopes(max_tokens, part))
    hashes = np.concatenate([piece[0] for piece in pieces])  # (m,), as starts and lengths
    starts = np.concatenate([piece[1].astype(np.uint32) for piece in pieces])
    lengths = np.concatenate([np.full(len(piece[0]), piece[2], np.uint8) for piece in pieces])
    del pieces
    order = np.argsort(hashes)  # the order within a bucket does not matter
    hashes = hashes[order]
    firsts = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))  # (buckets,)
    sizes = np.diff(firsts, append=len(hashes))  # (buckets,)
    del hashes
    for size in range(2, max_bucket + 1):
        buckets = firsts[sizes == size]
        step = max(_MAX_PAIRS // (size * (size - 1)), 1)
        for begin in range(0, len(buckets), step):
            members = order[buckets[begin : begin + step, None] + np.arange(size)]  # (up to step, size)
            yield _instances(table, urls, ranks, starts[members].astype(np.int64), lengths[members].astype(np.int64))


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
    counted = _Candidates(hashes, np.ones(len(hashes), np.int64), np.concatenate((old, new)).T)
    return counted.counted()


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
