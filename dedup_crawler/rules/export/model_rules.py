"""Rules of a fitted model as its method hands them over for export, the result of an export, and the plainest one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from dedup_crawler.rules.language.rule import UrlMap
from dedup_crawler.rules.language.substring_rule import AnyRule

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
    """Rules in the file."""
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    """Limits of the format, for the user."""


@dataclass(frozen=True)
class ModelRules:
    """The rules of a fitted model, and what the model does beside them."""

    rules: Sequence[AnyRule]
    """Rules in the order of the engine."""
    maps: Mapping[str, UrlMap] = field(default_factory=dict)
    """Host -> how its URLs are read, where that is not the plain way."""
    unsayable: Mapping[str, str] = field(default_factory=dict)
    """Host -> why no program can apply its rules to URLs as they stand."""
    guards: Mapping[str, str] = field(default_factory=dict)
    """Host -> which URLs the model leaves alone whatever its rules say; no format can say that."""
    others: Sequence[LeftOut] = ()
    """Further knowledge of the model that is no rule about a URL alone."""


def to_table(
    sentences: Mapping[str, str], evidence: Mapping[str, tuple[int, int]], switched_off: Collection[str] = ()
) -> Export:
    """Write every rule of a model of any method, its columns separated by tabs."""
    lines = ["\t".join(COLUMNS)]
    for known, sentence in sentences.items():
        n_groups, n_wrong = evidence.get(known, (0, 0))
        cells = (known, str(n_groups), str(n_wrong), "yes" if known in switched_off else "", " ".join(sentence.split()))
        lines.append("\t".join(cells))
    return Export("\n".join(lines) + "\n", len(sentences))
