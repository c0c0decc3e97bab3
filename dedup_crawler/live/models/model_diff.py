"""Difference of two models: links that only one of them would drop, by rule; export without switched-off rules.

To find the difference, both models decide as in a crawl: the first URL of a form is fetched; later ones and covered
URLs are dropped. A repeated URL is the same request, not a duplicate. Memory use is about 30 bytes per form and model.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dedup_crawler.errors import BadInputError
from dedup_crawler.live.models.rule_codes import RuleCodes
from dedup_crawler.live.seen.protocol import form_digest, owner_tag
from dedup_crawler.live.seen.table import DigestTable
from dedup_crawler.methods import Canonicalizer, Referrer, load_model
from dedup_crawler.methods.model.evidence_file import evidence_for, evidence_path, read_evidence
from dedup_crawler.methods.wrapped import StaticFront
from dedup_crawler.rules.export.discarder import to_discarder
from dedup_crawler.rules.export.model_rules import Export, to_table

N_EXAMPLES = 3
_MAX_TOLD = 10_000  # remembered sentences of rules that need a referrer
_TAG_BITS = 16
NO_RULE = ""
"""Stands for an unknown rule."""
_STATIC_NOTE = "the file does not contain the static rules in front of the model, and ignores their effect"
FORMATS = ("duplicate-url-discarder", "table")


@dataclass(frozen=True, slots=True)
class DroppedLink:
    """One dropped link, and its form, which an earlier link had."""

    url: str
    referrer: str | None
    form: str


@dataclass(frozen=True, slots=True)
class RuleDiff:
    """Links that one rule drops and the other model fetches."""

    rule: str
    """Identifier of the rule."""
    sentence: str
    n_urls: int
    examples: tuple[DroppedLink, ...]


@dataclass(frozen=True, slots=True)
class ModelDiff:
    """Drops and fetches of two models on one list of links."""

    n_urls: int
    n_both: int
    """Number of links dropped by both."""
    only_new: tuple[RuleDiff, ...]
    """Dropped by the new model alone, the rule with most URLs first."""
    only_old: tuple[RuleDiff, ...]
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
    old: Canonicalizer, new: Canonicalizer, links: Iterable[tuple[str, str | None]], *, n_examples: int = N_EXAMPLES
) -> ModelDiff:
    """Let two models decide about *links* (URL, and its referrer if known), in order.

    A URL counts under one rule: the first that led to the drop and that the other model lacks, or the first if it lacks
    none.
    """
    sides = _Side(old), _Side(new)
    gone = _Tally(old, new, n_examples), _Tally(new, old, n_examples)
    n_urls = n_both = 0
    for url, referrer in links:
        n_urls += 1
        by_old, by_new = (side.look(url, referrer) for side in sides)
        if by_old is not None and by_new is not None:
            n_both += 1
        elif by_old is not None:
            gone[0].add(url, referrer, *by_old)
        elif by_new is not None:
            gone[1].add(url, referrer, *by_new)
    return ModelDiff(n_urls, n_both, only_new=gone[1].drops(), only_old=gone[0].drops())


class _Side:
    """One model with its seen forms."""

    def __init__(self, model: Canonicalizer) -> None:
        self._model = model
        self._owners = DigestTable()  # form -> code of the rules that made it, tag of the URL
        self._codes = RuleCodes()
        self._told: OrderedDict[str, str] = OrderedDict()

    def look(self, url: str, referrer: str | None) -> tuple[str, tuple[str, ...]] | None:
        """Return form and rules of a dropped link; None for a fetched one."""
        model = self._model
        known = None
        if referrer is not None:
            known = Referrer(referrer, self._told.get(referrer) or model.canonicalize(referrer))
        form = model.canonicalize(url, known)
        rules = model.leading(url, known)
        if known is not None and form == known.form:
            self._told[url] = form
            if len(self._told) > _MAX_TOLD:
                self._told.popitem(last=False)
        if known is not None and (covering := model.covering(url)):
            return form, covering
        digest, tag = form_digest(form), owner_tag(url) & (1 << _TAG_BITS) - 1
        owner = self._owners.get(digest)
        if owner is None:
            self._owners.put(digest, self._codes.code_of(rules) << _TAG_BITS | tag)
            return None
        if owner & (1 << _TAG_BITS) - 1 == tag:
            return None
        return form, tuple(dict.fromkeys([*rules, *self._codes.rules_of(owner >> _TAG_BITS)]))


class _Tally:
    """Counts the links that only one model drops, by rule."""

    def __init__(self, model: Canonicalizer, other: Canonicalizer, n_examples: int) -> None:
        self._sentences: Mapping[str, str] = model.rule_sentences()
        self._others: Mapping[str, str] = other.rule_sentences()
        self._n_examples = n_examples
        self._n_urls: Counter[str] = Counter()
        self._examples: defaultdict[str, list[DroppedLink]] = defaultdict(list)

    def add(self, url: str, referrer: str | None, form: str, rules: tuple[str, ...]) -> None:
        """Count one link."""
        own = [rule for rule in rules if rule not in self._others]
        rule = next(iter(own or rules), NO_RULE)
        self._n_urls[rule] += 1
        if len(self._examples[rule]) < self._n_examples:
            self._examples[rule].append(DroppedLink(url, referrer, form))

    def drops(self) -> tuple[RuleDiff, ...]:
        """Return the drops by rule, the largest first."""
        ordered = sorted(self._n_urls.items(), key=lambda entry: (-entry[1], entry[0]))
        return tuple(
            RuleDiff(rule, self._sentences.get(rule, "by an unknown rule"), n_urls, tuple(self._examples[rule]))
            for rule, n_urls in ordered
        )


def export_model(folder: Path, target: str, *, with_guards: bool = True) -> Export:
    """Write the model in *folder*, which has the evidence of crawls beside it, in one of :data:`FORMATS` (*target*).

    *with_guards* leaves out a rule if the format cannot except the URLs that the model knows too little about.

    BadInputError if the model has no rules and the format takes nothing else. ModelError or EvidenceError if the model,
    or its evidence file, cannot be read.
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
