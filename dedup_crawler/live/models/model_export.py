"""Export of a model, without rules that a crawl switched off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods import Canonicalizer, load_model
from dedup_crawler.methods.model.evidence_file import evidence_for, evidence_path, read_evidence
from dedup_crawler.methods.wrapped import StaticFront
from dedup_crawler.rules.exchange.exports import Export, to_discarder, to_table

_STATIC_NOTE = "the file does not contain the static rules in front of the model, and ignores their effect"
FORMATS = ("duplicate-url-discarder", "table")


def export_model(folder: Path, target: str, *, with_guards: bool = True) -> Export:
    """Write the model in *folder* in one of :data:`FORMATS`.

    BadInputError if the model has no rules and the format takes nothing else. ModelError or EvidenceError if the model,
    or its evidence file, cannot be read.

    Parameters
    ----------
    folder
        A model folder, with the evidence of crawls beside it.
    target
        Name of the format.
    with_guards
        If True, leave out a rule if the format cannot except the URLs that the model knows too little about.
    """
    model = load_model(folder)
    off = switched_off(folder, model)
    if target == "table":
        return to_table(model.rule_sentences(), model.rule_evidence(), off)
    rules = model.model_rules()
    if rules is None:
        raise BadInputError(f"{folder}: {target} cannot express the rules of this method; use --format table.")
    export = to_discarder(rules, off, with_guards=with_guards)
    return replace(export, notes=(*export.notes, _STATIC_NOTE)) if isinstance(model, StaticFront) else export


def switched_off(folder: Path, model: Canonicalizer) -> frozenset[str]:
    """Return the rules of a model that a crawl switched off."""
    known = evidence_for(read_evidence(evidence_path(folder)), model.digest, model.rule_sentences())
    return frozenset(rule for rule, counts in known.items() if counts.is_switched_off)
