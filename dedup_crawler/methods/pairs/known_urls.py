"""Finds the few known URLs of which a new URL may be a duplicate, and draws pairs to learn from.

A new URL is compared with at most 50 known URLs. First come those that share a rare argument (one of at most 50 known
URLs), then the neighbours in alphabetical order among the URLs of the same template.

Training pairs are drawn from the duplicate clusters of a crawl. Duplicates are pairs within a cluster. As different
pages, each URL is paired with two of the known URLs with which a crawl would compare it, and with a random one. Such
pairs are the hard ones, and those that the classifier has to decide. Each URL is also paired with its referrer, as in
the capstone.
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations

from dedup_crawler.methods.pairs.labelled import UrlPair
from dedup_crawler.urls.templates import Templater

MAX_CANDIDATES = 50
_MAX_SHARED = 50  # an argument of more URLs is not used
_PER_CLUSTER = 10  # pairs of one page, so that a page with a thousand URLs does not outnumber the others


class KnownUrls:
    """Distinct URLs with their canonical forms, indexed by template and by argument."""

    def __init__(self, urls: Sequence[str], forms: Sequence[str], templater: Templater) -> None:
        self.urls, self.forms = list(urls), list(forms)
        self.form_of = dict(zip(urls, forms, strict=True))
        self.templater = templater
        self._of_template: dict[str, list[int]] = defaultdict(list)
        self._of_argument: dict[str, list[int]] = defaultdict(list)
        for number in sorted(range(len(self.urls)), key=self.urls.__getitem__):
            template, arguments = templater.split(self.urls[number])
            self._of_template[template].append(number)
            for argument in set(arguments):
                self._of_argument[argument].append(number)
        for argument in [argument for argument, found in self._of_argument.items() if len(found) > _MAX_SHARED]:
            del self._of_argument[argument]

    def candidates(self, url: str) -> list[int]:
        """Places of at most 50 known URLs other than *url*, the most similar ones first."""
        template, arguments = self.templater.split(url)
        shared: Counter[int] = Counter()
        for argument in set(arguments):
            shared.update(self._of_argument.get(argument, ()))
        found = sorted(shared, key=lambda number: (-shared[number], number))[:MAX_CANDIDATES]
        near = self._neighbours(url, self._of_template.get(template, []))
        chosen = dict.fromkeys(found[: MAX_CANDIDATES // 2] + near + found)
        return [number for number in chosen if self.urls[number] != url][:MAX_CANDIDATES]

    def _neighbours(self, url: str, same_template: list[int]) -> list[int]:
        """The neighbours in alphabetical order, alternately below and above."""
        place = bisect_left(same_template, url, key=self.urls.__getitem__)
        half = MAX_CANDIDATES // 2
        below, above = same_template[max(0, place - half) : place][::-1], same_template[place : place + half + 1]
        turns = [number for both in zip(below, above, strict=False) for number in both]
        return turns + below[len(above) :] + above[len(below) :]


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
