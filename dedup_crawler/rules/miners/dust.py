"""Search for the rules of DustBuster on one host: find likely rules, leave out redundant ones, validate the rest.

The steps are those of Z. Bar-Yossef, I. Keidar, U. Schonfeld, WWW 2007 (poster: WWW 2006). Validation here only
compares URLs of the list; fetching them is a task of the caller.

*gamma alpha delta -> gamma beta delta* refines *alpha -> beta*. If both have nearly the same support, only the refined
rule is kept, because it says where the rule holds. If the general rule has clearly more support, both are kept, the
general one first. The paper compares each rule with a window of 1,100 others of similar support. Here each rule is
compared with the rules that it refines by one token. That is enough: a general rule has at least the support of its
refinements, so between two rules of nearly the same support there is a chain of one-token refinements.

A parameter rule says that a query parameter can be dropped, or set to one value. The authors find both kinds in the
URLs alone and filter them by page sizes; the texts that we could get do not say how. Here URLs that differ only in the
parameter are a group. For dropping, each URL is compared with the URL of its group that lacks the parameter (or the
smallest). For setting, it is compared with the URL that has the default value: of a few frequent values, the one with
most support. Unlike a substring rule, a parameter rule holds for any value. So it also covers session ids, which occur
only once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.matchers import ANY, NoneOf
from dedup_crawler.rules.language.operations import Drop, Set
from dedup_crawler.rules.language.rule import END, START, AnyRule, Rule, SubstringRule
from dedup_crawler.rules.miners.substrings import Substitution, Tokens, likely_substitutions
from dedup_crawler.rules.miners.url_list import PairsOfRule, UrlList, pairs_of_substrings, shuffled

_MAX_RULES = 2_000  # substring rules that are validated
_RELATIVE, _ABSOLUTE = 0.2, 1
"""Supports are nearly the same if they differ by at most this share of the larger one, or by this number."""
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


@dataclass(frozen=True)
class DustSearch:
    """A search for rules, with its limits."""

    origin: str
    """Origin of the rules: the name of the method."""
    min_support: int
    max_tokens: int
    max_bucket: int
    n_tried: int
    """Number of pairs on which each rule is validated; 0 skips validation."""
    epsilon: float
    """Share (0-1) of the pairs that may fail."""
    seed: int

    def rules_of(self, urls: UrlList) -> list[AnyRule]:
        """Rules of a host with their statistics, the best supported first."""
        parameters = self._parameters(urls)
        rules: list[tuple[int, AnyRule]] = [(likely.support, likely.rule) for likely in parameters]
        known = RuleEngine(likely.rule for likely in parameters)
        rules += self._substrings(urls, known)
        return [rule for _, rule in sorted(rules, key=lambda found: -found[0])]

    def _parameters(self, urls: UrlList) -> list[LikelyParameter]:
        kept: list[LikelyParameter] = []
        dropped = set()
        for likely in likely_parameters(urls, min_support=self.min_support, origin=self.origin):
            pairs = shuffled(likely.pairs, self.seed)
            ((key, operation),) = likely.rule.transformation.items()
            if not self._holds(pairs, urls) or (self.n_tried and key in dropped):
                continue
            if isinstance(operation, Drop):
                dropped.add(key)
            kept.append(likely._replace(rule=replace(likely.rule, statistics=pairs.statistics(urls))))
        return kept

    def _substrings(self, urls: UrlList, known: RuleEngine) -> list[tuple[int, AnyRule]]:
        likely = without_redundancies(
            likely_substitutions(
                urls, max_tokens=self.max_tokens, max_bucket=self.max_bucket, min_support=self.min_support
            )
        )[:_MAX_RULES]
        rules = [
            SubstringRule(
                host=urls.host,
                old="".join(token for token in found.old if token not in (START, END)),
                new="".join(token for token in found.new if token not in (START, END)),
                at_start=START in found.old,
                at_end=END in found.old,
                origin=self.origin,
            )
            for found in likely
        ]
        kept: list[tuple[int, AnyRule]] = []
        valid: set[tuple[Tokens, Tokens]] = set()
        for found, rule, pairs in zip(likely, rules, pairs_of_substrings(rules, urls, self.seed), strict=True):
            # a rule is known if the parameter rules already give one form to its first pair
            is_known = len({known.form(urls.forms[place]) for pair in pairs.pairs[:1] for place in pair}) == 1
            if self.n_tried and (is_known or is_implied(found.old, found.new, valid)):
                continue
            if self._holds(pairs, urls):
                valid.add((found.old, found.new))
                kept.append((found.support, replace(rule, statistics=pairs.statistics(urls))))
        return kept

    def _holds(self, pairs: PairsOfRule, urls: UrlList) -> bool:
        return not self.n_tried or pairs.is_valid(urls, self.n_tried, self.epsilon)


def without_redundancies(rules: Sequence[Substitution]) -> list[Substitution]:
    """Leave out rules that have a refinement of nearly the same support; the order stays."""
    support = {(rule.old, rule.new): rule.support for rule in rules}
    redundant = set()
    for rule in rules:
        for general in generalized_once(rule.old, rule.new):
            known = support.get(general)
            if known is not None and known - rule.support <= max(_RELATIVE * known, _ABSOLUTE):
                redundant.add(general)
    return [rule for rule in rules if (rule.old, rule.new) not in redundant]


def is_implied(old: Tokens, new: Tokens, valid: Collection[tuple[Tokens, Tokens]]) -> bool:
    """Return True if the rule refines one of the *valid* rules."""
    level = {(old, new)}
    while level and valid:
        level = {general for rule in level for general in generalized_once(*rule)}
        if not level.isdisjoint(valid):
            return True
    return False


def generalized_once(old: Tokens, new: Tokens) -> Iterator[tuple[Tokens, Tokens]]:
    """The rules that this one refines by one token, which *old* and *new* have in common at their start or end."""
    if old and new:
        if old[0] == new[0]:
            yield old[1:], new[1:]
        if old[-1] == new[-1]:
            yield old[:-1], new[:-1]


def likely_parameters(urls: UrlList, *, min_support: int, origin: str) -> list[LikelyParameter]:
    """Find the likely parameter rules of a host, the best supported first."""
    found = []
    for key, parts in sorted(_parameters_of(urls).items()):
        if len(parts) < min_support:
            continue
        groups = _alike_but_for(parts, urls)
        drop = Rule(urls.host, {key: ANY}, {key: Drop()}, origin=origin)
        dropping = _supported(drop, _pairs_with_leader(groups, urls), urls)
        setting = []
        counts = Counter(parts[place] for group in groups for place in group if place in parts)
        for part in sorted(counts, key=lambda part: (-counts[part], len(part), part))[:_N_DEFAULTS]:
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
            own = {part.partition("=")[0]: part for part in reversed(urls.query_parts(place))}
            for name, part in own.items() if len(own) <= _MAX_PARAMETERS else ():
                found[f"query[{name}]"][place] = part
    return found


def _alike_but_for(parts: Parts, urls: UrlList) -> list[list[int]]:
    """Groups of two or more URLs that differ only in the parameter; a URL without the parameter comes first."""
    groups: dict[str, list[int]] = {}
    for place, part in parts.items():
        rest = urls.without_part(place, part)
        if rest not in groups:
            without = urls.place.get(rest)
            groups[rest] = [] if without is None else [without]
        groups[rest].append(place)
    return [group for group in groups.values() if len(group) > 1]


def _pairs_with_leader(groups: Sequence[list[int]], urls: UrlList) -> Pairs:
    """Pair each URL with the smallest URL of its group, which lacks the parameter if any URL does."""
    leaders = [min(group, key=lambda place: (len(urls.forms[place]), urls.forms[place])) for group in groups]
    return [
        (place, leader) for group, leader in zip(groups, leaders, strict=True) for place in group if place != leader
    ]


def _pairs_with(part: str, groups: Sequence[Sequence[int]], parts: Parts) -> Iterator[tuple[int, int]]:
    """Pair each URL that has another value with the URL of its group that has *part*."""
    for group in groups:
        having = [place for place in group if place in parts]
        target = next((place for place in having if parts[place] == part), None)
        if target is not None:
            yield from ((place, target) for place in having if place != target)


def _supported(rule: Rule, pairs: Pairs, urls: UrlList) -> LikelyParameter:
    return LikelyParameter(rule, sum(urls.may_be_same(*pair) for pair in pairs), pairs)
