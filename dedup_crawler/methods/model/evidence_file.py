"""The evidence file: what a crawl found out about its rules, for the next crawl.

``models/forum.example.org.evidence.json`` stands beside the folder ``models/forum.example.org``, which the crawl does
not change. A crawl that cannot read the file goes on without it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dedup_crawler.errors import BadInputError, EvidenceError
from dedup_crawler.json_values import JsonValue, read_json_file
from dedup_crawler.methods.model.folder import write_whole
from dedup_crawler.rules.language.statistics import share_interval

FORMAT = 1
MAX_BYTES = 16 * 2**20
MAX_COUNT = 10**12
MAX_IDENTIFIER = 64
_APPLICATION = "dedup-crawler evidence"
_WAY_OUT = "Delete it, or restore it from a backup. The crawl goes on without it."


class RuleCounts(NamedTuple):
    """Explorations of one rule, in this crawl and earlier ones."""

    n_agreed: int = 0
    """Number of forms whose explored page was the page of the owner."""
    n_disagreed: int = 0
    """Number of forms whose explored page was another page."""
    is_switched_off: bool = False


class EvidenceFile(NamedTuple):
    """Contents of an evidence file."""

    model_digest: str
    """Digest of the model that the crawl ran with."""
    rules: dict[str, RuleCounts]
    """Rule identifier -> counts of its explorations."""


def evidence_path(model_folder: Path) -> Path:
    """Path of the evidence file of a model."""
    folder = model_folder.absolute()  # "." has no name; a symbolic link keeps its own name
    return folder.with_name(f"{folder.name}.evidence.json")


def read_evidence(path: Path) -> EvidenceFile | None:
    """Read a file; None if there is none.

    EvidenceError if it cannot be read, is damaged, or was written by another program or version. The file is not
    changed.
    """
    try:
        path.stat()
    except FileNotFoundError:
        return None
    except OSError:
        pass  # reading gives the reason
    try:
        value = read_json_file(path, MAX_BYTES)
        if value["application"].text() != _APPLICATION or value["format"].count() != FORMAT:
            value.refuse(f"evidence in format {FORMAT}, which this version reads")
        rules = {rule: _counts(rule, counts) for rule, counts in value["rules"].table().items()}
        return EvidenceFile(value["model"].text(), rules)
    except BadInputError as error:
        raise EvidenceError(f"{error} {_WAY_OUT}") from None


def write_evidence(path: Path, evidence: EvidenceFile) -> None:
    """Write a file in one step: even if the process is killed, a reader sees the old file or the new one.

    EvidenceError if it cannot be written; the old file stays.
    """
    contents = {
        "application": _APPLICATION,
        "format": FORMAT,
        "model": evidence.model_digest,
        "rules": {
            rule: {"agreed": counts.n_agreed, "disagreed": counts.n_disagreed, "switched_off": counts.is_switched_off}
            for rule, counts in sorted(evidence.rules.items())
        },
    }
    data = (json.dumps(contents, indent=1) + "\n").encode("ascii")
    try:
        write_whole(path, data)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise EvidenceError(f"{path} cannot be written ({reason}); the evidence of this crawl is lost.") from None


def evidence_for(
    evidence: EvidenceFile | None, model_digest: str, rules: Mapping[str, object]
) -> dict[str, RuleCounts]:
    """Choose the evidence that holds for a model with these *rules*.

    An identifier is a digest of the rule, so counts of the same rule stay valid for another model. But if a rule was
    switched off and a new model has learnt it again, it gets another chance without its old counts.
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


class LostPages(NamedTuple):
    """Number of lost pages, with a 95 % interval."""

    estimate: float | None
    """None: unknown, because no drop was tested."""
    low: float
    high: float


def lost_pages(n_dropped: int, n_agreed: int, n_disagreed: int, n_untested: int = 0) -> LostPages:
    """Estimate how many unfetched drops would have shown another page than their owner's.

    Explorations are a random sample of the would-be drops, so drops have the same share of disagreements (interval of
    Clopper and Pearson). The estimate is an upper one, because a page may also be reached through another link.
    *n_dropped* counts drops by tested rules, *n_untested* drops without any test: between none and all of these may be
    lost.
    """
    n_explored = n_agreed + n_disagreed
    if not n_explored:
        n_untested += n_dropped
        return LostPages(None if n_untested else 0.0, 0.0, float(n_untested))
    low, high = share_interval(n_disagreed, n_explored)
    return LostPages(n_dropped * n_disagreed / n_explored, n_dropped * low, n_dropped * high + n_untested)
