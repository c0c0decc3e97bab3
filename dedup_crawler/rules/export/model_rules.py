"""Input and result of an export, and the export as a plain table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from dedup_crawler.rules.language.substring_rule import AnyRule
from dedup_crawler.urls.keyvalue import UrlMap

COLUMNS = ("rule", "groups", "wrong", "switched_off", "sentence")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A rule that is not in the exported file."""

    sentence: str
    reason: str


@dataclass(frozen=True, slots=True)
class Export:
    """A file in the format of another program."""

    text: str
    n_said: int
    """Number of rules in the file."""
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    """Limits of the format, for the user."""


@dataclass(frozen=True)
class ModelRules:
    """The rules of a fitted model, and everything else that decides about its forms."""

    rules: Sequence[AnyRule]
    """Rules in the order of the engine."""
    maps: Mapping[str, UrlMap] = field(default_factory=dict)
    """Host -> map that reads its URLs, if it is not the usual one."""
    unsayable: Mapping[str, str] = field(default_factory=dict)
    """Host -> why no other program can apply its rules."""
    guards: Mapping[str, str] = field(default_factory=dict)
    """Host -> description of the URLs that keep their own form whatever the rules say; no format can express it."""
    others: Sequence[LeftOut] = ()
    """Knowledge of the model that is not a rule about single URLs."""


def to_table(
    sentences: Mapping[str, str], evidence: Mapping[str, tuple[int, int]], switched_off: Collection[str] = ()
) -> Export:
    """Write all rules of a model of any method as a table with tabs between the columns."""
    lines = ["\t".join(COLUMNS)]
    for known, sentence in sentences.items():
        n_groups, n_wrong = evidence.get(known, (0, 0))
        cells = (known, str(n_groups), str(n_wrong), "yes" if known in switched_off else "", " ".join(sentence.split()))
        lines.append("\t".join(cells))
    return Export("\n".join(lines) + "\n", len(sentences))
