"""The models of a crawl by host, without switched-off rules, and the evidence of explorations for each rule.

A crawl has one model folder, or a folder of them. There each is named by its host, as ``dedup-crawler train`` names it,
is used for that host only, and is loaded when used. The folder is listed once: made-up hosts never reach the file
system.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from scrapy.utils.datatypes import LocalCache

from dedup_crawler.errors import DedupError, EvidenceError, ModelError, SeenUnavailableError
from dedup_crawler.live.exploration.rule_evidence import RuleEvidence
from dedup_crawler.live.seen.protocol import SeenSet, form_digest
from dedup_crawler.methods import Canonicalizer, load_model
from dedup_crawler.methods.model.evidence_file import (
    EvidenceFile,
    RuleCounts,
    evidence_for,
    evidence_path,
    read_evidence,
    write_evidence,
)
from dedup_crawler.methods.model.folder import DESCRIPTION, folder_name
from dedup_crawler.methods.wrapped import StaticFront, without
from dedup_crawler.rules.exchange.static_rules import StaticLayer
from dedup_crawler.rules.language.identifiers import (
    effect_identifier,
    is_value,
    order_identifier,
    rule_identifier,
    rule_of,
)
from dedup_crawler.urls.normal import host_of, normal_form

logger = logging.getLogger(__name__)

MAX_MODELS = 32
"""Maximum of models in memory; the least recently used are unloaded."""
_PAUSE = 0.05  # seconds; after this time a folder that was being replaced exists again


class ModelShelf:
    """Loads the model of a host from *path*, if there is a usable one; static rules (*layer*) come before every model.

    DedupError if *path* is no such folder, or the one model in it cannot be used. If it *may_be_empty*, a missing or
    empty folder is no error: it has no models yet.
    """

    def __init__(self, path: str | Path, *, may_be_empty: bool = False, layer: StaticLayer | None = None) -> None:
        self.path = Path(path)
        self.layer = layer
        self._single: Canonicalizer | None = None
        self._names: set[str] = set()
        self._loaded = lru_cache(MAX_MODELS)(self._load)
        if may_be_empty and not (self.path.is_dir() and any(self.path.iterdir())):
            return
        if self.path.is_dir() and not (self.path / DESCRIPTION).exists():
            self._names = _model_names(self.path)
        else:
            self._single = self._behind_layer(load_model(self.path))

    @property
    def known_hosts(self) -> frozenset[str]:
        """Hosts of a single model; empty for a folder of models, which are loaded when used."""
        return self._single.hosts if self._single is not None else frozenset()

    def of(self, host: str) -> Canonicalizer | None:
        """Return the model for URLs of *host* (with port, lower-case); load it if needed.

        A model that cannot be read, or does not know the host in its name, is reported once and never used.
        """
        model, name = self._single, folder_name(host)
        if name in self._names:
            try:
                model = self._loaded(name)
            except DedupError as error:
                self._names.discard(name)
                logger.error("No duplicates of %s are filtered: %s", host, error)
        return model if model is not None and host in model.hosts else None

    def folder_of(self, host: str) -> Path:
        """Return the folder of the model that :meth:`of` gives for *host*."""
        return self.path if self._single is not None else self.path / folder_name(host)

    def _behind_layer(self, model: Canonicalizer) -> Canonicalizer:
        return StaticFront(model, self.layer) if self.layer is not None else model

    def _load(self, name: str) -> Canonicalizer:
        """Load the model in the folder *name*, which must know the host of this name."""
        folder = self.path / name
        try:
            model = load_model(folder)
        except ModelError:
            time.sleep(_PAUSE)  # it may just be being replaced
            model = load_model(folder)
        if name not in map(folder_name, model.hosts):
            known = ", ".join(sorted(model.hosts)) or "no host"
            raise ModelError(f"{folder} holds a model of {known}. Rename the folder, or train one.")
        return self._behind_layer(model)


def _model_names(path: Path) -> set[str]:
    """Return the names of the folders in *path*, at least one of which is a model."""
    # a model that is being written is in a hidden folder
    folders = [entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith(".")]
    if not any((folder / DESCRIPTION).is_file() for folder in folders):
        raise ModelError(
            f"{path} holds neither {DESCRIPTION} nor model folders: "
            f"train one with `dedup-crawler train METHOD --model {path / 'HOST'}`."
        )
    return {folder.name for folder in folders}


class LiveModels:
    """Host -> model.

    *epsilon* is the share (0-1) of a well-tested rule's drops that is explored. *on_trouble* is called with a line for
    the user. Candidates are applied if they can be tested: not without exploration, and not in a dry run.
    """

    def __init__(
        self, shelf: ModelShelf, epsilon: float, on_trouble: Callable[[str], None], *, is_dry_run: bool = False
    ) -> None:
        self.evidence = RuleEvidence(epsilon)
        self._tests_candidates = epsilon > 0 and not is_dry_run
        self._is_of_this_crawl = False
        self.shelf = shelf
        self._on_trouble = on_trouble
        self._digests: dict[str, str] = {}
        self._folders: dict[Path, tuple[str, frozenset[str]]] = {}  # of used models: digest, rule identifiers
        self._sentences: dict[str, str] = {}
        self._told: dict[str, RuleCounts] = {}  # tests that the other crawlers know
        # loaded model -> the model to ask: with candidates, and without switched-off rules. None: unusable, the seen
        # forms come from another model. The longest known ones are forgotten, so that they can be unloaded.
        self._asked: LocalCache[Canonicalizer, Canonicalizer | None] = LocalCache(MAX_MODELS)

    def of(self, host: str) -> Canonicalizer | None:
        """Return the model that decides about URLs of *host*, if any."""
        base = self.shelf.of(host)
        if base is None:
            return None
        if base not in self._asked:
            self._asked[base] = self._met(base, host)
        return self._asked[base]

    def replace(self, shelf: ModelShelf) -> None:
        """Use models that this crawl has learnt from now on; shared rules keep their evidence."""
        self.shelf = shelf
        self._is_of_this_crawl = True
        self._digests.clear()
        self._asked.clear()

    def digests(self) -> str:
        """Return the digests of all models whose forms are in the seen set, as text to note there."""
        return json.dumps(self._digests, sort_keys=True)

    def expect(self, digests: str | None) -> None:
        """Take in the :meth:`digests` that an earlier process noted: other models would make other forms."""
        try:
            told = json.loads(digests or "{}")
            self._digests = {str(host): str(digest) for host, digest in told.items()}
        except (ValueError, AttributeError):
            self._on_trouble("The seen set does not name its model; the filter assumes the present one.")

    def mismatch(self) -> str | None:
        """Return an expected host whose seen forms were made by another model; None if there is none.

        A folder of models is not searched; each of its hosts is checked when first used.
        """
        for host in sorted(self.shelf.known_hosts & self._digests.keys()):
            base = self.shelf.of(host)
            if base is not None and self._digests[host] != self._whole(base).digest:
                return host
        return None

    def sentence(self, rule: str) -> str:
        """Return the sentence of a rule of a used model; for a value of a candidate, that of the candidate."""
        told = self._sentences.get(rule_of(rule), "a rule of an earlier model")
        return f"for one value, {told}" if is_value(rule) else told

    def form_of(self, url: str) -> tuple[bytes, tuple[str, ...]]:
        """Return the digest of a URL's form, and the rules that lead to it."""
        url = normal_form(url)
        model = self.of(host_of(url))
        if model is None:
            return form_digest(url), ()
        form = model.canonicalize(url)
        return form_digest(form), model.leading(url, None, form) if form != url else ()

    def is_covered(self, url: str) -> bool:
        """Return True if a coverage rule skips the URL."""
        model = self.of(host_of(normal_form(url)))
        return model is not None and model.is_covered(url)

    async def share_tests(self, seen: SeenSet) -> list[str]:
        """Exchange tests with the other crawlers of a seen set; return the rules that one of them switched off.

        If the set is unavailable, the next exchange catches up.
        """
        own = self.evidence.own_counts()
        news = {rule: counts for rule, counts in own.items() if self._told.get(rule) != counts}
        try:
            others = await seen.share_tests(news)
        except SeenUnavailableError:
            return []
        self._told |= news
        return self.evidence.take_in({rule: RuleCounts(*counts) for rule, counts in others.items()})

    def switch_off(self, rule: str) -> None:
        """Apply a rule no longer; :attr:`evidence` has switched it off already."""
        for base, asked in list(self._asked.items()):
            if asked is not None and rule_of(rule) in asked.rule_sentences():
                self._asked[base] = without(asked, self.evidence.switched_off)

    def write_evidence(self) -> None:
        """Save the evidence for the rules of each model beside it, for the next crawl."""
        counts = self.evidence.counts()
        for folder, (digest, rules) in self._folders.items():
            its_counts = {rule: counts[rule] for rule in sorted(rules & counts.keys())}
            if its_counts:
                try:
                    write_evidence(evidence_path(folder), EvidenceFile(digest, its_counts))
                except EvidenceError as error:
                    self._on_trouble(str(error))

    def _met(self, base: Canonicalizer, host: str) -> Canonicalizer | None:
        """Take in a newly loaded model."""
        whole = self._whole(base)
        digest = whole.digest
        if self._digests.setdefault(host, digest) != digest:
            self._on_trouble(
                f"The seen forms of {host} were made by another model (digest {self._digests[host][:12]}, now "
                f"{digest[:12]}): its URLs pass unfiltered. Delete the seen set, or set DEDUP_SEEN to another one."
            )
            return None
        sentences = whole.rule_sentences()
        self._sentences |= sentences
        told = base.model_rules()
        effects = {rule_identifier(rule): effect_identifier(rule) for rule in (told.rules if told is not None else ())}
        self.evidence.add_training(
            whole.rule_evidence(),
            host,
            map(order_identifier, base.hosts),
            effects,
            is_of_this_crawl=self._is_of_this_crawl,
        )
        folder = self.shelf.folder_of(host)
        of_folder = digest if whole is base else base.digest  # making one takes long
        self._folders[folder] = of_folder, frozenset(sentences)
        try:
            self.evidence.add_known(evidence_for(read_evidence(evidence_path(folder)), of_folder, sentences))
        except EvidenceError as error:
            self._on_trouble(str(error))
        off = {rule for rule in self.evidence.switched_off if rule_of(rule) in sentences}
        return without(whole, off)

    def _whole(self, base: Canonicalizer) -> Canonicalizer:
        """Return a model with its candidates, in a crawl that tests its rules."""
        return base.with_candidates() if self._tests_candidates else base
