"""The rule of all miners: a context (where a rule may be applied) and a transformation (what it does).

Both use the keys of :mod:`dedup_crawler.urls.keyvalue`, or the finer keys of another map
(:mod:`dedup_crawler.urls.keyvalue`). A key that the context does not name may have any value or be missing. A
key that the transformation does not name is not changed. Read :mod:`~dedup_crawler.rules.language.matchers` and
:mod:`~dedup_crawler.rules.language.operations` for the two parts.

The papers' letters: KDD'08 and WSDM'10 *c* -> context, *t* -> transformation; WWW'10 ``keep`` -> :class:`Set`,
``replace`` -> :class:`Copy`, ``ignore`` -> :class:`Star`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

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

_KEY = re.compile(
    r"scheme|(?:ext|slash|root|path\.length|path\[\d{1,4}\]|query\[[^#]*\](?:#[1-9]\d{0,5})?)(?:@\d{1,3}){0,3}",
    re.DOTALL | re.ASCII,
)
_KNOWN_KEYS = "scheme, path.length, path[N], ext, slash, query[NAME]"


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
