"""The input of DustBuster: the URLs of one host, with the page size or cluster of each, and pairs of them.

A rule is valid if nearly all pairs of a sample show the same page. Z. Bar-Yossef, I. Keidar, U. Schonfeld, WWW 2007
(poster: WWW 2006): *N* -> n, *epsilon*. Note that twenty pairs without a failure only bound the share of failures by
14 % (at 95 % confidence).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup_crawler.rules.applying.engine import read_url
from dedup_crawler.rules.language.rule import SubstringIndex, SubstringRule
from dedup_crawler.rules.language.statistics import MergeEvidence, RuleStatistics
from dedup_crawler.urls.keyvalue import KEY_VALUES

_MAX_URLS = 5_000  # URLs to which one rule is applied
_MAX_PAIRS = 1_000  # pairs that are kept of one rule


class UrlList:
    """Distinct URLs of a host, in the order of the list. URLs that differ only in the order of the query are the same.

    *urls* are in normal form. *lows* and *highs* are the smallest and the largest size of the page at each URL, in
    bytes; ranges of repeated URLs are joined. If the pages are known (*are_clusters*), both are the cluster number; the
    first one of a repeated URL counts.
    """

    def __init__(
        self, host: str, urls: Iterable[str], lows: Sequence[int], highs: Sequence[int], *, are_clusters: bool
    ) -> None:
        self.host = host
        ranges: dict[str, tuple[int, int]] = {}
        for url, low, high in zip(urls, lows, highs, strict=True):
            form = read_url(url, KEY_VALUES)[0] if "&" in url else url
            known_low, known_high = ranges.get(form, (low, high))
            ranges[form] = (known_low, known_high) if are_clusters else (min(known_low, low), max(known_high, high))
        self.forms = list(ranges)
        """Form of each URL: its query is sorted."""
        self.place = {form: place for place, form in enumerate(self.forms)}
        self.lows: npt.NDArray[np.int64] = np.array([low for low, _ in ranges.values()], np.int64)
        self.highs: npt.NDArray[np.int64] = np.array([high for _, high in ranges.values()], np.int64)
        origins = [form.partition("://") for form in self.forms]
        self.schemes = [scheme for scheme, _, _ in origins]
        self.rests = [behind[behind.find("/") :] for _, _, behind in origins]
        """Path and query."""

    def __len__(self) -> int:
        return len(self.forms)

    def query_parts(self, place: int) -> list[str]:
        """Parts of the query of the URL at *place*, such as ``t=4``; empty without a query."""
        _, question, query = self.rests[place].partition("?")
        return query.split("&") if question else []

    def without_part(self, place: int, part: str) -> str:
        """The URL at *place* without the first occurrence of *part* in its query."""
        origin, _, _ = self.forms[place].partition("?")
        parts = self.query_parts(place)
        parts.remove(part)
        return f"{origin}?{'&'.join(parts)}" if parts else origin

    def may_be_same(self, left: int, right: int) -> bool:
        """Return True if two URLs may show the same page: their ranges overlap."""
        return bool(self.lows[left] <= self.highs[right] and self.lows[right] <= self.highs[left])


@dataclass
class PairTally:
    """Counts the right and wrong pairs of one rule."""

    n: int
    """Largest number of pairs to try, 1 or more."""
    epsilon: float
    """Share (0-1) of the pairs that may be wrong."""
    n_right: int = 0
    n_wrong: int = 0

    def add(self, is_same: bool) -> None:
        """Count one more pair."""
        self.n_right += is_same
        self.n_wrong += not is_same

    @property
    def is_decided(self) -> bool:
        """Return True if more pairs cannot change the outcome."""
        return self.n_wrong > self.epsilon * self.n or self.n_right >= (1 - self.epsilon) * self.n

    @property
    def is_passed(self) -> bool:
        """Return True if the rule is valid by the pairs so far; False without pairs."""
        return self.n_right > 0 and self.n_wrong <= self.epsilon * (self.n_right + self.n_wrong)


@dataclass(frozen=True)
class PairsOfRule:
    """Pairs of URLs of a list; a rule changes the first URL of a pair into the second."""

    n_urls: int
    """Number of URLs to which the rule was applied."""
    pairs: Sequence[tuple[int, int]]
    """Pairs of URLs (by place), in random order."""

    def statistics(self, urls: UrlList) -> RuleStatistics:
        """Count the pairs, and their merge groups: the pairs with one second URL."""
        wrong = [pair for pair in self.pairs if not urls.may_be_same(*pair)]
        groups, wrong_groups = ({second for _, second in pairs} for pairs in (self.pairs, wrong))
        evidence = MergeEvidence(len(groups), len(wrong_groups))
        return RuleStatistics(self.n_urls, len(self.pairs), len(wrong), evidence)

    def is_valid(self, urls: UrlList, n: int, epsilon: float) -> bool:
        """Return True if the rule is valid by the first *n* pairs."""
        n_right = sum(urls.may_be_same(*pair) for pair in self.pairs[:n])
        return PairTally(n, epsilon, n_right, len(self.pairs[:n]) - n_right).is_passed


def pairs_of_substrings(rules: Sequence[SubstringRule], urls: UrlList, seed: int) -> list[PairsOfRule]:
    """Find pairs of each rule, in one pass over the URLs in random order.

    Each rule is applied to at most 5,000 URLs and keeps at most 1,000 pairs.
    """
    order = list(range(len(urls)))
    random.Random(seed).shuffle(order)  # noqa: S311 - draws examples, guards nothing
    index = SubstringIndex(enumerate(rules))
    n_urls: dict[int, int] = defaultdict(int)
    pairs: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for place in order:
        for number, rest in index.matches(urls.rests[place]).items():
            if n_urls[number] == _MAX_URLS:
                continue
            n_urls[number] += 1
            form = urls.forms[place].removesuffix(urls.rests[place]) + rest
            if form not in urls.place and "&" in rest:
                form = read_url(form, KEY_VALUES)[0]
            target = urls.place.get(form)
            if target is not None and target != place and len(pairs[number]) < _MAX_PAIRS:
                pairs[number].append((place, target))
    return [PairsOfRule(n_urls[number], pairs[number]) for number in range(len(rules))]


def shuffled(pairs: Sequence[tuple[int, int]], seed: int) -> PairsOfRule:
    """Put known pairs into random order."""
    return PairsOfRule(len(pairs), random.Random(seed).sample(list(pairs), len(pairs)))  # noqa: S311 - as above
