"""Pages that are much alike: what may be proposed, never what is believed.

Pages find each other by the lines of their own with the smallest hashes, which nearly equal pages share (A. Broder, "On
the resemblance and containment of documents", 1997), and are alike if they share most of their own words, line by line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from dedup_crawler.evidence.digests import PageDigests
from dedup_crawler.labels.joins import DisjointSets

MIN_SHARED = 0.7
"""Share (0-1) of the words of either page that have to stand in lines of both."""
_N_SAMPLED = 4
_MAX_TRIES = 20
_GOLDEN = 2_654_435_761  # of Knuth's multiplicative hash


def alike_pages(
    digests: PageDigests, places: Sequence[int], frame: frozenset[int], clusters: Sequence[int]
) -> list[int]:
    """Number of the set of each of the pages at *places*; those of one of the *clusters* stay together."""
    sets = DisjointSets(len(clusters))
    first: dict[int, int] = {}
    for place, cluster in enumerate(clusters):
        sets.join(first.setdefault(cluster, place), place)
    buckets: defaultdict[int, list[int]] = defaultdict(list)
    own_lines = {place: _own_lines(digests, places[place], frame) for place in first.values()}
    n_words = {place: _n_words(digests, own) for place, own in own_lines.items()}
    for place in sorted(own_lines):
        own = own_lines[place]
        sample = sorted(own, key=lambda line: line * _GOLDEN % 2**32)[:_N_SAMPLED]
        tried = dict.fromkeys(other for line in sample for other in buckets[line])
        for other in list(tried)[:_MAX_TRIES]:
            n_most = max(n_words[place], n_words[other])
            if n_most and _n_words(digests, own & own_lines[other]) >= MIN_SHARED * n_most:
                sets.join(other, place)
                break
        for line in sample:
            if len(buckets[line]) < _MAX_TRIES:
                buckets[line].append(place)
    return sets.numbers()


def _own_lines(digests: PageDigests, place: int, frame: frozenset[int]) -> frozenset[int]:
    content = digests.content(place)
    return digests.pages[content].lines - frame if content >= 0 else frozenset()


def _n_words(digests: PageDigests, lines: Iterable[int]) -> int:
    return sum(len(digests.words(line)) for line in lines)
