"""Matchers of the rule language: conditions on one value.

None is a regular expression, so matching a value takes time linear in its length, whoever wrote the rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

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


def one_of(values: frozenset[str | None]) -> Literal | OneOf:
    """Matcher of these values: a literal if there is only one."""
    return Literal(*values) if len(values) == 1 else OneOf(values)


def sorted_values(values: Iterable[str | None]) -> list[str | None]:
    """Sort values, with None first."""
    return sorted(values, key=lambda value: (value is not None, value or ""))


def few_values(matcher: Matcher) -> list[str | None] | None:
    """The values that a literal or a set of values matches; None for other matchers."""
    if isinstance(matcher, Literal):
        return [matcher.value]
    return sorted_values(matcher.values) if isinstance(matcher, OneOf) else None


def written(matcher: Matcher) -> str:
    """Return the condition in words, behind the name of a key."""
    if isinstance(matcher, Literal):
        return f"= {matcher.value!r}" if matcher.value is not None else "has no value"
    if isinstance(matcher, (OneOf, NoneOf)):
        values = ", ".join(sorted(map(repr, matcher.values)))
        return f"{'in' if isinstance(matcher, OneOf) else 'is there, not in'} {{{values}}}"
    return "is there" if matcher == ANY else f"is {matcher.name}"
