"""Fitted models that another layer changes: static rules before the model, or some of its rules switched off."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.explanations import Explanation, KnownRule, Referrer
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.rules.exchange.exports import ModelRules
from dedup_crawler.rules.exchange.static_rules import StaticLayer, read_rule_files
from dedup_crawler.rules.language.sentences import Refusal
from dedup_crawler.rules.language.site_rules import LateKind
from dedup_crawler.urls.normal import host_of, normal_form
from dedup_crawler.urls.page_links import NamesOf, not_known

STATIC_FILE = "static_rules.json"
"""File of a model folder that holds the static rules."""
_MAX_PASSES = 10


class _Wrapped(Canonicalizer):
    """A fitted model that is changed, and cannot be fitted again."""

    def __init__(self, model: Canonicalizer) -> None:
        self.model = model
        self.hosts, self.site_text, self.quality_ = model.hosts, model.site_text, model.quality_
        self.looks_back, self.history_ = model.looks_back, model.history_
        self.n_urls_, self.n_clusters_, self.data_digest_ = model.n_urls_, model.n_clusters_, model.data_digest_

    def options(self) -> dict[str, Any]:
        """Options of the model."""
        return self.model.options()

    def n_learnt(self) -> int | None:
        """Size of the model."""
        return self.model.n_learnt()

    def refused(self) -> Sequence[Refusal]:
        """Refused hypotheses of the model."""
        return self.model.refused()

    def _check_options(self) -> NoReturn:
        raise BadInputError("a model with static or switched-off rules cannot be fitted; fit the whole model itself.")

    def _fit(self, crawl: TrainingData) -> NoReturn:
        self._check_options()

    def _explain(self, url: str, form: str) -> Explanation:
        return self.model._explain(url, form)


class StaticFront(_Wrapped):
    """A fitted model behind a layer of static rules: it gets URLs as these rules leave them. Both are saved together.

    Static rules are only applied on the hosts that the model knows. If a static rule would change the form, rules and
    model are applied again until the form no longer changes, so that the form of a form is the form itself.
    """

    name = "static-front"

    def __init__(self, model: Canonicalizer, layer: StaticLayer) -> None:
        if isinstance(model, StaticFront):
            layer, model = layer.behind(model.layer), model.model
        super().__init__(model)
        self.layer: StaticLayer = layer

    def explain(self, url: str, referrer: Referrer | None = None) -> Explanation:
        """Explain the form of *url*: the static rules that changed it, and the reason of the model."""
        normal = normal_form(url)
        if host_of(normal) not in self.hosts:
            return self.model.explain(url, referrer)
        static, fired = self.layer.trace(normal)
        found = self.model.explain(static, referrer)
        form = self.canonicalize(url, referrer)
        if not fired:
            return replace(found, url=url, form=form)
        said = [self.layer.sentences()[rule] for rule in fired]
        reason = "; then ".join([*said, found.reason])
        return Explanation(url, form, reason, {**found.evidence, "static_rules": list(fired)})

    def model_rules(self) -> ModelRules | None:
        """Rules of the model; static rules are not exported, they are already in a format of their own."""
        return self.model.model_rules()

    def learnt(self) -> list[str]:
        """One line for the rules of each file, then the lines of the model."""
        files = [f"{len(file.sentences)} static rules of {file.file} ({file.kind})" for file in self.layer.files]
        return [*files, *self.model.learnt()]

    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Form by the static rules and the model."""
        return self._way(url, referrer)[0]

    def _fired(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, ...]:
        return self._way(url, referrer, with_rules=True)[1]

    def _way(self, url: str, referrer: Referrer | None, *, with_rules: bool = False) -> tuple[str, tuple[str, ...]]:
        """Form of a URL and the rules that lead to it; rules of the model are left out unless *with_rules*."""
        fired: list[str] = []
        current = url
        for _ in range(_MAX_PASSES):
            static, its = self.layer.trace(current)
            fired += its
            form = self.model.form_of(static, referrer)
            if with_rules and form != static:
                fired += self.model._fired(static, form, referrer)
            if form == current or self.layer.trace(form)[0] == form:
                return form, tuple(dict.fromkeys(fired))
            current, referrer = form, None
        return url, ()

    def leads_back_to(self, url: str, pages: Iterable[str], names_of: NamesOf = not_known) -> str | None:
        """First of the *pages* to which their link *url* leads back, if any."""
        return self.model.leads_back_to(self.layer.trace(url)[0], pages, names_of)

    def late_kind(self, url: str) -> LateKind | None:
        """The kind of *url*, if a crawl that learns should fetch it last."""
        return self.model.late_kind(self.layer.trace(url)[0])

    def _covering(self, url: str) -> tuple[str, ...]:
        static, fired = self.layer.trace(url)
        covering = self.model._covering(static)
        return (*fired, *covering) if covering else ()

    def _known_rules(self) -> Mapping[str, KnownRule]:
        static = {known: KnownRule(said) for known, said in self.layer.sentences().items()}
        return {**static, **self.model._known_rules()}

    def with_candidates(self) -> Canonicalizer:
        """A copy whose model also applies its candidates."""
        model = self.model.with_candidates()
        return self if model is self.model else StaticFront(model, self.layer)

    def _without(self, identifiers: Collection[str]) -> Canonicalizer:
        return StaticFront(self.model._without(identifiers), self.layer.without(identifiers))

    def _tables(self) -> dict[str, Any]:
        return {**self.model._tables(), STATIC_FILE: self.layer.to_json()}

    def _description(self) -> dict[str, Any]:
        return self.model._description()


def with_static_files(model: Canonicalizer, paths: Sequence[Path]) -> Canonicalizer:
    """The model behind the rules of some files; the model itself without files.

    BadInputError if a file cannot be read. MissingExtraError if a package that applies the rules is not installed.
    """
    return StaticFront(model, read_rule_files(paths)) if paths else model


def without(model: Canonicalizer, identifiers: Collection[str]) -> Canonicalizer:
    """A copy of a fitted model with some rules switched off; unknown identifiers are ignored.

    NotFittedError if the model has learnt nothing yet.
    """
    model._check_fitted()
    if isinstance(model, SwitchedOff):
        return without(model.model, model.off.union(identifiers))
    return SwitchedOff(model, frozenset(identifiers)) if identifiers else model


class SwitchedOff(_Wrapped):
    """A fitted model with the rules *off* switched off, as a live crawl goes on when they were wrong; it is not saved.

    A URL on which none of these rules fired keeps its form. Any other URL gets the form that the method gives without
    them, but only if all rules that lead to it fired before, too. Otherwise another rule has stepped in, about which
    nobody knows more, and the URL keeps its normal form. It also does so if the new form would not be its own form.
    A referrer rule may step in: it was learnt from links that the rules before it explain as well.
    """

    name = "switched-off"

    def __init__(self, model: Canonicalizer, off: frozenset[str]) -> None:
        super().__init__(model)
        self.off = off
        self._left = model._without(off)

    def explain(self, url: str, referrer: Referrer | None = None) -> Explanation:
        """Explain the form of *url*, and name the switched-off rules about it."""
        normal = normal_form(url)
        sentences = self.model.rule_sentences()
        off = [each for each in self.model.fired(url, referrer) if each in self.off and each in sentences]
        if not off:
            return self.model.explain(url, referrer)
        said = [sentences[each] for each in self.fired(url, referrer) if each in sentences]
        said += [f"switched off: {sentences[each]}" for each in off]
        form = self.form_of(normal, referrer)
        return Explanation(url, form, "; ".join(said if form != normal else ["left alone", *said]))

    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Form without the switched-off rules."""
        form = self.model.form_of(url, referrer)
        return form if form == url else self._decided(url, form, referrer)[0]

    def _fired(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, ...]:
        return self._decided(url, self.model.form_of(url, referrer), referrer)[1]

    def leads_back_to(self, url: str, pages: Iterable[str], names_of: NamesOf = not_known) -> str | None:
        """First of the *pages* to which their link *url* leads back, if any, and if its rule is not switched off."""
        page = self.model.leads_back_to(url, pages, names_of)
        if page is None:
            return None
        referrer = Referrer(page, self.canonicalize(page), names_of(page))
        return page if self.form_of(url, referrer) == referrer.form else None

    def late_kind(self, url: str) -> LateKind | None:
        """The kind of *url*, if a crawl that learns should fetch it last."""
        return self.model.late_kind(url)

    def _covering(self, url: str) -> tuple[str, ...]:
        return () if self.off.intersection(covering := self.model._covering(url)) else covering

    def _decided(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, tuple[str, ...]]:
        """Form and fired rules of a URL to which the whole model gives a different *form*."""
        decided, fired = self._proposed(url, form, referrer)
        if decided not in (url, form):
            again = self.model.form_of(decided, None)
            if again != decided and self._proposed(decided, again, None)[0] != decided:
                return url, ()
        return decided, fired

    def _proposed(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, tuple[str, ...]]:
        """Form and fired rules without the switched-off rules; the form may have another form in turn."""
        fired = self.model._fired(url, form, referrer)
        if self.off.isdisjoint(fired):
            return form, fired
        less = self._left.form_of(url, referrer)
        if less == url:
            return url, ()
        left = self._left._fired(url, less, referrer)
        if not self.off.isdisjoint(left):
            return url, ()
        # a referrer rule has evidence of its own
        leads_back = (
            referrer is not None
            and self._left.leads_back_to(url, [referrer.url], lambda page: referrer.link_names) is not None
        )
        return (less, left) if leads_back or set(left) <= set(fired) else (url, ())

    def _known_rules(self) -> Mapping[str, KnownRule]:
        return {known: rule for known, rule in self.model._known_rules().items() if known not in self.off}

    def _tables(self) -> NoReturn:
        raise BadInputError("a model with switched-off rules cannot be saved; save the whole model.")
