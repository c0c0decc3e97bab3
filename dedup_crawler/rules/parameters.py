"""Likely parameter rules: a parameter of the query that can be left out, or set to one value.

Z. Bar-Yossef, I. Keidar, U. Schonfeld, WWW 2007 (poster: WWW 2006): both kinds are found by looking at the URLs alone
and filtered by sizes; how is not said where we could read it. Here the URLs of the list that differ in a parameter
alone are compared with one of them: the one that lacks it (or the smallest, where all have it) speaks for leaving it
out, the one with the default value for setting it, where the default is the frequent value that fits most others.

Unlike a substring rule such a rule speaks of any value, so that it also learns session ids that are never seen twice.
They are rules of the key-value kind.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import xxhash

from dedup_crawler.rules.rule import ANY, Drop, NoneOf, Rule, Set
from dedup_crawler.rules.url_list import UrlList
from dedup_crawler.urls.keyvalue import rest_of

_PARAMETER = re.compile(r"query\[[^#]*\]").fullmatch  # the first of its name
_MAX_PARAMETERS = 30  # of one URL: more are an attack, and would cost the square
_N_DEFAULTS = 3

Pairs = list[tuple[int, int]]


class LikelyParameter(NamedTuple):
    """A likely rule and all the pairs of URLs (by place) that speak for or against it."""

    rule: Rule
    support: int
    """Pairs that may be the same page."""
    pairs: Pairs


def likely_parameters(urls: UrlList, *, min_support: int = 5, origin: str = "") -> list[LikelyParameter]:
    """Find the likely parameter rules of a host, the best supported first."""
    found = []
    for key, places in sorted(_with_parameters(urls).items()):
        if len(places) < min_support:
            continue
        groups = _alike_but_for(key, places, urls)
        drop = Rule(urls.host, {key: ANY}, {key: Drop()}, origin=origin)
        likely = [_supported(drop, _pairs_with_leader(groups, urls), urls)]
        for default in _frequent_values(key, groups, urls):
            rule = Rule(urls.host, {key: NoneOf(frozenset((default,)))}, {key: Set(default)}, origin=origin)
            likely.append(_supported(rule, _pairs_with_value(key, default, groups, urls), urls))
        best_default = sorted(likely[1:], key=lambda rule: -rule.support)[:1]
        found += [rule for rule in (likely[0], *best_default) if rule.support >= min_support]
    return sorted(found, key=lambda rule: -rule.support)


def _with_parameters(urls: UrlList) -> dict[str, list[int]]:
    """Parameter -> places of the URLs that have it."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, values in enumerate(urls.values):
        keys = [key for key in values if _PARAMETER(key)]
        if len(keys) <= _MAX_PARAMETERS:
            for key in keys:
                places[key].append(place)
    return places


def _alike_but_for(key: str, places: Sequence[int], urls: UrlList) -> list[list[int]]:
    """URLs that are equal without the parameter, that without it first if there is one; groups of two or more."""
    groups: dict[tuple[str, int], list[int]] = {}
    for place in places:
        rest = rest_of({other: value for other, value in urls.values[place].items() if other != key})
        scheme = urls.schemes[place]
        group = groups.get((scheme, digest := xxhash.xxh3_64_intdigest(rest.encode())))
        if group is None:
            without = urls.place.get(urls.with_rest(place, rest))
            group = groups[scheme, digest] = [] if without is None else [without]
        group.append(place)
    return [group for group in groups.values() if len(group) > 1]


def _pairs_with_leader(groups: Sequence[list[int]], urls: UrlList) -> Pairs:
    return [
        (place, leader) for group in groups for leader in [_leader(group, urls)] for place in group if place != leader
    ]


def _leader(group: Sequence[int], urls: UrlList) -> int:
    return min(group, key=lambda place: (len(urls.forms[place]), urls.forms[place]))


def _frequent_values(key: str, groups: Sequence[Sequence[int]], urls: UrlList) -> list[str | None]:
    counts = Counter(urls.values[place][key] for group in groups for place in group if key in urls.values[place])
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0] is not None, len(item[0] or ""), item[0] or ""))
    return [value for value, _ in order[:_N_DEFAULTS]]


def _pairs_with_value(key: str, value: str | None, groups: Sequence[Sequence[int]], urls: UrlList) -> Pairs:
    """Each URL that has another value with the one of its group that has this value."""
    return list(_each_with_value(key, value, groups, urls))


def _each_with_value(
    key: str, value: str | None, groups: Sequence[Sequence[int]], urls: UrlList
) -> Iterator[tuple[int, int]]:
    for group in groups:
        having = [place for place in group if key in urls.values[place]]
        target = next((place for place in having if urls.values[place][key] == value), None)
        if target is not None:
            yield from ((place, target) for place in having if place != target)


def _supported(rule: Rule, pairs: Pairs, urls: UrlList) -> LikelyParameter:
    return LikelyParameter(rule, sum(urls.may_be_same(*pair) for pair in pairs), pairs)
