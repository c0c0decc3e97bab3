"""Evidence that a crawl gathered about its rules, written beside the model, for the next crawl to start with.

``models/forum.example.org.evidence.json`` stands beside the folder ``models/forum.example.org``, which stays as it was
trained. It is a hint, not a part of the model: whoever cannot read it goes on without.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dedup_crawler.errors import BadInputError, EvidenceError
from dedup_crawler.json_values import JsonValue, read_json
from dedup_crawler.whole_file import write_whole

FORMAT = 1
MAX_BYTES = 16 * 2**20
MAX_RULES = 100_000
MAX_COUNT = 10**12
MAX_IDENTIFIER = 64
_APPLICATION = "dedup-crawler evidence"
_WAY_OUT = "Delete it, or restore it from a backup; the crawl goes on without what it says."


class RuleCounts(NamedTuple):
    """Counts of one rule, from this crawl and earlier ones."""

    n_agreed: int = 0
    """Forms whose explored page was their owner's."""
    n_disagreed: int = 0
    is_switched_off: bool = False


class Evidence(NamedTuple):
    """Contents of an evidence file."""

    model_digest: str
    """Digest of the model that the crawl ran with."""
    rules: dict[str, RuleCounts]
    """Rule identifier -> counts of its explorations."""


def evidence_path(model_folder: Path) -> Path:
    """Path of the evidence of a model."""
    folder = model_folder.absolute()  # "." has no name, and a link keeps its own
    return folder.with_name(f"{folder.name}.evidence.json")


def read_evidence(path: Path) -> Evidence | None:
    """Read a file; None if there is none.

    Raises
    ------
    EvidenceError
        If it cannot be read, is damaged, or was written by another program or version; it is left as it is.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise EvidenceError(f"{path} cannot be read ({error.strerror or type(error).__name__}). {_WAY_OUT}") from None
    if len(data) > MAX_BYTES:
        raise EvidenceError(f"{path} has more than {MAX_BYTES} bytes and is no evidence file. {_WAY_OUT}")
    try:
        value = read_json(data, str(path))
        if value["application"].text() != _APPLICATION or value["format"].count() != FORMAT:
            value.refuse(f"evidence in format {FORMAT}, which this version reads")
        rules = value["rules"].table()
        if len(rules) > MAX_RULES:
            value["rules"].refuse(f"at most {MAX_RULES} rules")
        return Evidence(value["model"].text(), {rule: _counts(rule, counts) for rule, counts in rules.items()})
    except BadInputError as error:
        raise EvidenceError(f"{error} {_WAY_OUT}") from None


def write_evidence(path: Path, evidence: Evidence) -> None:
    """Write a file in one step: a reader sees the old one or the new one, whenever the process is killed.

    Raises
    ------
    EvidenceError
        If it cannot be written; the old file is left as it was.
    """
    contents = {
        "application": _APPLICATION,
        "format": FORMAT,
        "model": evidence.model_digest,
        "rules": {
            rule: {
                "agreed": counts.n_agreed,
                "disagreed": counts.n_disagreed,
                "switched_off": counts.is_switched_off,
            }
            for rule, counts in sorted(evidence.rules.items())
        },
    }
    data = (json.dumps(contents, indent=1) + "\n").encode("ascii")
    try:
        write_whole(path, data)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise EvidenceError(f"{path} cannot be written ({reason}); what was learnt of the rules is lost.") from None


def evidence_for(evidence: Evidence | None, model_digest: str, rules: Mapping[str, object]) -> dict[str, RuleCounts]:
    """The evidence that still holds for a model with these *rules*.

    An identifier is a digest of the rule, so the counts of a rule that is there again mean the same under another
    model. But one that had failed is given another chance by a new model, which was trained anew: its counts start
    from nothing.
    """
    if evidence is None:
        return {}
    known = {rule: counts for rule, counts in evidence.rules.items() if rule in rules}
    if evidence.model_digest == model_digest:
        return known
    return {rule: counts for rule, counts in known.items() if not counts.is_switched_off}


def _counts(rule: str, value: JsonValue) -> RuleCounts:
    if len(rule) > MAX_IDENTIFIER:
        value.refuse(f"an identifier of at most {MAX_IDENTIFIER} characters before it")
    return RuleCounts(
        value["agreed"].count(MAX_COUNT), value["disagreed"].count(MAX_COUNT), value["switched_off"].flag()
    )
