"""The rules of all miners, each about the URLs of one host. A rule has a context and a transformation.

The *context* says where a rule may be applied, the *transformation* what it does. Both use the keys of
:mod:`dedup_crawler.urls.keyvalue`. A key that the context does not name may have any value or be missing. A key that
the transformation does not name is not changed. Read :mod:`~dedup_crawler.rules.language.matchers` and
:mod:`~dedup_crawler.rules.language.operations` for the two parts.

The papers' letters: KDD'08 and WSDM'10 *c* -> context, *t* -> transformation; WWW'10 ``keep`` -> :class:`Set`,
``replace`` -> :class:`Copy`, ``ignore`` -> :class:`Star`.

A *substring rule* is for changes that cut across the keys of a URL (``story?id=`` to ``story_``). Z. Bar-Yossef, I.
Keidar, U. Schonfeld, "Do not crawl in the DUST", WWW 2007: *alpha* -> old, *beta* -> new, ``^`` and ``$`` -> at_start,
at_end. It replaces whole tokens of path and query. A token is a run of letters, digits and escapes, or one other
character. The new text is shorter than the old one, or as long and lexicographically smaller, so repeated application
always ends.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from dedup_crawler.errors import BadInputError
from dedup_crawler.rules.language.matchers import ANY, Literal, Matcher, OneOf, written
from dedup_crawler.rules.language.operations import (
    STAR,
    Copy,
    Drop,
    Edit,
    Operation,
    Set,
    Unordered,
    check_operation,
    does,
    number_anew,
    sort_repeated,
)
from dedup_crawler.rules.language.statistics import NO_STATISTICS, MergeEvidence, RuleStatistics
from dedup_crawler.urls.keyvalue import KeyValues
from dedup_crawler.urls.normal import normal_form

_KEY = re.compile(
    r"scheme|(?:ext|slash|root|path\.length|path\[\d{1,4}\]|query\[[^#]*\](?:#[1-9]\d{0,5})?)(?:@\d{1,3}){0,3}",
    re.DOTALL | re.ASCII,
)
_KNOWN_KEYS = "scheme, path.length, path[N], ext, slash, query[NAME]"
MAX_LENGTH = 4_096
"""Characters of the longest path and query to which substring rules are applied: more could take seconds."""
START, END = "<", ">"
"""Marks before the first and behind the last token; no URL in normal form has these characters."""
split_tokens = re.compile(r"[A-Za-z0-9%]+|[^A-Za-z0-9%]").findall  # in normal form % occurs only in escapes
"""Split path and query (in normal form) into tokens: ``/story?id=7`` has six."""


@dataclass(frozen=True)
class Rule:
    """A rule for the URLs of one host.

    BadInputError if a key is unknown, or the result of an operation would be no URL of the same host.
    """

    host: str
    """Host with its port, lower-case."""
    context: Mapping[str, Matcher]
    transformation: Mapping[str, Operation]
    absent: frozenset[str] = frozenset()
    """Keys that must be missing."""
    origin: str = ""
    """Name of the method that found the rule."""
    statistics: RuleStatistics = field(default=NO_STATISTICS, compare=False)

    def __post_init__(self) -> None:
        for key in sorted(self.spoken()):
            if not _KEY.fullmatch(key):
                raise BadInputError(f"unknown key {key!r}; known: {_KNOWN_KEYS}")
        for key, operation in self.transformation.items():
            check_operation(key, operation)

    @cached_property
    def copied(self) -> frozenset[str]:
        """Keys whose values the rule copies to others."""
        return frozenset(each.key for each in self.transformation.values() if isinstance(each, Copy))

    @cached_property
    def behind_dropped(self) -> tuple[str, ...]:
        """Key of the next value of each query key that is dropped: ``query[f]#2`` becomes ``query[f]`` then."""
        dropped = [key.partition("#") for key, done in self.transformation.items() if isinstance(done, Drop)]
        # not for pieces of values, query[f]@0
        whole = [(name, number or "1") for name, _, number in dropped if name[:6] == "query[" and name[-1] == "]"]
        return tuple(f"{name}#{int(number) + 1}" for name, number in whole if number.isdecimal())

    def required(self) -> frozenset[str]:
        """Keys that a URL must have for the rule to be applied."""
        return self.copied.union(self.context)

    def spoken(self) -> frozenset[str]:
        """Every key that the rule names."""
        return self.required() | self.absent | self.transformation.keys()

    def matches(self, values: Mapping[str, str | None]) -> bool:
        """Return True if the rule may be applied to a URL of its host."""
        for key, matcher in self.context.items():
            if key not in values or not (matcher is ANY or matcher.matches(values[key])):
                return False
        return self.absent.isdisjoint(values) and (not self.copied or self.copied <= values.keys())

    def apply(self, values: Mapping[str, str | None]) -> KeyValues:
        """Transform the map of a URL that the rule matches; copies take the values of *values*."""
        changed = dict(values)
        for key, operation in self.transformation.items():
            if isinstance(operation, Drop):
                changed.pop(key, None)
            elif isinstance(operation, Set):
                changed[key] = operation.value
            elif isinstance(operation, Copy):
                changed[key] = values[operation.key]
            elif isinstance(operation, Unordered):
                sort_repeated(changed, key, operation.is_set)
            elif key in changed:
                changed[key] = operation.parts(changed[key])[0] if isinstance(operation, Edit) else STAR
        for key in self.behind_dropped:
            if key in changed:
                number_anew(changed, key.partition("#")[0])
        return changed

    def specificity(self) -> tuple[int, ...]:
        """Sort key, greater for more specific contexts: numbers of literals, sets, classes, and keys of any value."""
        matchers = list(self.context.values())
        n_literals = sum(isinstance(matcher, Literal) for matcher in matchers)
        n_sets = sum(isinstance(matcher, OneOf) for matcher in matchers)
        n_any = sum(matcher == ANY for matcher in matchers)
        return n_literals, n_sets, len(matchers) - n_literals - n_sets - n_any, n_any + len(self.absent)

    @property
    def evidence(self) -> MergeEvidence:
        """Merge groups of the rule in training."""
        return self.statistics.evidence

    def identity(self) -> tuple[object, ...]:
        """Hashable key: equal for two rules that do the same in the same context."""
        return self.host, frozenset(self.context.items()), self.absent, frozenset(self.transformation.items())

    def __str__(self) -> str:
        """One line for a person."""
        context = [f"{key} {written(matcher)}" for key, matcher in sorted(self.context.items())]
        context += [f"no {key}" for key in sorted(self.absent)]
        done = [does(key, operation) for key, operation in sorted(self.transformation.items())]
        return f"{self.host}: where {' and '.join(context) or 'anything'}: {', '.join(done) or 'nothing'}"


@dataclass(frozen=True)
class SubstringRule:
    """A rule for the URLs of one host.

    BadInputError if *old* is empty, *old* or *new* is not in normal form, or *new* is not smaller than *old*.
    """

    host: str
    """Host with its port, lower-case."""
    old: str
    new: str
    at_start: bool = False
    """True if *old* must be at the start of the path."""
    at_end: bool = False
    """True if *old* must be at the end of the URL."""
    sections: frozenset[str] = frozenset()
    """First path parts of the URLs that the rule is about; empty for all URLs."""
    origin: str = ""
    """Name of the method that found the rule."""
    statistics: RuleStatistics = field(default=NO_STATISTICS, compare=False)

    def __post_init__(self) -> None:
        if not self.old:
            raise BadInputError("a substring rule needs a text to replace: 'old' is empty")
        for text in (self.old, self.new):
            if normal_form(f"http://a/{text}") != f"http://a/{text}":
                raise BadInputError(f"substring {text!r} is not in normal form, so no URL can contain it")
        if (len(self.new), self.new) >= (len(self.old), self.old):
            raise BadInputError(f"substring {self.new!r} is not smaller than {self.old!r}: such a rule may never end")

    def tokens(self) -> tuple[str, ...]:
        """Tokens that a URL must contain, with the marks of its start and end."""
        return (START,) * self.at_start + tuple(split_tokens(self.old)) + (END,) * self.at_end

    @property
    def evidence(self) -> MergeEvidence:
        """Merge groups of the rule in training."""
        return self.statistics.evidence

    def identity(self) -> tuple[object, ...]:
        """Hashable key: equal for two rules that do the same."""
        return self.host, self.old, self.new, self.at_start, self.at_end, self.sections

    def __str__(self) -> str:
        """One line for a person."""
        places = {(True, True): " as a whole", (True, False): " at the start", (False, True): " at the end"}
        where = places.get((self.at_start, self.at_end), "")
        parts = " or ".join(section or "missing" for section in sorted(self.sections))
        within = f" where path part 1 is {parts}" if parts else ""
        return f"{self.host}: replace {self.old!r}{where} by {self.new!r}{within}"


AnyRule = Rule | SubstringRule


class _FiledRule(NamedTuple):
    """A rule that is filed under its rarest token."""

    number: int
    n_before: int
    """Number of tokens of the substring before the rarest one."""
    tokens: list[str]
    rule: SubstringRule


def section_of(rest: str) -> str:
    """First part of a path, given path and query: ``feed`` of ``/feed/atom?tag=a``; empty for ``/?tag=a``."""
    return rest.partition("?")[0][1:].partition("/")[0]


class SubstringIndex:
    """Finds the substring rules of one host."""

    def __init__(self, numbered: Iterable[tuple[int, SubstringRule]]) -> None:
        rules = [(number, rule, list(rule.tokens())) for number, rule in sorted(numbered, key=lambda pair: pair[0])]
        n_rules = Counter(token for _, _, tokens in rules for token in set(tokens))
        self._waiting: dict[str, list[_FiledRule]] = defaultdict(list)
        for number, rule, tokens in rules:
            n_before = min(range(len(tokens)), key=lambda place: n_rules[tokens[place]])
            self._waiting[tokens[n_before]].append(_FiledRule(number, n_before, tokens, rule))

    def fire(self, rest: str) -> tuple[int, str] | None:
        """The first rule (by number) that matches *rest* (path and query), and its result; None without one."""
        return min(self.matches(rest).items(), default=None) if len(rest) <= MAX_LENGTH else None

    def matches(self, rest: str) -> dict[int, str]:
        """Numbers of the rules that match *rest*, each with its result at the first match."""
        tokens = split_tokens(f"{START}{rest}{END}")
        found: dict[int, str] = {}
        for place, token in enumerate(tokens):
            for each in self._waiting.get(token, ()):
                if each.number not in found and (changed := _replaced(each, tokens, place)) is not None:
                    found[each.number] = changed
        return found


def _replaced(filed: _FiledRule, tokens: list[str], place: int) -> str | None:
    """Apply a rule whose rarest token is at *place* of a marked URL; None if it does not match, or no path is left."""
    start = place - filed.n_before
    end = start + len(filed.tokens)
    if start < 0 or tokens[start:end] != filed.tokens:
        return None
    if filed.rule.sections and section_of("".join(tokens[1:-1])) not in filed.rule.sections:
        return None
    changed = f"{''.join(tokens[1:start])}{filed.rule.new}{''.join(tokens[end:-1])}"
    return changed if changed[:1] == "/" else None
