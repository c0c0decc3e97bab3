"""Which rules may meet on one URL: what one rule does alone is right only where the others do not mind.

A model applies its rules until nothing changes, the most specific one first; other programs apply theirs in some order,
and know some of them only. A rule may stand alone in such a file if it never changes what the model makes of a URL in
the end: ``form(step(url)) == form(url)``. Then URLs that the file merges have one form, whatever else it holds.

That is so where all rules that can fire on the way from a URL are *compatible* in pairs (they speak of different keys,
do the same, or one drops what the other shortens): then any order ends in one form (M. H. A. Newman, "On theories with
a combinatorial definition of 'equivalence'", 1942). A rule that is not compatible is kept out of the way by leaving
URLs alone that it could ever fire on, told by conditions that no other rule can make true: those about keys that
nothing changes, and about values of keys that are at most dropped.

All this holds for URLs in normal form with a plain path (no empty parts) and a plain query (every name once); of others
the steps are to keep off.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dedup_crawler.rules.export.model_rules import ModelRules
from dedup_crawler.rules.rule import (
    ANY,
    Copy,
    Cut,
    Drop,
    Literal,
    Matcher,
    OneOf,
    Operation,
    Rule,
    Set,
    Star,
    Unordered,
)
from dedup_crawler.rules.substring_rule import SubstringRule
from dedup_crawler.urls.normal import normal_form
from dedup_crawler.urls.site_grammar import is_marked

_MAX_FIRINGS = 9  # the engine gives up after ten passes
_PARTS = "path[*]"
"""Stands for the value of every part of the path."""
_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,8}", re.ASCII)


@dataclass(frozen=True)
class Conditions:
    """What is true of a URL."""

    matchers: Mapping[str, Matcher]
    absent: frozenset[str] = frozenset()
    has: Mapping[str, str] = field(default_factory=dict)
    """Key -> text that its value holds."""


@dataclass(frozen=True)
class Step:
    """A rule that may stand alone."""

    number: int
    """Of the rule in the model."""
    rule: Rule
    separable: frozenset[str]
    """Keys of its transformation that may be changed without the others."""
    excluded: tuple[Conditions, ...]
    """URLs that it has to leave alone."""
    names: frozenset[str] | None
    """The only names that the query may have; None for any."""
    needs_path: bool
    """Whether the URL of a host's root has to be left alone."""
    needs_plain_path: bool
    """Whether a path that says something by name has to be left alone."""
    needs_no_query: bool
    """Whether a URL with a query has to be left alone."""
    needs_one_ending: bool
    """Whether a path that ends in two extensions has to be left alone."""

    @property
    def conditions(self) -> Conditions:
        """Where it applies."""
        return Conditions(self.rule.context, self.rule.absent)


@dataclass(frozen=True)
class Unsaid:
    """A rule that cannot stand alone."""

    number: int
    reason: str


def plan_steps(model: ModelRules) -> Iterator[Step | Unsaid]:
    """Say of each rule whether, and where, it may stand alone."""
    for number, rule in enumerate(model.rules):
        yield _planned(number, rule, model)


def _planned(number: int, rule: Rule | SubstringRule, model: ModelRules) -> Step | Unsaid:
    if isinstance(rule, SubstringRule):
        return Unsaid(number, "a substring may stand anywhere, where other rules look too")
    if rule.host in model.ordered_hosts:
        return Unsaid(number, "on its host the order of the query matters")
    if number in model.watched:
        return Unsaid(number, "it leaves a URL alone when what it drops has come with a third page")
    if (reason := _why_alone(rule, model)) is not None:
        return Unsaid(number, reason)
    return _met(number, rule, model)


def _why_alone(rule: Rule, model: ModelRules) -> str | None:
    """Why a rule cannot be said, whatever the others are."""
    url_map = model.maps.get(rule.host)
    if url_map is not None and not all(url_map.is_whole(key) for key in rule.spoken()):
        return "it speaks of pieces of values"
    if touched(rule) is None:
        return "it builds another path, or copies values"
    if rule.host in model.read_otherwise and any(
        is_marked(key[6:]) for key in rule.required() | rule.transformation.keys() if key.startswith("query[")
    ):
        return "it is about what the path says by name, which the format cannot tell"
    if rule.host in model.other_queries and any(
        key.startswith("query[") for key in rule.required() | rule.transformation.keys()
    ):
        return "semicolons or lists stand in the queries of its host, which the format cannot tell"
    if any("#" in key for key in rule.required()):
        return "it is about parameters that come more than once"
    return None


def _met(number: int, rule: Rule, model: ModelRules) -> Step | Unsaid:
    of_host = {place: other for place, other in enumerate(model.rules) if other.host == rule.host and place != number}
    if any(isinstance(other, SubstringRule) for other in of_host.values()):
        return Unsaid(number, "a substring rule of its host may look at what it leaves")
    others = {place: other for place, other in of_host.items() if isinstance(other, Rule)}
    url_map = model.maps.get(rule.host)
    put_aside: set[int] = set()
    while True:
        meeting = _meeting(rule, {place: other for place, other in others.items() if place not in put_aside})
        bad = _incompatible(rule, meeting)
        bad |= {place for place in meeting if place in model.watched}
        if url_map is not None:
            bad |= {place for place in meeting if not all(map(url_map.is_whole, others[place].spoken()))}
        if not bad:
            break
        put_aside |= bad
    group = [rule, *meeting.values()]
    if len({(key, operation) for each in group for key, operation in each.transformation.items()}) > _MAX_FIRINGS:
        return Unsaid(number, f"more than {_MAX_FIRINGS} rules may meet on one URL")
    excluded = []
    for place in sorted(put_aside):
        lasting = lasting_conditions(others[place], group)
        if contradict(Conditions(rule.context, rule.absent), lasting):
            continue
        if not (lasting.matchers or lasting.absent or lasting.has):
            return Unsaid(number, f"it may meet another rule on one URL ({others[place]})")
        excluded.append(lasting)
    return Step(
        number,
        rule,
        frozenset(_separable(rule)),
        tuple(excluded),
        model.query_keys.get(rule.host),
        needs_path=any(isinstance(each.transformation.get(key), Set) for each in group for key in ("slash", "ext")),
        needs_plain_path=rule.host in model.read_otherwise,
        needs_no_query=rule.host in model.other_queries,
        needs_one_ending=any("ext" in each.transformation for each in group),
    )


def _meeting(rule: Rule, others: Mapping[int, Rule]) -> dict[int, Rule]:
    """The rules that may fire on the way from a URL that *rule* is for: fewer rules change fewer keys."""
    conditions = Conditions(rule.context, rule.absent)
    meeting = dict(others)
    while True:
        group = [rule, *meeting.values()]
        left = {
            place: other
            for place, other in meeting.items()
            if not contradict(conditions, lasting_conditions(other, group))
        }
        if len(left) == len(meeting):
            return left
        meeting = left


def _incompatible(rule: Rule, meeting: Mapping[int, Rule]) -> set[int]:
    """Those of the others that are not compatible with *rule* or with each other."""
    places = sorted(meeting)
    bad = {place for place in places if not are_compatible(rule, meeting[place])}
    for index, one in enumerate(places):
        for other in places[index + 1 :]:
            if not {one, other} & bad and not are_compatible(meeting[one], meeting[other]):
                bad.add(max(one, other, key=lambda place: (_n_conditions(meeting[place]), place)))  # for fewer URLs
    return bad


def _n_conditions(rule: Rule) -> int:
    return len(rule.context) + len(rule.absent)


def touched(rule: Rule) -> frozenset[str] | None:
    """Keys that a rule may change, on plain URLs; None where nobody knows."""
    if (last := last_part(rule)) is not None:
        # the part before it is the last one then, and may end like a file
        return frozenset(("path.length", f"path[{last}]", f"path[{last - 1}]", "ext"))
    keys: set[str] = set()
    for key, operation in rule.transformation.items():
        if "@" in key or "#" in key or isinstance(operation, Copy):
            return None
        if isinstance(operation, Set) and not _is_plain(key, operation.value):
            return None
        if key.startswith("path["):
            is_there = key in rule.context or isinstance(operation, (Cut, Star))
            if not is_there or isinstance(operation, (Drop, Unordered)):
                return None
            keys |= {key, "ext"}  # what is left may end like a file
        elif key == "ext":
            keys |= {"ext", _PARTS}  # the last part may end like a file without it, too
        elif key in ("path.length", "root"):
            return None
        else:
            keys.add(key)
    return frozenset(keys)


def last_part(rule: Rule) -> int | None:
    """Which part of the path goes, where a rule does nothing but drop the last one."""
    length = rule.context.get("path.length")
    if not isinstance(length, Literal) or (length.value or "").lstrip("123456789") not in ("", "0"):
        return None
    last = int(length.value or "0") - 1
    shorter = {"path.length": Set(str(last)), f"path[{last}]": Drop()}
    return last if last >= 1 and rule.transformation == shorter else None


def are_compatible(one: Rule, other: Rule) -> bool:
    """Whether two rules end in the same, whichever comes first, on all URLs that both are for."""
    ours, theirs = touched(one), touched(other)
    if ours is None or theirs is None:
        return False
    if one.transformation == other.transformation:
        return True
    shared = one.transformation.keys() & other.transformation.keys()
    if not shared:
        return not _overlap(ours, _spoken(other)) and not _overlap(theirs, _spoken(one))
    (key,) = shared if len(shared) == 1 else ("",)
    if len(one.transformation) > 1 or len(other.transformation) > 1 or not key.startswith("query["):
        return False
    return (_absorbs(one, other, key) or _absorbs(other, one, key)) and key not in one.absent | other.absent


def _absorbs(drops: Rule, shortens: Rule, key: str) -> bool:
    """Whether one rule drops the value of a key whatever it is, and the other one only changes it."""
    operations = drops.transformation[key], shortens.transformation[key]
    return (
        isinstance(operations[0], Drop)
        and isinstance(operations[1], (Cut, Star))
        and drops.context.get(key, ANY) == ANY
    )


def lasting_conditions(rule: Rule, group: Collection[Rule]) -> Conditions:
    """What must be true of a URL if *rule* is ever to change what the rules of *group* (itself aside) make of it."""
    changed: dict[str, set[type[Operation]]] = {}
    for other in group:
        if other is rule:
            continue
        keys = touched(other)
        for key in keys if keys is not None else {"*"}:
            operation = other.transformation.get(key)
            changed.setdefault(key, set()).add(type(operation) if operation is not None else Set)

    def stays(key: str) -> bool:
        return "*" not in changed and not _overlap(changed, (key,))

    def only_goes(key: str) -> bool:
        return stays(key) or ("*" not in changed and changed.get(key) == {Drop} and key.startswith("query["))

    matchers = {key: matcher for key, matcher in rule.context.items() if only_goes(key)}
    absent = frozenset(key for key in rule.absent if stays(key) and "#" not in key)
    has: dict[str, str] = {}
    if len(rule.transformation) == 1:
        ((key, operation),) = rule.transformation.items()
        if isinstance(operation, Cut) and stays(key):
            has[key] = operation.delimiter
        elif isinstance(operation, (Drop, Star, Cut)) and only_goes(key):
            matchers.setdefault(key, ANY)
    return Conditions(matchers, absent, has)


def contradict(ours: Conditions, theirs: Conditions) -> bool:
    """Whether no plain URL meets both."""
    if any("#" in key for key in theirs.matchers):
        return True
    if not ours.absent.isdisjoint(theirs.matchers) or not theirs.absent.isdisjoint(ours.matchers):
        return True
    return any(
        are_disjoint(matcher, theirs.matchers[key]) for key, matcher in ours.matchers.items() if key in theirs.matchers
    )


def are_disjoint(one: Matcher, other: Matcher) -> bool:
    """Whether no value is matched by both, as far as can be told by looking at them."""
    for few, any_other in ((one, other), (other, one)):
        if isinstance(few, Literal):
            return not any_other.matches(few.value)
        if isinstance(few, OneOf):
            return not any(map(any_other.matches, few.values))
    return False


def _separable(rule: Rule) -> Iterable[str]:
    """Keys that may be changed alone: the rule still applies afterwards, and does the rest."""
    if last_part(rule) is not None:
        return
    for key, operation in rule.transformation.items():
        matcher = rule.context.get(key)
        if len(rule.transformation) == 1 or matcher is None:
            yield key
        elif isinstance(operation, (Set, Star)):
            if matcher.matches(operation.value if isinstance(operation, Set) else "*"):
                yield key
        elif isinstance(operation, Cut) and matcher == ANY:
            yield key


def _spoken(rule: Rule) -> frozenset[str]:
    return frozenset(key.partition("#")[0] for key in rule.spoken())


def _overlap(changed: Collection[str], spoken: Collection[str]) -> bool:
    return any(key in changed or (_PARTS in changed and key.startswith("path[")) for key in spoken)


def _is_plain(key: str, value: str | None) -> bool:
    """Whether a value that is written is read as it stands."""
    if key == "scheme":
        return value in ("http", "https")
    if key == "slash":
        return value == "/"
    if value is None or (key.startswith("path[") and not value):
        return False
    if key == "ext":
        return _EXTENSION.fullmatch(value) is not None
    return normal_form(f"http://a/?{value}") == f"http://a/?{value}" and not set(value) & set("/?&#.=")
