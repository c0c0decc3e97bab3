"""Pairs to learn from, out of the duplicate clusters of a crawl.

Duplicates: pairs within a cluster. Different pages: of each URL two of the known URLs that a crawl would compare it
with, the likeliest first, and one that has nothing to do with it; they are harder than what a site links by chance, and
they are what the classifier will be asked. And each URL with the page that links it, as in the capstone.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations

from dedup_crawler.methods.pairs.known_urls import KnownUrls
from dedup_crawler.methods.pairs.labelled import UrlPair

_PER_CLUSTER = 10  # pairs of one page: a page with a thousand URLs would teach nothing else


def sample_pairs(
    known: KnownUrls, clusters: Sequence[int], referrers: Sequence[str | None], *, seed: int, max_pairs: int
) -> list[UrlPair]:
    """Draw at most *max_pairs* labelled pairs; *clusters* and *referrers* are those of the known URLs."""
    draw = random.Random(seed)  # noqa: S311 - reproducible, not secret
    urls = known.urls
    places = {url: number for number, url in enumerate(urls)}
    drawn: dict[tuple[int, int], None] = {}
    members: dict[int, list[int]] = defaultdict(list)
    for number, cluster in enumerate(clusters):
        members[cluster].append(number)
    for its in members.values():
        for left, right in _pairs_within(its, draw):
            drawn.setdefault((left, right) if draw.random() < 0.5 else (right, left))
    for number, url in enumerate(urls):
        others = [other for other in known.candidates(url) if clusters[other] != clusters[number]]
        chosen = [*others[:1], *draw.sample(others, min(1, len(others))), draw.randrange(len(urls))]
        referrer = places.get(referrers[number] or "", number)
        for other in (*chosen, referrer):
            if other != number and (number, other) not in drawn:
                drawn.setdefault((other, number))
    pairs = [UrlPair(urls[left], urls[right], clusters[left] == clusters[right]) for left, right in drawn]
    draw.shuffle(pairs)
    return pairs[:max_pairs]


def _pairs_within(members: Sequence[int], draw: random.Random) -> list[tuple[int, int]]:
    if len(members) * (len(members) - 1) // 2 <= _PER_CLUSTER:
        return list(combinations(members, 2))
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < _PER_CLUSTER:
        left, right = sorted(draw.sample(range(len(members)), 2))
        pairs.add((members[left], members[right]))
    return sorted(pairs)
