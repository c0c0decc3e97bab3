"""Difference of two models: links that only one of them would drop, by rule; export without switched-off rules.

To find the difference, both models decide as in a crawl: the first URL of a form is fetched; later ones and covered
URLs are dropped. A repeated URL is the same request, not a duplicate. Memory holds the digest of each form, as in the
seen set of a crawl.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from scrapy.utils.datatypes import LocalCache

from dedup_crawler.errors import BadInputError
from dedup_crawler.live.models.rule_codes import RuleCodes
from dedup_crawler.live.seen.memory import MemorySeenSet
from dedup_crawler.live.seen.protocol import Claim, Standing, at_once, form_digest, owner_tag
from dedup_crawler.methods import Canonicalizer, Referrer, load_model
from dedup_crawler.methods.model.evidence_file import evidence_for, evidence_path, read_evidence
from dedup_crawler.methods.wrapped import StaticFront
from dedup_crawler.rules.exchange.exports import Export, to_discarder, to_table

_MAX_TOLD = 10_000
_STATIC_NOTE = "the file does not contain the static rules in front of the model, and ignores their effect"


@dataclass(frozen=True, slots=True)
class DroppedLink:
    """One dropped link, and its form, which an earlier link had."""

    url: str
    referrer: str | None
    form: str


@dataclass(slots=True)
class RuleDiff:
    """Links that one rule drops and the other model fetches."""

    rule: str
    """Identifier of the rule; empty if it is unknown."""
    sentence: str
    n_urls: int = 0
    examples: list[DroppedLink] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ModelDiff:
    """Drops and fetches of two models on one list of links."""

    n_urls: int
    n_both: int
    """Number of links dropped by both."""
    only_new: list[RuleDiff]
    """Dropped by the new model alone, the rule with most URLs first."""
    only_old: list[RuleDiff]
    """Dropped by the old model alone."""

    @property
    def n_only_new(self) -> int:
        """URLs that the new model drops and the old one fetches."""
        return sum(drops.n_urls for drops in self.only_new)

    @property
    def n_only_old(self) -> int:
        """URLs that the old model drops and the new one fetches."""
        return sum(drops.n_urls for drops in self.only_old)


def diff_models(
    old: Canonicalizer, new: Canonicalizer, links: Iterable[tuple[str, str | None]], *, n_examples: int = 3
) -> ModelDiff:
    """Let two models decide about *links* (URL, and its referrer if known), in order.

    A URL counts under one rule: the first that led to the drop and that the other model lacks, or the first if it lacks
    none.
    """
    old_side, new_side = _Side(old, n_examples), _Side(new, n_examples)
    n_urls = n_both = 0
    for url, referrer in links:
        n_urls += 1
        by_old, by_new = old_side.look(url, referrer), new_side.look(url, referrer)
        if by_old is not None and by_new is not None:
            n_both += 1
        elif by_old is not None:
            old_side.count(*by_old, new_side)
        elif by_new is not None:
            new_side.count(*by_new, old_side)
    return ModelDiff(n_urls, n_both, only_new=new_side.drops(), only_old=old_side.drops())


class _Side:
    """One model with its seen forms, and the links that it alone drops."""

    def __init__(self, model: Canonicalizer, n_examples: int) -> None:
        self._model = model
        self._sentences = model.rule_sentences()
        self._n_examples = n_examples
        self._drops: dict[str, RuleDiff] = {}
        self._seen = MemorySeenSet()
        self._codes = RuleCodes()
        self._told: LocalCache[str, str] = LocalCache(_MAX_TOLD)  # URL -> its form, if its referrer has made it

    def look(self, url: str, referrer: str | None) -> tuple[DroppedLink, tuple[str, ...]] | None:
        """Return a dropped link and its rules; None for a fetched one."""
        model = self._model
        known = None
        if referrer is not None:
            known = Referrer(referrer, self._told.get(referrer) or model.canonicalize(referrer))
        form = model.canonicalize(url, known)
        rules = model.leading(url, known)
        if known is not None and form == known.form:
            self._told[url] = form
        if known is not None and (covering := model.covering(url)):
            return DroppedLink(url, referrer, form), covering
        claim = Claim(form_digest(form), owner_tag(url), self._codes.code_of(rules))
        [holder] = at_once(self._seen.claim([claim]))
        self._seen.answered(claim.digest)
        if holder.standing <= Standing.OWN_SEEN:
            return None
        rules = tuple(dict.fromkeys([*rules, *self._codes.rules_of(holder.rules)]))
        return DroppedLink(url, referrer, form), rules

    def count(self, link: DroppedLink, rules: tuple[str, ...], other: _Side) -> None:
        """Count a link that the *other* side fetches."""
        own = [rule for rule in rules if rule not in other._sentences]
        rule = next(iter(own or rules), "")
        diff = self._drops.setdefault(rule, RuleDiff(rule, self._sentences.get(rule, "by an unknown rule")))
        diff.n_urls += 1
        if len(diff.examples) < self._n_examples:
            diff.examples.append(link)

    def drops(self) -> list[RuleDiff]:
        """Return the counted links by rule, the largest first."""
        return sorted(self._drops.values(), key=lambda diff: (-diff.n_urls, diff.rule))


def export_model(folder: Path, target: str, *, with_guards: bool = True) -> Export:
    """Write the model in *folder*, which has the evidence of crawls beside it.

    *target* is the format, ``duplicate-url-discarder`` or ``table``. *with_guards* leaves out a rule if the format
    cannot except the URLs that the model knows too little about.

    BadInputError if the model has no rules and the format takes nothing else. ModelError or EvidenceError if the model,
    or its evidence file, cannot be read.
    """
    model = load_model(folder)
    known = evidence_for(read_evidence(evidence_path(folder)), model.digest, model.rule_sentences())
    off = frozenset(rule for rule, counts in known.items() if counts.is_switched_off)
    if target == "table":
        return to_table(model.rule_sentences(), model.rule_evidence(), off)
    rules = model.model_rules()
    if rules is None:
        raise BadInputError(f"{folder}: {target} cannot express the rules of this method; use --format table.")
    export = to_discarder(rules, off, with_guards=with_guards)
    return replace(export, notes=(*export.notes, _STATIC_NOTE)) if isinstance(model, StaticFront) else export
