"""Answers of a method about a URL, in the words that all methods share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict


@dataclass(frozen=True, slots=True)
class Referrer:
    """The page that holds the link."""

    url: str
    form: str
    """Its canonical form."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Reason for the canonical form of a URL."""

    url: str
    form: str
    reason: str
    """One sentence for a person."""
    evidence: Mapping[str, object] = field(default_factory=dict)
    """Counts behind the reason."""


class KnownRule(NamedTuple):
    """One rule of a model."""

    sentence: str
    """The rule in words, for a person."""
    n_groups: int = 0
    """Merge groups that it made at training; 0 where nothing was counted."""
    n_wrong: int = 0
    """Merge groups that showed several pages."""


class Asked(NamedTuple):
    """A URL as it was asked, and its form."""

    url: str
    referrer: Referrer | None
    form: str


class Record(TypedDict):
    """Answer of a model about one URL; a row of a table."""

    url: str
    form: str
    covered: bool
    """True if a crawl that goes on has nothing to gain from it."""
    rules: list[str]
    """Identifiers of the rules that lead to the form, as in the stats of a crawl."""
    reason: str
