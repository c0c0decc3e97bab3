"""The rule of all miners: a context (where a rule may be applied) and a transformation (what it does).

Both use the keys of :mod:`dedup_crawler.urls.keyvalue`, or the finer keys of another map
(:mod:`dedup_crawler.urls.keyvalue`). A key that the context does not name may have any value or be missing. A
key that the transformation does not name is not changed. Rules have no regular expressions, so matching a value takes
time linear in its length, whoever wrote the rule.

The papers' letters: KDD'08 and WSDM'10 *c* -> context, *t* -> transformation; WWW'10 ``keep`` -> :class:`Set`,
``replace`` -> :class:`Copy`, ``ignore`` -> :class:`Star`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dedup_crawler.errors import BadInputError
from dedup_crawler.rules.language.statistics import NO_STATISTICS, MergeEvidence, RuleStatistics
from dedup_crawler.urls.keyvalue import KeyValues

STAR = "*"
"""Stands for a value that does not matter."""

_KEY = re.compile(
    r"scheme|(?:ext|slash|root|path\.length|path\[\d{1,4}\]|query\[[^#]*\](?:#[1-9]\d{0,5})?)(?:@\d{1,3}){0,3}",
    re.DOTALL | re.ASCII,
)
_KNOWN_KEYS = "scheme, path.length, path[N], ext, slash, query[NAME]"
_LITERAL_ONLY = {
    "path.length": re.compile(r"\d{1,3}", re.ASCII),
    "scheme": re.compile("https?"),
    "slash": re.compile("/"),
    "root": re.compile(""),
}
_CLASSES: dict[str, Callable[[str], object]] = {
    "digits": re.compile(r"[0-9]+").fullmatch,
    "hex": re.compile(r"[0-9a-f]+|[0-9A-F]+").fullmatch,
    "alpha": re.compile(r"[A-Za-z]+").fullmatch,
    "slug": re.compile(r"[0-9A-Za-z_\-]+").fullmatch,
}
CLASSES = (*_CLASSES, "any")
"""Names of the classes of values, roughly from the narrowest to the widest."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Matches one value; None is a query key without ``=``."""

    value: str | None

    def matches(self, value: str | None) -> bool:
        """Return True if *value* is this value."""
        return value == self.value


@dataclass(frozen=True, slots=True)
class OneOf:
    """Matches any of some values."""

    values: frozenset[str | None]

    def matches(self, value: str | None) -> bool:
        """Return True if *value* is one of them."""
        return value in self.values


@dataclass(frozen=True, slots=True)
class NoneOf:
    """Matches all values except these; the key must be present."""

    values: frozenset[str | None]

    def matches(self, value: str | None) -> bool:
        """Return True if *value* is none of them."""
        return value not in self.values


@dataclass(frozen=True, slots=True)
class OfClass:
    """Matches a class of values: ``digits``, ``hex``, ``alpha``, ``slug``, or ``any`` (also a key without ``=``)."""

    name: str

    def matches(self, value: str | None) -> bool:
        """Return True if *value* is of the class."""
        return self.name == "any" or (value is not None and _CLASSES[self.name](value) is not None)


ANY = OfClass("any")

Matcher = Literal | OneOf | NoneOf | OfClass


@dataclass(frozen=True, slots=True)
class Set:
    """Gives the key this value, even if the key is missing."""

    value: str | None


@dataclass(frozen=True, slots=True)
class Copy:
    """Gives the key the value of another key, which must be present."""

    key: str


@dataclass(frozen=True, slots=True)
class Drop:
    """Removes the key."""


@dataclass(frozen=True, slots=True)
class Star:
    """Replaces the value of the key by ``*``: the value does not matter. A missing key stays missing."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Keeps only the part of the value before (or behind) a delimiter; a value without the delimiter is not changed.

    If the kept part may have the delimiter too, one delimiter stays at the end that was cut. So a second cut changes
    nothing.
    """

    delimiter: str
    is_last: bool
    """True if the last delimiter counts, not the first."""
    keeps_head: bool

    def parts(self, value: str | None) -> tuple[str | None, str | None]:
        """Cut *value* into the part that is kept and the part that is removed (None if nothing is cut).

        >>> Cut("-", is_last=False, keeps_head=True).parts("7-a-title")
        ('7', 'a-title')
        >>> Cut(":", is_last=True, keeps_head=True).parts("a:b:page")
        ('a:b:', 'page')
        """
        if not value or self.delimiter not in value:
            return value, None
        head, _, tail = value.rpartition(self.delimiter) if self.is_last else value.partition(self.delimiter)
        kept, gone = (head, tail) if self.keeps_head else (tail, head)
        if self.is_last is self.keeps_head:
            kept = kept + self.delimiter if self.keeps_head else self.delimiter + kept
        return (kept, gone) if kept and gone else (value, None)


@dataclass(frozen=True, slots=True)
class Unordered:
    """Sorts the values of a repeated query key (``f=b&f=a``), and removes repeated values if they are a set."""

    is_set: bool


Operation = Set | Copy | Drop | Star | Cut | Unordered


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
            _check_operation(key, operation)

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
                _sort_repeated(changed, key, operation.is_set)
            elif key in changed:
                changed[key] = STAR if isinstance(operation, Star) else operation.parts(changed[key])[0]
        for key in self.behind_dropped:
            if key in changed:
                _number_anew(changed, key.partition("#")[0])
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
        context = [f"{key} {_written(matcher)}" for key, matcher in sorted(self.context.items())]
        context += [f"no {key}" for key in sorted(self.absent)]
        does = [_does(key, operation) for key, operation in sorted(self.transformation.items())]
        return f"{self.host}: where {' and '.join(context) or 'anything'}: {', '.join(does) or 'nothing'}"


def sorted_values(values: Iterable[str | None]) -> list[str | None]:
    """Sort values, with None first."""
    return sorted(values, key=lambda value: (value is not None, value or ""))


def few_values(matcher: Matcher) -> list[str | None] | None:
    """The values that a literal or a set of values matches; None for other matchers."""
    if isinstance(matcher, Literal):
        return [matcher.value]
    return sorted_values(matcher.values) if isinstance(matcher, OneOf) else None


def _sort_repeated(values: KeyValues, key: str, is_set: bool) -> None:
    """Sort the values of a repeated query key, which are under ``query[f]``, ``query[f]#2``, ..."""
    keys: list[str] = []
    while (name := f"{key}#{len(keys) + 1}" if keys else key) in values:
        keys.append(name)
    found = [values.pop(name) for name in keys]
    values.update(zip(keys, sorted_values(set(found) if is_set else found), strict=False))


def _number_anew(values: KeyValues, key: str) -> None:
    """Number the values of a repeated query key from 1, as they are read from the URL that is written."""
    of_key = (name for name in values if name == key or (name[: len(key) + 1] == f"{key}#" and name[-1].isdecimal()))
    names = sorted(of_key, key=lambda name: (len(name), name))
    found = [values.pop(name) for name in names]
    values.update((f"{key}#{number}" if number > 1 else key, each) for number, each in enumerate(found, start=1))


def _check_operation(key: str, operation: Operation) -> None:
    """Raise BadInputError if the result of the operation would be no URL of the same host."""
    allowed = _LITERAL_ONLY.get(key)
    if isinstance(operation, Cut) and len(operation.delimiter) != 1:
        raise BadInputError(f"{key} cannot be cut at {operation.delimiter!r}: a delimiter is one character")
    if isinstance(operation, Unordered) and (not key.startswith("query[") or key[-1] != "]"):
        raise BadInputError(f"{key} cannot be repeated, only query[NAME] can")
    if allowed is not None and isinstance(operation, (Copy, Star, Cut)):
        raise BadInputError(f"{key} can be set or dropped, nothing else")
    if key in ("scheme", "path.length") and isinstance(operation, Drop):
        raise BadInputError(f"{key} can be set, nothing else")
    if allowed is not None and isinstance(operation, Set) and not allowed.fullmatch(operation.value or ""):
        raise BadInputError(f"{key} cannot be set to {operation.value!r}")


def _written(matcher: Matcher) -> str:
    if isinstance(matcher, Literal):
        return f"= {matcher.value!r}" if matcher.value is not None else "has no value"
    if isinstance(matcher, (OneOf, NoneOf)):
        values = ", ".join(sorted(map(repr, matcher.values)))
        return f"{'in' if isinstance(matcher, OneOf) else 'is there, not in'} {{{values}}}"
    return "is there" if matcher == ANY else f"is {matcher.name}"


def _does(key: str, operation: Operation) -> str:
    if isinstance(operation, Set):
        return f"set {key} to {operation.value!r}"
    if isinstance(operation, Copy):
        return f"set {key} to that of {operation.key}"
    if isinstance(operation, Cut):
        side = "before" if operation.keeps_head else "after"
        return f"cut {key} to the part {side} the {'last' if operation.is_last else 'first'} {operation.delimiter!r}"
    if isinstance(operation, Unordered):
        return f"sort {key}{', each value once' * operation.is_set}"
    return f"{'drop' if isinstance(operation, Drop) else 'ignore'} {key}"
