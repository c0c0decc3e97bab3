"""The input of the miners: the URLs of one host as maps, with their pages, and pairs of them.

It also counts the evidence for a rule.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain

from dedup_crawler.grouping import grouped
from dedup_crawler.rules.applying.engine import read_url
from dedup_crawler.rules.language.matchers import ANY
from dedup_crawler.rules.language.operations import Copy, Drop, Operation, Set
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.language.statistics import RuleStatistics, count_merges
from dedup_crawler.urls.keyvalue import KEY_VALUES, KeyValues, UrlMap

STRUCTURE = frozenset({"scheme", "path.length", "root", "slash", "ext"})
"""Keys for the form of a URL. They can be set, but their values are neither copied nor ignored."""
MISSING = "\0missing"
"""Stands for a missing key among values; no URL in normal form has this value."""
_ARGUMENT = "\0argument"  # no URL in normal form has this value
_MIN_SHARE, _MIN_URLS = 0.01, 5  # a value of fewer URLs is no constant

Constants = frozenset[tuple[str, "str | None"]]
"""Keys and values that so many URLs of a site have that rules may set them as literals."""

KeyPattern = frozenset[tuple[str, "str | None"]]
"""Keys of a URL, with those values that are constants."""


class MappedCrawl:
    """Distinct URLs of one host, in crawl order. URLs that differ only in the order of the query are the same.

    *urls* are in normal form; ``clusters[i]`` is the page that ``urls[i]`` shows.
    """

    def __init__(self, host: str, urls: Sequence[str], clusters: Sequence[int], url_map: UrlMap = KEY_VALUES) -> None:
        self.host = host
        self.url_map = url_map
        self.maps: list[KeyValues] = []
        self.pages: list[int] = []
        """Cluster of each URL."""
        self._place: dict[str, int] = {}
        self._counted: dict[tuple[object, ...], RuleStatistics] = {}
        for url, cluster in zip(urls, clusters, strict=True):
            form, values = read_url(url, url_map)
            if form not in self._place:
                self._place[form] = len(self.maps)
                self.maps.append(values)
                self.pages.append(cluster)
        self.forms = list(self._place)
        """Form of each URL: its query is sorted."""

    @cached_property
    def clusters(self) -> Mapping[int, list[KeyValues]]:
        """Cluster -> maps of its URLs, in crawl order."""
        return grouped(zip(self.pages, self.maps, strict=True))

    def counted(self, rule: Rule) -> Rule:
        """The rule with its statistics on these URLs, applied once and without other rules."""
        statistics = self._counted.get(rule.identity())
        if statistics is None:
            form_of: dict[int, str] = {}  # place -> form, of the URLs that the rule changes
            for place in self._candidates(rule):
                before = self.maps[place]
                if rule.matches(before) and (after := rule.apply(before)) != before:
                    authority = self.forms[place].split("/", 3)[2]
                    form_of[place] = f"{after['scheme']}://{authority}{self.url_map.write(after)}"
            forms = list(form_of.values())
            known = [(form, self._place[form]) for form in self._place.keys() & set(forms)]
            others = [(form, self.pages[place]) for form, place in known if place not in form_of]
            statistics = count_merges(forms, [self.pages[place] for place in form_of], others)
            self._counted[rule.identity()] = statistics
        return replace(rule, statistics=statistics)

    @cached_property
    def _places_of(self) -> Mapping[str, Mapping[str | None, list[int]]]:
        """Key -> value -> places of the URLs that have it."""
        found: dict[str, dict[str | None, list[int]]] = defaultdict(lambda: defaultdict(list))
        for place, values in enumerate(self.maps):
            for key, value in values.items():
                found[key][value].append(place)
        return found

    def _candidates(self, rule: Rule) -> Sequence[int]:
        """Places of the URLs that meet the rarest condition of a rule."""
        best: Sequence[int] = range(len(self.maps))
        for key in rule.required():
            its = self._places_of.get(key, {})
            matcher = rule.context.get(key, ANY)
            found = [places for value, places in its.items() if matcher.matches(value)]
            if sum(map(len, found)) < len(best):
                best = sorted(chain.from_iterable(found))
        return best


def constants_of(maps: Sequence[KeyValues]) -> Constants:
    """Values that 1 % of the URLs, and at least five, have (the share of SIGIR'17 for function tokens)."""
    n_urls = Counter(item for values in maps for item in values.items())
    least = max(_MIN_URLS, _MIN_SHARE * len(maps))
    return frozenset(item for item, n in n_urls.items() if n >= least)


def key_pattern_of(values: KeyValues, constants: Constants) -> KeyPattern:
    """Key pattern of a URL, shared by URLs that differ only in their arguments."""
    return frozenset((key, value if (key, value) in constants else _ARGUMENT) for key, value in values.items())


def stratified(maps: Sequence[KeyValues], limit: int, draw: random.Random) -> list[KeyValues]:
    """Draw at most *limit* maps, in turn from each set of keys, so that no kind of URL crowds out another."""
    if len(maps) <= limit:
        return list(maps)
    strata = grouped((frozenset(values), values) for values in maps)
    left = [draw.sample(stratum, min(limit, len(stratum))) for stratum in strata.values()]
    taken: list[KeyValues] = []
    while len(taken) < limit:
        left = [stratum for stratum in left if stratum]
        taken += [stratum.pop() for stratum in left[: limit - len(taken)]]
    return taken


def pair_operations(source: KeyValues, target: KeyValues) -> dict[str, Operation]:
    """Operations that turn *source* into *target*; a copy of another key's value is preferred to a literal."""
    operations: dict[str, Operation] = {}
    for key, value in target.items():
        if key not in source or source[key] != value:
            origins = [other for other, its in source.items() if its == value and other not in STRUCTURE]
            operations[key] = Copy(origins[0]) if origins and value and key not in STRUCTURE else Set(value)
    operations.update((key, Drop()) for key in source if key not in target)
    return operations
