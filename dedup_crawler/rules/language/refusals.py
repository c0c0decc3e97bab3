"""Hypotheses that the crawl did not confirm: the best supported of them are kept, for a person who wonders why."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.statistics import MergeEvidence

MAX_REFUSALS = 30
"""Hypotheses that are kept of one model."""
_MAX_LENGTH = 2_000  # characters of a sentence in a file


class Refused(NamedTuple):
    """One hypothesis that was looked at and is not believed."""

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
    """The refused hypotheses of one crawl; one that is believed after all is forgotten."""

    def __init__(self) -> None:
        self._refused: dict[Hashable, Refused] = {}
        self._believed: set[Hashable] = set()

    def add(self, name: Hashable, refused: Refused) -> None:
        """Note a hypothesis; it is often asked several times, and the last time counts."""
        if name not in self._believed:
            self._refused[name] = refused

    def believed(self, name: Hashable) -> None:
        """Note that a hypothesis holds, if only in some places."""
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
    """Read what :func:`refusals_to_json` gave; BadInputError if it cannot have."""
    return [
        Refusal(
            entry["rule"].text()[:_MAX_LENGTH],
            entry["reason"].text()[:_MAX_LENGTH],
            entry["groups"].count(),
            entry["wrong"].count(),
        )
        for entry in value.values(MAX_REFUSALS)
    ]
