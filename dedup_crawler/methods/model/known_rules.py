"""Identifiers and sentences of rules, shared by the methods whose model is a list of rules."""

from __future__ import annotations

from collections.abc import Iterable

from dedup_crawler.methods.model.answers import KnownRule
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.rule_ids import order_identifier, site_identifier
from dedup_crawler.rules.language.sentences import sentence_of
from dedup_crawler.rules.language.site_rules import SiteRule
from dedup_crawler.rules.language.substring_rule import AnyRule


def known_rules(
    hosts: Iterable[str], engine: RuleEngine, others: Iterable[tuple[str, SiteRule]] = ()
) -> dict[str, KnownRule]:
    """Rules by identifier: those that sort the query on *hosts*, those of an engine, and *others* with their hosts."""
    known = {order_identifier(host): KnownRule(f"the order of the query does not matter on {host}") for host in hosts}
    named: list[tuple[str, AnyRule | SiteRule]] = [*zip(engine.identifiers, engine.rules, strict=True)]
    named += [(site_identifier(host, rule), rule) for host, rule in others]
    return known | {
        name: KnownRule(sentence_of(rule), rule.evidence.n_groups, rule.evidence.n_wrong) for name, rule in named
    }
