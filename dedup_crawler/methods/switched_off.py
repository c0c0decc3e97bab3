"""A fitted model with some of its rules switched off: what a live crawl goes on with when a rule was wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NoReturn

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.explanations import Explanation, KnownRule, Referrer
from dedup_crawler.urls.normal import normal_form


def without(model: Canonicalizer, identifiers: Collection[str]) -> Canonicalizer:
    """Return a copy of a fitted model with some rules switched off.

    A URL on which none of these rules fired keeps its form. Any other URL gets a form by the remaining rules that fired
    on it; no other rule steps in. Unknown identifiers are ignored.

    NotFittedError if the model has learnt nothing yet.
    """
    model._check_fitted()
    if isinstance(model, SwitchedOff):
        return without(model.whole, model.off.union(identifiers))
    return SwitchedOff(model, frozenset(identifiers)) if identifiers else model


class SwitchedOff(Canonicalizer):
    """A fitted model with some of its rules switched off; it can be neither fitted nor saved.

    A URL on which none of these rules fired keeps its form. Any other URL gets the form that the method gives without
    them, but only if all rules that lead to it fired before, too. Otherwise another rule has stepped in, about which
    nobody knows more, and the URL keeps its normal form. It also does so if the new form would not be its own form.

    *whole* is the model with all its rules, *off* the identifiers of those that are switched off.
    """

    name = "switched-off"

    def __init__(self, whole: Canonicalizer, off: frozenset[str]) -> None:
        self.whole = whole
        self.off = off
        self.hosts = whole.hosts
        self.site_text = whole.site_text
        self._left = whole._without(off)

    def explain(self, url: str, referrer: Referrer | None = None) -> Explanation:
        """Explain the form of *url*, and name the switched-off rules about it."""
        normal = normal_form(url)
        off = [each for each in self.whole.fired(url, referrer) if each in self.off]
        if not off:
            return self.whole.explain(url, referrer)
        sentences = self.whole.rule_sentences()
        said = [sentences[each] for each in self.fired(url, referrer)]
        said += [f"switched off: {sentences[each]}" for each in off]
        form = self._form(normal, referrer)
        return Explanation(url, form, "; ".join(said if form != normal else ["left alone", *said]))

    def learnt(self) -> list[str]:
        """Sentences of the remaining rules."""
        return list(self.rule_sentences().values())

    def n_learnt(self) -> int | None:
        """Size of the model with the remaining rules."""
        return self._left.n_learnt()

    @property
    def digest(self) -> str:
        """Digest of the whole model and the switched-off rules: 64 hex digits."""
        return hashlib.sha256(
            " ".join([self.whole.digest, *sorted(self.off)]).encode("utf-8", "surrogatepass")
        ).hexdigest()

    def save(self, folder: str | Path) -> NoReturn:
        """Raise BadInputError: only models with all their rules are saved."""
        raise BadInputError(f"{folder}: a model with switched-off rules cannot be saved; save the whole model.")

    def _form(self, url: str, referrer: Referrer | None) -> str:
        form = self.whole._form(url, referrer)
        return form if form == url else self._decided(url, form, referrer)[0]

    def _fired(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, ...]:
        return self._decided(url, self.whole._form(url, referrer), referrer)[1]

    def _covering(self, url: str) -> tuple[str, ...]:
        return () if self.off.intersection(covering := self.whole._covering(url)) else covering

    def _decided(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, tuple[str, ...]]:
        """Form and fired rules of a URL to which the whole model gives a different *form*."""
        decided, fired = self._proposed(url, form, referrer)
        if decided not in (url, form):
            again = self.whole._form(decided, None)
            if again != decided and self._proposed(decided, again, None)[0] != decided:
                return url, ()
        return decided, fired

    def _proposed(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, tuple[str, ...]]:
        """Form and fired rules without the switched-off rules; the form may have another form in turn."""
        fired = self.whole._fired(url, form, referrer)
        if self.off.isdisjoint(fired):
            return form, fired
        less = self._left._form(url, referrer)
        if less == url:
            return url, ()
        left = self._left._fired(url, less, referrer)
        return (less, left) if self.off.isdisjoint(left) and set(left) <= set(fired) else (url, ())

    def _known_rules(self) -> Mapping[str, KnownRule]:
        return {known: rule for known, rule in self.whole._known_rules().items() if known not in self.off}

    def _check_fitted(self) -> None:
        """Do nothing: the whole model is fitted."""

    def _check_options(self) -> NoReturn:
        raise BadInputError("a model with switched-off rules cannot be fitted; fit the whole model.")

    def _fit(self, urls: list[str], clusters: list[int], referrers: list[str | None]) -> NoReturn:
        self._check_options()

    def _explain(self, url: str, form: str) -> Explanation:
        return self.whole._explain(url, form)
