"""The evidence of rules in a crawl, and outcomes of their tests, for the tests of ``rule_evidence.py``."""

from __future__ import annotations

from dedup_crawler.live.exploration.rule_evidence import RuleEvidence


def evidence_of(training=None, known=None):
    """Return the evidence of rules with these merge groups in training, and counts of earlier crawls."""
    evidence = RuleEvidence(0.02)
    evidence.add_training(training or {})
    evidence.add_known(known or {})
    return evidence


def form(i):
    return i.to_bytes(16, "big")


def explored(evidence, outcomes, rule="r", first=0):
    for i, is_right in enumerate(outcomes, first):
        evidence.record((rule,), form(i), is_same=is_right)


def rate(evidence, *rules):
    """Return the share (0-1) of would-be drops by these rules that become tests."""
    return evidence.least_tested(rules)[1]
