"""Refused hypotheses: a model keeps those with most support, so that a person can see why they are no rules."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.statistics import MergeEvidence

MAX_REFUSALS = 30
"""Most refused hypotheses that one model keeps."""
_MAX_LENGTH = 2_000  # characters of a sentence in a file


class Refused(NamedTuple):
    """One hypothesis that was tested and is not believed."""

    rule: Any
    """The refused rule, of any kind."""
    reason: str
    evidence: MergeEvidence


class Refusal(NamedTuple):
    """A refused hypothesis, for a person and for a file."""

    sentence: str
    """Sentence of the rule, with its counts."""
    reason: str
    n_groups: int
    n_wrong: int


class Refusals:
    """The refused hypotheses of one crawl. A hypothesis that is believed later is removed."""

    def __init__(self) -> None:
        self._refused: dict[Hashable, Refused] = {}
        self._believed: set[Hashable] = set()

    def add(self, name: Hashable, refused: Refused) -> None:
        """Note a refused hypothesis. It may be tested several times; the last refusal counts."""
        if name not in self._believed:
            self._refused[name] = refused

    def believed(self, name: Hashable) -> None:
        """Note that a hypothesis holds, at least in some contexts."""
        self._believed.add(name)
        self._refused.pop(name, None)

    def all(self) -> list[Refused]:
        """Refused hypotheses in the order in which they were first refused."""
        return list(self._refused.values())


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
