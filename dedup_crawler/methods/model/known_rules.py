"""Identifiers and sentences of rules, shared by the methods whose model is a list of rules."""

from __future__ import annotations

from collections.abc import Iterable

from dedup_crawler.methods.model.answers import KnownRule
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.applying.link_files import HostLinks
from dedup_crawler.rules.language.rule_ids import (
    alias_identifier,
    coverage_identifier,
    order_identifier,
    referrer_identifier,
)
from dedup_crawler.rules.language.sentences import alias_sentence, coverage_sentence, referrer_sentence, rule_sentence
from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.rules.learning.host_aliases import HostAliases


def order_rules(hosts: Iterable[str]) -> dict[str, KnownRule]:
    """Rules that sort the queries of each host."""
    return {order_identifier(host): KnownRule(f"the order of the query does not matter on {host}") for host in hosts}


def engine_rules(engine: RuleEngine) -> dict[str, KnownRule]:
    """The rules of an engine."""
    return {
        known: known_rule(rule_sentence(rule), rule.statistics.evidence)
        for known, rule in zip(engine.identifiers, engine.rules, strict=True)
    }


def alias_rules(aliases: HostAliases) -> dict[str, KnownRule]:
    """The hosts that are another one."""
    return {
        alias_identifier(alias): known_rule(alias_sentence(alias), alias.evidence) for alias in aliases.of_host.values()
    }


def link_rules(host: str, links: HostLinks) -> dict[str, KnownRule]:
    """Rules about the links of a host."""
    again = {
        referrer_identifier(host, rule): known_rule(referrer_sentence(rule), rule.evidence)
        for rule in links.referrer_rules.values()
    }
    covering = {
        coverage_identifier(host, rule): known_rule(coverage_sentence(rule), rule.evidence)
        for rule in links.coverage_rules.values()
    }
    return {**again, **covering}


def known_rule(sentence: str, evidence: MergeEvidence) -> KnownRule:
    """A rule with what was counted of it."""
    return KnownRule(sentence, evidence.n_groups, evidence.n_wrong)
