"""Answers of a model about URLs and rules, of the same types for all methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict

from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.identifiers import order_identifier, site_identifier
from dedup_crawler.rules.language.rule import AnyRule
from dedup_crawler.rules.language.sentences import sentence_of
from dedup_crawler.rules.language.site_rules import SiteRule


@dataclass(frozen=True, slots=True)
class Referrer:
    """The page that holds the link."""

    url: str
    form: str
    """Canonical form of the page."""
    link_names: frozenset[str] | None = None
    """Names in all links of the page (:mod:`dedup_crawler.urls.page_links`); None if not known: then rules
    about short lists say nothing."""


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
    """The rule in words."""
    n_groups: int = 0
    """Number of merge groups in training; 0 if they were not counted."""
    n_wrong: int = 0
    """Number of merge groups that showed several pages."""


def known_rules(
    hosts: Iterable[str], engine: RuleEngine, others: Iterable[tuple[str, SiteRule]] = ()
) -> dict[str, KnownRule]:
    """Identifier -> rule: the sorting of queries on *hosts*, the rules of *engine*, and *others* with their hosts."""
    known = {order_identifier(host): KnownRule(f"the order of the query does not matter on {host}") for host in hosts}
    named: list[tuple[str, AnyRule | SiteRule]] = [*zip(engine.identifiers, engine.rules, strict=True)]
    named += [(site_identifier(host, rule), rule) for host, rule in others]
    return known | {
        name: KnownRule(sentence_of(rule), rule.evidence.n_groups, rule.evidence.n_wrong) for name, rule in named
    }


class Asked(NamedTuple):
    """A URL with its referrer and its form."""

    url: str
    referrer: Referrer | None
    form: str


class Record(TypedDict):
    """Answer of a model about one URL, a row of a table."""

    url: str
    form: str
    covered: bool
    """True if a crawl that continues gains nothing from the URL."""
    rules: list[str]
    """Identifiers of the rules about the URL, as in the stats of a crawl."""
    reason: str
