"""The translator of URLs, and what it takes to trust it.

K. Xu, Z. Liu, J. Callan, "De-duping URLs with Sequence-to-Sequence Neural Networks", SIGIR 2017: a GRU encoder-decoder
learns to translate a URL to the canonical URL of its cluster, arguments replaced by placeholders (section 3). Since
arguments are placeholders the network sees templates, not URLs: distinct template pairs are trained once, and every
template of the crawl is translated once, into ``translations.json``. A crawl reads that table; a template that is not
in it is translated by a numpy copy of the network.

The paper's recipe is the preset ``paper``. The preset ``fast`` adds four things, each an option of its own:

``identity_pairs``  pages with one URL are trained too, as themselves (or as the global target of their template): they
                    are the negatives, which the paper leaves out.
``global_targets``  one target template for all templates of the same pages, instead of one choice per cluster.
``judged_gate``     the network learns from the first 70 % of the pages; a template is translated only if its merge
groups with later pages hold (20 groups at least, at most 10 % of them wrong with 95 % confidence). Any other
template, and one never met, keeps its URLs as they are.
``value_guard``     a dropped argument that several pages share is a function token
(:mod:`dedup_crawler.rules.applying.value_reuse`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dedup_crawler.errors import BadInputError, MissingExtraError, did_you_mean
from dedup_crawler.methods.base import Canonicalizer, Explanation, KnownRule, Referrer
from dedup_crawler.methods.model_folder import ModelFiles
from dedup_crawler.methods.training_history import (
    FILE,
    NO_HISTORY,
    TrainingHistory,
    curve,
    history_from_json,
    history_to_json,
)
from dedup_crawler.networks.vocabulary import Vocabulary
from dedup_crawler.networks.weights import dump_weights, load_weights
from dedup_crawler.rules.applying.translations import Translation, TranslationTable
from dedup_crawler.rules.language.refusals import MAX_REFUSALS, Refusal
from dedup_crawler.rules.language.rule_ids import translation_identifier
from dedup_crawler.rules.miners.targets import Rank, TemplatedUrl, cluster_targets, global_targets
from dedup_crawler.urls.templates import Template, Templater, TokenCounts, count_placeholders, count_tokens
from dedup_crawler.urls.tokens import detokenize, tokenize

if TYPE_CHECKING:
    from dedup_crawler.networks.inference import NumpyTranslator
    from dedup_crawler.networks.training import Fit

_PRESETS: dict[str, dict[str, Any]] = {
    "fast": {
        "hidden": 128,
        "optimizer": "adam",
        "learning_rate": 5e-3,
        "batch_size": 32,
        "max_steps": 4000,
        "init_range": 0.2,
        "count_power": 0.5,
        "deep": True,
        "identity_pairs": True,
        "global_targets": True,
        "judged_gate": True,
        "value_guard": True,
    },
    "paper": {
        "hidden": 512,
        "optimizer": "sgd",
        "learning_rate": 0.5,
        "batch_size": 20,
        "max_steps": 2000,
        "init_range": 0.08,
        "count_power": 1.0,
        "deep": False,
        "identity_pairs": False,
        "global_targets": False,
        "judged_gate": False,
        "value_guard": False,
    },
}
_RECIPE_OPTIONS = ("hidden", "optimizer", "learning_rate", "batch_size", "max_steps")
_MAX_TOKENS = 60  # longer templates are neither trained nor translated
_PROPOSED = 0.70  # share of the pages that the network learns from; the later ones judge
_MIN_GROUPS, _MAX_ERROR = 20, 0.10


class Seq2Seq(Canonicalizer):
    """Translates the template of a URL to that of its page's canonical URL.

    Parameters
    ----------
    preset
        ``"fast"`` (128 units, Adam, the four additions) or ``"paper"`` (512 units, SGD, batch 20, none of them).
        An option below that is None is what the preset says.
    hidden
        Units of the GRUs and size of the embedding.
    optimizer
        ``"adam"`` or ``"sgd"``.
    learning_rate, batch_size, max_steps
        Of the training; it ends early once every pair is translated exactly.
    min_document_frequency
        Share (0-1) of the URLs that a function token occurs in.
    deep
        Whether templates go on inside a token (slugs and paths of any length become one argument).
    identity_pairs, global_targets, judged_gate, value_guard
        The four additions.
    seed
        The same seed gives the same model, byte for byte, on the CPU.
    device
        ``"cpu"`` or ``"cuda"``, for training only.
    """

    name = "seq2seq"
    weights_: bytes
    history_: TrainingHistory = NO_HISTORY
    _network: NumpyTranslator | None

    def __init__(
        self,
        *,
        preset: str = "fast",
        hidden: int | None = None,
        optimizer: str | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        max_steps: int | None = None,
        min_document_frequency: float = 0.01,
        deep: bool | None = None,
        identity_pairs: bool | None = None,
        global_targets: bool | None = None,
        judged_gate: bool | None = None,
        value_guard: bool | None = None,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        self.preset = preset
        self.hidden = hidden
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_steps = max_steps
        self.min_document_frequency = min_document_frequency
        self.deep = deep
        self.identity_pairs = identity_pairs
        self.global_targets = global_targets
        self.judged_gate = judged_gate
        self.value_guard = value_guard
        self.seed = seed
        self.device = device

    def learnt(self) -> list[str]:
        """Every template whose URLs are translated, with its evidence."""
        used = [(t, s) for s, t in self.table_.translations.items() if t.is_used and t.says != s]
        used.sort(key=lambda entry: (-entry[0].evidence.n_groups, -entry[0].n_urls, entry[1]))
        return [
            f"{source} -> {translation.says}   "
            f"({translation.n_urls} URLs, {translation.evidence.n_groups} merge groups, "
            f"{translation.evidence.n_wrong} wrong)"
            for translation, source in used
        ]

    def refused(self) -> Sequence[Refusal]:
        """Translations that the gate did not let pass, those with most merge groups for them first."""
        self._check_fitted()
        found = []
        for source, translation in self.table_.translations.items():
            if not translation.is_used and translation.says != source:
                n_groups, n_wrong = translation.evidence.n_groups, translation.evidence.n_wrong
                reason = f"{n_wrong} of {n_groups} merge groups with later pages are wrong"
                if n_groups < _MIN_GROUPS:
                    reason = f"{n_groups} merge groups with later pages say too little; {_MIN_GROUPS} are needed"
                found.append(Refusal(f"template {source} becomes {translation.says}", reason, n_groups, n_wrong))
        return sorted(found, key=lambda each: each.n_wrong - each.n_groups)[:MAX_REFUSALS]

    def history(self) -> TrainingHistory:
        """The loss of each epoch, and the share of training pairs translated exactly."""
        self._check_fitted()
        return self.history_

    def _quality(self) -> dict[str, Any]:
        """Share of training pairs translated exactly, and how many templates are translated in use."""
        used = [t for template, t in self.table_.translations.items() if t.is_used and t.says != template]
        return {
            "epochs": self.n_epochs_,
            "exact_training_pairs": round(self.exact_, 6),
            "templates": len(self.table_.translations),
            "translated_templates": len(used),
        }

    def _check_options(self) -> None:
        if self.preset not in _PRESETS:
            hint = did_you_mean(self.preset, _PRESETS)
            raise BadInputError(f"seq2seq: unknown preset {self.preset!r}; known: {', '.join(_PRESETS)}.{hint}")
        if not 0 < self.min_document_frequency <= 1:
            raise BadInputError(
                f"seq2seq: min_document_frequency is {self.min_document_frequency}; give a share above 0 and up to 1."
            )
        if self._option("optimizer") not in ("adam", "sgd"):
            raise BadInputError(f"seq2seq: unknown optimizer {self.optimizer!r}; known: adam, sgd.")
        for option in ("hidden", "batch_size", "max_steps", "learning_rate"):
            if self._option(option) <= 0:
                raise BadInputError(f"seq2seq: {option} is {self._option(option)}; it has to be above 0.")

    def _fit(self, urls: list[str], clusters: list[int], referrers: list[str | None]) -> None:
        counts = count_tokens(urls)
        templater = Templater.learn(
            counts, min_document_frequency=self.min_document_frequency, deep=self._option("deep")
        )
        crawl = [TemplatedUrl(url, *templater.split(url), cluster) for url, cluster in zip(urls, clusters, strict=True)]
        n_proposed = round(_PROPOSED * len(crawl)) if self._option("judged_gate") else len(crawl)
        pairs = self._training_pairs(crawl[:n_proposed], self._rank(counts))
        self._train(pairs)
        says = self._says_of(dict.fromkeys(url.template for url in crawl))
        n_urls = Counter(url.template for url in crawl)
        table = TranslationTable(
            templater,
            {template: Translation(said, n_urls[template]) for template, said in says.items()},
            self._translate if self._network is not None and not self._option("judged_gate") else None,
        ).settled(crawl)
        if self._option("judged_gate"):
            table = table.judged(crawl, first_judged=n_proposed, min_groups=_MIN_GROUPS, max_error=_MAX_ERROR)
        if self._option("value_guard"):
            table = table.guarded(crawl)
        self.table_ = table

    def _form(self, url: str, referrer: Referrer | None) -> str:
        return self.table_.form(url)

    def _fired(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._identifier(template) for template in self.table_.sources(url)))

    def _known_rules(self) -> Mapping[str, KnownRule]:
        known = {
            self._identifier(template): KnownRule(
                f"template {template} becomes {translation.says}",
                translation.evidence.n_groups,
                translation.evidence.n_wrong,
            )
            for template, translation in self.table_.translations.items()
            if translation.is_used and translation.says != template
        }
        if self._network is not None and not self._option("judged_gate"):
            known[self.name] = KnownRule("the network translates a template that was not met in training")
        return known

    def _identifier(self, template: Template | None) -> str:
        """Of the translation of a template, or of all those that the table lacks."""
        if template is None:
            return self.name
        return translation_identifier(template, self.table_.translations[template].says)

    def _explain(self, url: str, form: str) -> Explanation:
        template, _ = self.table_.templater.split(url)
        translation = self.table_.translations.get(template)
        if translation is None:
            reason = f"template {template} was not met in training"
            return Explanation(url, form, f"{reason}: {'own form' if form == url else 'translated by the network'}")
        evidence = {
            "template": template,
            "says": translation.says,
            "urls": translation.n_urls,
            "groups": translation.evidence.n_groups,
            "wrong": translation.evidence.n_wrong,
        }
        counted = f"{evidence['groups']} merge groups, {evidence['wrong']} wrong"
        if translation.says == template:
            reason = f"template {template} stands for itself"
        elif not translation.is_used:
            reason = f"template {template} would become {translation.says}, but the evidence is too thin: {counted}"
        elif form == url:
            reason = f"template {template} becomes {translation.says}, but this value is shared by several pages"
        else:
            reason = f"template {template} becomes {translation.says}: {counted}"
        return Explanation(url, form, reason, evidence)

    def _tables(self) -> dict[str, Any]:
        templater = self.table_.templater
        return {
            "tokens.json": {
                "function_tokens": sorted(templater.function_tokens),
                "function_words": sorted(templater.function_words),
                "vocabulary": list(self.vocabulary_.tokens),
            },
            "translations.json": self.table_.to_json(),
            FILE: history_to_json(self.history_),
        }

    def _weights(self) -> bytes:
        return self.weights_

    def _restore(self, files: ModelFiles) -> None:
        tokens = files.table("tokens.json")
        function_tokens, function_words = tokens["function_tokens"].texts(), tokens["function_words"].texts()
        templater = Templater(function_tokens, function_words, deep=self._option("deep"))
        self.vocabulary_ = Vocabulary(tokens["vocabulary"].texts())
        self.history_ = history_from_json(files.table(FILE)) if FILE in files.tables else NO_HISTORY
        self.weights_ = files.weights
        # behind the gate the table says all: a crawl need not wake the network, nor import numpy
        asks_network = bool(self.weights_) and not self._option("judged_gate")
        self._network = self._numpy_network() if asks_network else None
        self.table_ = TranslationTable(
            templater,
            TranslationTable.translations_from_json(files.table("translations.json")),
            self._translate if asks_network else None,
        )

    def _option(self, name: str) -> Any:
        value = getattr(self, name)
        return _PRESETS[self.preset][name] if value is None else value

    def _tokens(self, template: Template) -> list[str]:
        return tokenize(template, deep=self._option("deep"))

    def _rank(self, counts: TokenCounts) -> Rank:
        """Fewest tokens, then highest sum of document frequencies (SIGIR'17, section 3)."""

        def rank(url: TemplatedUrl) -> tuple[float, ...]:
            return len(self._tokens(url.template)), -sum(counts.tokens[token] for token in tokenize(url.url))

        return rank

    def _training_pairs(self, urls: Sequence[TemplatedUrl], rank: Rank) -> Counter[tuple[Template, Template]]:
        sizes = Counter(url.cluster for url in urls)
        singletons = [url for url in urls if sizes[url.cluster] == 1] if self._option("identity_pairs") else []
        if not self._option("global_targets"):
            return cluster_targets(urls, rank) + Counter((url.template, url.template) for url in singletons)
        chosen = {source: mapping.written() for source, mapping in global_targets(urls, rank).items()}
        members = [url for url in urls if sizes[url.cluster] > 1]
        return Counter((url.template, chosen.get(url.template, url.template)) for url in [*members, *singletons])

    def _train(self, counted: Counter[tuple[Template, Template]]) -> None:
        """Fit the network; with nothing but identities to learn there is no network at all."""
        pairs = [(self._tokens(s), self._tokens(t), n) for (s, t), n in sorted(counted.items())]
        pairs = [pair for pair in pairs if max(len(pair[0]), len(pair[1])) <= _MAX_TOKENS]
        self.vocabulary_ = Vocabulary.of(tokens for pair in pairs for tokens in pair[:2])
        self.weights_, self._network = b"", None
        self.exact_, self.n_epochs_ = 1.0, 0
        self.history_ = NO_HISTORY
        if any(source != target for source, target, _ in pairs):
            fit = self._fit_network(pairs)
            self.weights_, self.exact_, self.n_epochs_ = dump_weights(fit.weights), fit.exact, fit.n_epochs
            losses = curve("translator", "loss", list(enumerate(fit.losses, 1)))
            exacts = curve("translator", "share of training pairs translated exactly", fit.exacts)
            self.history_ = TrainingHistory((losses, exacts))
            self._network = self._numpy_network()

    def _numpy_network(self) -> NumpyTranslator:
        from dedup_crawler.networks.inference import NumpyTranslator

        return NumpyTranslator(load_weights(self.weights_), len(self.vocabulary_))

    def _fit_network(self, pairs: Iterable[tuple[list[str], list[str], int]]) -> Fit:
        try:
            from dedup_crawler.networks.training import Pair, Recipe, train
        except ImportError as error:
            raise MissingExtraError("training seq2seq", "torch", "train") from error
        encode = self.vocabulary_.encode
        preset = _PRESETS[self.preset]
        options = {name: self._option(name) for name in _RECIPE_OPTIONS}
        recipe = Recipe(**options, init_range=preset["init_range"], count_power=preset["count_power"])
        return train(
            [Pair(tuple(encode(source)), tuple(encode(target)), n) for source, target, n in pairs],
            len(self.vocabulary_),
            recipe,
            seed=self.seed,
            device=self.device,
            progress=self.progress,
        )

    def _says_of(self, templates: Iterable[Template]) -> dict[Template, Template]:
        if self._network is None:
            return {template: template for template in templates}
        return {template: self._translate(template) or template for template in templates}

    def _translate(self, template: Template) -> Template | None:
        """What the network says of *template*; None if that cannot be decoded."""
        tokens = self._tokens(template)
        if self._network is None or len(tokens) > _MAX_TOKENS:
            return None
        numbers = self._network.translate(self.vocabulary_.encode(tokens), _MAX_TOKENS + 1)
        said = self.vocabulary_.decode(numbers) if numbers is not None else None
        if said is None:
            return None
        target = detokenize(said, deep=self._option("deep"))
        return target if count_placeholders(target) <= count_placeholders(template) else None
