"""The translator of URLs, and safeguards for its translations.

K. Xu, Z. Liu, J. Callan, "De-duping URLs with Sequence-to-Sequence Neural Networks", SIGIR 2017: a GRU encoder-decoder
learns to translate a URL to the canonical URL of its cluster, with placeholders for arguments (section 3). So the
network reads templates: each pair of templates is trained once, and each template of the crawl is translated once, into
``translations.json``. This table is the model; the network is not kept. A URL with an unknown template keeps its own
form.

The preset ``paper`` is the recipe of the paper. The preset ``fast`` adds four options:

* ``identity_pairs``: singletons are trained too, as translations to themselves (or to the global target of their
  template). They are the negative examples, which the paper leaves out.
* ``global_targets``: all templates of the same pages have one target, instead of one target for each cluster.
* ``judged_gate``: the network learns from the first 70 % of the pages. A template is only translated if it has at least
  20 merge groups with later pages, and at most 10 % of them are wrong (95 % confidence).
* ``value_guard``: a dropped argument that several pages share is a function token
  (:mod:`dedup_crawler.rules.applying.new_words`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dedup_crawler.errors import BadInputError, MissingExtraError
from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.explanations import (
    FILE,
    Explanation,
    KnownRule,
    Referrer,
    TrainingHistory,
    curve,
    history_from_json,
    history_to_json,
)
from dedup_crawler.methods.model.folder import ModelFiles
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.rules.applying.translations import Translation, TranslationTable
from dedup_crawler.rules.language.identifiers import translation_identifier
from dedup_crawler.rules.language.sentences import MAX_REFUSALS, Refusal
from dedup_crawler.rules.miners.targets import Rank, TemplatedUrl, cluster_targets, global_targets
from dedup_crawler.urls.templates import (
    Template,
    Templater,
    TokenCounts,
    count_placeholders,
    count_tokens,
    detokenize,
    tokenize,
)

if TYPE_CHECKING:
    from dedup_crawler.networks.translator import Fit

_SAFEGUARDS = ("identity_pairs", "global_targets", "judged_gate", "value_guard")
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
        **dict.fromkeys(_SAFEGUARDS, True),
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
        **dict.fromkeys(_SAFEGUARDS, False),
    },
}
_MAX_TOKENS = 60  # longer templates are neither trained nor translated
_PROPOSED = 0.70  # share of the pages from which the network learns; the later ones judge it
_MIN_GROUPS, _MAX_ERROR = 20, 0.10


@dataclass(kw_only=True, eq=False, repr=False)
class Seq2Seq(Canonicalizer):
    """Translates the template of a URL to that of its page's canonical URL.

    Parameters
    ----------
    preset
        ``"fast"`` (128 units, Adam, four safeguards) or ``"paper"`` (512 units, SGD, batch 20, no safeguards). It
        gives the options that are not set.
    hidden
        Units of the GRUs and size of the embedding.
    optimizer
        ``"adam"`` or ``"sgd"``.
    learning_rate
        Learning rate of the optimizer.
    batch_size
        Number of template pairs in one training step.
    max_steps
        Largest number of training steps; training ends early when every pair is translated exactly.
    min_document_frequency
        Smallest share (0-1) of the URLs that a function token occurs in.
    deep
        Cut templates inside tokens too: slugs and paths of any length become one argument.
    identity_pairs
        Train singletons as translations to themselves.
    global_targets
        Give all templates of the same pages one target.
    judged_gate
        Translate a template only if its merge groups with later pages hold.
    value_guard
        Keep an argument that occurs with a third id.
    seed
        The same seed gives the same model, byte for byte, on the CPU.
    device
        ``"cpu"`` or ``"cuda"``, for training only.
    """

    name = "seq2seq"
    _presets: ClassVar = _PRESETS

    preset: str = "fast"
    hidden: int | None = None
    optimizer: str | None = None
    learning_rate: float | None = None
    batch_size: int | None = None
    max_steps: int | None = None
    min_document_frequency: float = 0.01
    deep: bool | None = None
    identity_pairs: bool | None = None
    global_targets: bool | None = None
    judged_gate: bool | None = None
    value_guard: bool | None = None
    seed: int = 0
    device: str = "cpu"

    def learnt(self) -> list[str]:
        """Every template whose URLs are translated, with its evidence."""
        used = sorted(self._used(), key=lambda entry: (-entry[1].evidence.n_groups, -entry[1].n_urls, entry[0]))
        return [
            f"{source} -> {each.says}   "
            f"({each.n_urls} URLs, {each.evidence.n_groups} merge groups, {each.evidence.n_wrong} wrong)"
            for source, each in used
        ]

    def refused(self) -> Sequence[Refusal]:
        """Translations that the gate refused, those with most right merge groups first."""
        self._check_fitted()
        found = []
        for source, translation in self._used(is_used=False):
            n_groups, n_wrong = translation.evidence.n_groups, translation.evidence.n_wrong
            reason = f"{n_wrong} of {n_groups} merge groups with later pages are wrong"
            if n_groups < _MIN_GROUPS:
                reason = f"{n_groups} merge groups with later pages are too few: {_MIN_GROUPS} are needed"
            found.append(Refusal(f"template {source} becomes {translation.says}", reason, n_groups, n_wrong))
        return sorted(found, key=lambda each: each.n_wrong - each.n_groups)[:MAX_REFUSALS]

    def _used(self, *, is_used: bool = True) -> list[tuple[Template, Translation]]:
        """Templates that the network translates to another one, and whose translation is used, or is not."""
        translations = self.table_.translations.items()
        return [(source, each) for source, each in translations if each.is_used is is_used and each.says != source]

    def n_learnt(self) -> int | None:
        """Number of parameters of the network that made the table."""
        return self.quality_.get("parameters") or None

    def _quality(self) -> dict[str, Any]:
        return {
            "parameters": self.n_parameters_,
            "epochs": self.n_epochs_,
            "exact_training_pairs": round(self.exact_, 6),
            "templates": len(self.table_.translations),
            "translated_templates": len(self._used()),
        }

    def _check_options(self) -> None:
        super()._check_options()
        if not 0 < self.min_document_frequency <= 1:
            raise BadInputError(
                f"seq2seq: min_document_frequency is {self.min_document_frequency}; give a share above 0 and up to 1."
            )
        if self._option("optimizer") not in ("adam", "sgd"):
            raise BadInputError(f"seq2seq: unknown optimizer {self.optimizer!r}; known: adam, sgd.")
        for option in ("hidden", "batch_size", "max_steps", "learning_rate"):
            if self._option(option) <= 0:
                raise BadInputError(f"seq2seq: {option} is {self._option(option)}; it has to be above 0.")

    def _fit(self, crawl: TrainingData) -> None:
        counts = count_tokens(crawl.urls)
        templater = Templater.learn(
            counts, min_document_frequency=self.min_document_frequency, deep=self._option("deep")
        )
        urls = [TemplatedUrl(url, *templater.split(url), page) for url, page in zip(*crawl[:2], strict=True)]
        n_proposed = round(_PROPOSED * len(urls)) if self._option("judged_gate") else len(urls)
        says = self._learnt(
            self._training_pairs(urls[:n_proposed], self._rank(counts)),
            list(dict.fromkeys(url.template for url in urls)),
        )
        n_urls = Counter(url.template for url in urls)
        table = TranslationTable(
            templater, {template: Translation(said, n_urls[template]) for template, said in says.items()}
        ).settled(urls)
        if self._option("judged_gate"):
            table = table.judged(urls, first_judged=n_proposed, min_groups=_MIN_GROUPS, max_error=_MAX_ERROR)
        self.table_ = table.guarded(urls) if self._option("value_guard") else table

    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Translation of a URL in normal form; the URL itself if there is none that is used."""
        return self.table_.form(url)

    def proposed_forms(self, host: str) -> Callable[[str], str]:
        """All translations of the network, also those that the gate refused."""
        translations = self.table_.translations.items()
        every = {template: replace(said, is_used=True, guarded=()) for template, said in translations}
        return TranslationTable(self.table_.templater, every).form

    def _fired(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, ...]:
        template, _ = self.table_.templater.split(url)
        return (translation_identifier(template, self.table_.translations[template].says),)

    def _known_rules(self) -> Mapping[str, KnownRule]:
        return {
            translation_identifier(template, each.says): KnownRule(
                f"template {template} becomes {each.says}", each.evidence.n_groups, each.evidence.n_wrong
            )
            for template, each in self._used()
        }

    def _explain(self, url: str, form: str) -> Explanation:
        template, _ = self.table_.templater.split(url)
        translation = self.table_.translations.get(template)
        if translation is None:
            return Explanation(url, form, f"template {template} was not in the training data: left alone")
        says, counts = translation.says, translation.evidence
        evidence = {"template": template, "says": says, "urls": translation.n_urls}
        evidence |= {"groups": counts.n_groups, "wrong": counts.n_wrong}
        counted = f"{counts.n_groups} merge groups, {counts.n_wrong} wrong"
        if says == template:
            reason = f"template {template} stands for itself"
        elif not translation.is_used:
            reason = f"template {template} would become {says}, but the evidence is too weak: {counted}"
        elif form == url:
            reason = f"template {template} becomes {says}, but several pages share this value: left alone"
        else:
            reason = f"template {template} becomes {says}: {counted}"
        return Explanation(url, form, reason, evidence)

    def _tables(self) -> dict[str, Any]:
        templater = self.table_.templater
        return {
            "tokens.json": {
                "function_tokens": sorted(templater.function_tokens),
                "function_words": sorted(templater.function_words),
            },
            "translations.json": self.table_.to_json(),
            FILE: history_to_json(self.history_),
        }

    def _restore(self, files: ModelFiles) -> None:
        tokens = files.table("tokens.json")
        function_tokens, function_words = tokens["function_tokens"].texts(), tokens["function_words"].texts()
        templater = Templater(function_tokens, function_words, deep=self._option("deep"))
        self.history_ = history_from_json(files.table_if_any(FILE))
        translations = TranslationTable.translations_from_json(files.table("translations.json"))
        self.table_ = TranslationTable(templater, translations)

    def _tokens(self, template: Template) -> list[str]:
        return tokenize(template, deep=self._option("deep"))

    def _rank(self, counts: TokenCounts) -> Rank:
        """Sort key for targets: fewest tokens, then highest sum of document frequencies (SIGIR'17, section 3)."""

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

    def _learnt(
        self, counted: Counter[tuple[Template, Template]], templates: Sequence[Template]
    ) -> dict[Template, Template]:
        """Train the network, and translate each template; without a network if all pairs are identities."""
        pairs = [(self._tokens(s), self._tokens(t), n) for (s, t), n in sorted(counted.items())]
        pairs = [pair for pair in pairs if max(len(pair[0]), len(pair[1])) <= _MAX_TOKENS]
        self.exact_, self.n_epochs_, self.n_parameters_, self.history_ = 1.0, 0, 0, TrainingHistory()
        says = {template: template for template in templates}
        if all(source == target for source, target, _ in pairs):
            return says
        fit, said = self._translated(pairs, [self._tokens(template) for template in templates])
        self.exact_, self.n_epochs_ = fit.exact, len(fit.losses)
        self.n_parameters_ = sum(each.numel() for each in fit.model.parameters())
        losses = curve("translator", "loss", list(enumerate(fit.losses, 1)))
        exacts = curve("translator", "share of training pairs translated exactly", fit.exacts)
        self.history_ = TrainingHistory((losses, exacts))
        for template, tokens in zip(templates, said, strict=True):
            target = template if tokens is None else detokenize(tokens, deep=self._option("deep"))
            if count_placeholders(target) <= count_placeholders(template):
                says[template] = target
        return says

    def _translated(
        self, pairs: Sequence[tuple[list[str], list[str], int]], asked: Sequence[list[str]]
    ) -> tuple[Fit, list[list[str] | None]]:
        """Train on pairs, and translate the sequences *asked*; None for a translation that cannot be decoded."""
        try:
            from dedup_crawler.networks.translator import Pair, Recipe, Vocabulary, train, translations
        except ImportError as error:
            raise MissingExtraError("training seq2seq", "torch", "train") from error
        vocabulary = Vocabulary(tokens for pair in pairs for tokens in pair[:2])
        encode = vocabulary.encode
        fit = train(
            [Pair(tuple(encode(source)), tuple(encode(target)), n) for source, target, n in pairs],
            len(vocabulary),
            Recipe(**{field.name: self._option(field.name) for field in fields(Recipe)}),
            seed=self.seed,
            device=self.device,
            progress=self.progress,
        )
        short = [tokens if len(tokens) <= _MAX_TOKENS else [] for tokens in asked]
        said = translations(fit.model, [encode(tokens) for tokens in short], _MAX_TOKENS + 1)
        return fit, [
            vocabulary.decode(numbers) if tokens and numbers is not None else None
            for tokens, numbers in zip(short, said, strict=True)
        ]
