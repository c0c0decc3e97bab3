"""A model of any method with static rules in front of it: the model gets URLs as these rules leave them.

Static rules are only applied on the hosts that the model knows. If a static rule would change the form, rules and model
are applied again until the form no longer changes, so that the form of a form is the form itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.explanations import Explanation, KnownRule, Referrer
from dedup_crawler.rules.export.model_rules import ModelRules
from dedup_crawler.rules.static_rules.layer import StaticLayer, read_rule_files
from dedup_crawler.urls.normal import host_of, normal_form

STATIC_FILE = "static_rules.json"
"""File of a model folder that holds the static rules."""
_MAX_PASSES = 10


class StaticFront(Canonicalizer):
    """A fitted model behind a layer of static rules; both are saved together."""

    name = "static-front"

    def __init__(self, model: Canonicalizer, layer: StaticLayer) -> None:
        if isinstance(model, StaticFront):
            layer, model = layer.behind(model.layer), model.model
        self.model: Canonicalizer = model
        self.layer: StaticLayer = layer
        self.hosts = model.hosts
        self.quality_ = model.quality_
        self.site_text = model.site_text

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
        return Explanation(
            url, form, "; then ".join([*said, found.reason]), {**found.evidence, "static_rules": list(fired)}
        )

    def model_rules(self) -> ModelRules | None:
        """Rules of the model; static rules are not exported, they are already in a format of their own."""
        return self.model.model_rules()

    def learnt(self) -> list[str]:
        """One line for the rules of each file, then the lines of the model."""
        files = [f"{len(file.sentences)} static rules of {file.file} ({file.kind})" for file in self.layer.files]
        return [*files, *self.model.learnt()]

    def n_learnt(self) -> int | None:
        """Size of the model."""
        return self.model.n_learnt()

    def options(self) -> dict[str, Any]:
        """Options of the model."""
        return self.model.options()

    def _form(self, url: str, referrer: Referrer | None) -> str:
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
            form = self.model._form(static, referrer)
            if with_rules and form != static:
                fired += self.model._fired(static, form, referrer)
            if form == current or self.layer.trace(form)[0] == form:
                return form, tuple(dict.fromkeys(fired))
            current, referrer = form, None
        return url, ()

    def _explain(self, url: str, form: str) -> Explanation:
        return self.model._explain(self.layer.trace(url)[0], form)

    def _covering(self, url: str) -> tuple[str, ...]:
        static, fired = self.layer.trace(url)
        covering = self.model._covering(static)
        return (*fired, *covering) if covering else ()

    def _known_rules(self) -> Mapping[str, KnownRule]:
        static = {known: KnownRule(said) for known, said in self.layer.sentences().items()}
        return {**static, **self.model._known_rules()}

    def _without(self, identifiers: Collection[str]) -> Canonicalizer:
        return StaticFront(self.model._without(identifiers), self.layer.without(identifiers))

    def _tables(self) -> dict[str, Any]:
        return {**self.model._tables(), STATIC_FILE: self.layer.to_json()}

    def _weights(self) -> bytes:
        return self.model._weights()

    def _description(self) -> dict[str, Any]:
        return self.model._description()

    def _check_fitted(self) -> None:
        self.model._check_fitted()

    def _check_options(self) -> NoReturn:
        raise BadInputError("a model behind static rules cannot be fitted; fit the model itself.")

    def _fit(self, urls: list[str], clusters: list[int], referrers: list[str | None]) -> NoReturn:
        self._check_options()


def with_static_files(model: Canonicalizer, paths: Iterable[str | Path]) -> Canonicalizer:
    """The model behind the rules of some files; the model itself without files.

    BadInputError if a file cannot be read. MissingExtraError if a package that applies the rules is not installed.
    """
    files = [Path(path) for path in paths]
    return StaticFront(model, read_rule_files(files)) if files else model
