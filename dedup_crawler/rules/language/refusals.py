"""Refused hypotheses: a model keeps those with most support, so that a person can see why they are no rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.sentences import sentence_of
from dedup_crawler.rules.language.site_rules import SiteRule
from dedup_crawler.rules.language.substring_rule import AnyRule

MAX_REFUSALS = 30
"""Most refused hypotheses that one model keeps."""
_MAX_LENGTH = 2_000  # characters of a sentence in a file


class Refusal(NamedTuple):
    """A hypothesis that was tested and is not believed."""

    sentence: str
    """Sentence of the rule, with its counts."""
    reason: str
    n_groups: int
    n_wrong: int


def refusals_of(refused: Iterable[tuple[AnyRule | SiteRule, str]]) -> list[Refusal]:
    """Choose the rules with most right merge groups, each sentence once, at most :data:`MAX_REFUSALS`.

    *refused* are the rules and the reasons. Hypotheses that are mostly wrong are left out.
    """
    said: dict[str, Refusal] = {}
    found = [(rule.evidence, rule, why) for rule, why in refused if 2 * rule.evidence.n_wrong < rule.evidence.n_groups]
    for evidence, rule, reason in sorted(found, key=lambda each: each[0].n_wrong - each[0].n_groups):
        if len(said) == MAX_REFUSALS:
            break
        sentence = sentence_of(rule)
        said.setdefault(sentence, Refusal(sentence, reason, evidence.n_groups, evidence.n_wrong))
    return list(said.values())


def refusals_to_json(refusals: Sequence[Refusal]) -> list[dict[str, Any]]:
    """Return refusals as JSON values."""
    return [
        {"rule": each.sentence, "reason": each.reason, "groups": each.n_groups, "wrong": each.n_wrong}
        for each in refusals
    ]


def refusals_from_json(value: JsonValue) -> list[Refusal]:
    """Read the result of :func:`refusals_to_json`; BadInputError if *value* is not one."""
    return [
        Refusal(
            entry["rule"].text()[:_MAX_LENGTH],
            entry["reason"].text()[:_MAX_LENGTH],
            entry["groups"].count(),
            entry["wrong"].count(),
        )
        for entry in value.values(MAX_REFUSALS)
    ]
