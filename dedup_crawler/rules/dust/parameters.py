"""Likely parameter rules: a query parameter that can be dropped, or set to one value.

Z. Bar-Yossef, I. Keidar, U. Schonfeld, WWW 2007 (poster: WWW 2006) find both kinds in the URLs alone and filter them by
page sizes; the texts that we could get do not say how. Here URLs that differ only in the parameter are a group. For
dropping, each URL is compared with the URL of its group that lacks the parameter (or the smallest). For setting, it is
compared with the URL that has the default value: of a few frequent values, the one with most support.

Unlike a substring rule, a parameter rule holds for any value. So it also covers session ids, which occur only once. It
is a :class:`~dedup_crawler.rules.language.rule.Rule`.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import xxhash

from dedup_crawler.rules.dust.url_list import UrlList
from dedup_crawler.rules.language.rule import ANY, Drop, NoneOf, Rule, Set

_MAX_PARAMETERS = 30  # a URL with more is an attack and is ignored: the cost grows with the square
_N_DEFAULTS = 3  # most frequent values that are tried as the default

Pairs = list[tuple[int, int]]
Parts = dict[int, str]
"""Place of a URL -> its first query part with some name, such as ``sid=7``."""


class LikelyParameter(NamedTuple):
    """A likely rule, and all pairs of URLs (by place) for or against it."""

    rule: Rule
    support: int
    """Number of pairs that may show the same page."""
    pairs: Pairs


def likely_parameters(urls: UrlList, *, min_support: int = 5, origin: str = "") -> list[LikelyParameter]:
    """Find the likely parameter rules of a host, the best supported first."""
    found = []
    for key, parts in sorted(_parameters_of(urls).items()):
        if len(parts) < min_support:
            continue
        groups = _alike_but_for(parts, urls)
        drop = Rule(urls.host, {key: ANY}, {key: Drop()}, origin=origin)
        dropping = _supported(drop, _pairs_with_leader(groups, urls), urls)
        setting = []
        for part in _frequent_parts(groups, parts):
            _, equals, value = part.partition("=")
            default = value if equals else None
            rule = Rule(urls.host, {key: NoneOf(frozenset((default,)))}, {key: Set(default)}, origin=origin)
            setting.append(_supported(rule, list(_pairs_with(part, groups, parts)), urls))
        best = sorted(setting, key=lambda likely: -likely.support)[:1]
        found += [likely for likely in (dropping, *best) if likely.support >= min_support]
    return sorted(found, key=lambda likely: -likely.support)


def _parameters_of(urls: UrlList) -> dict[str, Parts]:
    """Key of each parameter -> its parts in the URLs that have it."""
    found: dict[str, Parts] = defaultdict(dict)
    for place, rest in enumerate(urls.rests):
        if "?" in rest:
            own: dict[str, str] = {}
            for part in urls.query_parts(place):
                own.setdefault(part.partition("=")[0], part)
            for name, part in own.items() if len(own) <= _MAX_PARAMETERS else ():
                found[f"query[{name}]"][place] = part
    return found


def _alike_but_for(parts: Parts, urls: UrlList) -> list[list[int]]:
    """Groups of two or more URLs that differ only in the parameter; a URL without the parameter comes first."""
    groups: dict[int, list[int]] = {}
    for place, part in parts.items():
        rest = urls.without_part(place, part)
        known = xxhash.xxh3_64_intdigest(rest.encode())
        if known not in groups:
            without = urls.place.get(rest)
            groups[known] = [] if without is None else [without]
        groups[known].append(place)
    return [group for group in groups.values() if len(group) > 1]


def _pairs_with_leader(groups: Sequence[list[int]], urls: UrlList) -> Pairs:
    """Pair each URL with the smallest URL of its group, which lacks the parameter if any URL does."""
    leaders = [min(group, key=lambda place: (len(urls.forms[place]), urls.forms[place])) for group in groups]
    return [
        (place, leader) for group, leader in zip(groups, leaders, strict=True) for place in group if place != leader
    ]


def _frequent_parts(groups: Sequence[Sequence[int]], parts: Parts) -> list[str]:
    counts = Counter(parts[place] for group in groups for place in group if place in parts)
    return heapq.nsmallest(_N_DEFAULTS, counts, key=lambda part: (-counts[part], len(part), part))


def _pairs_with(part: str, groups: Sequence[Sequence[int]], parts: Parts) -> Iterator[tuple[int, int]]:
    """Pair each URL that has another value with the URL of its group that has *part*."""
    for group in groups:
        having = [place for place in group if place in parts]
        target = next((place for place in having if parts[place] == part), None)
        if target is not None:
            yield from ((place, target) for place in having if place != target)


def _supported(rule: Rule, pairs: Pairs, urls: UrlList) -> LikelyParameter:
    return LikelyParameter(rule, sum(urls.may_be_same(*pair) for pair in pairs), pairs)
