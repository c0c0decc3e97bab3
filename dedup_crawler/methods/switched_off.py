"""A model of any method with some of its rules switched off.

A URL on which none of them fired keeps its form. Any other gets what the same method gives without them, as far as that
is the work of rules that fired on it before: where another rule steps in for one that was switched off, nobody asked
whether it is any better, and the URL is left alone. So it is where the form would not be its own form.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.base import Canonicalizer, Explanation, KnownRule, Referrer
from dedup_crawler.urls.normal import normal_form


class SwitchedOff(Canonicalizer):
    """What is left of a fitted model; it is neither fitted nor saved.

    Parameters
    ----------
    whole
        The model with all its rules.
    off
        Identifiers of those that are not to be used.
    """

    name = "switched-off"

    def __init__(self, whole: Canonicalizer, off: frozenset[str]) -> None:
        self.whole = whole
        self.off = off
        self.hosts = whole.hosts
        self.site_text = whole.site_text
        self._left = whole._without(off)

    def explain(self, url: str, referrer: Referrer | None = None) -> Explanation:
        """Say which form *url* gets and why, and what was switched off for it."""
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
        """What every rule does that is left."""
        return list(self.rule_sentences().values())

    def n_learnt(self) -> int | None:
        """How large the model is that is left."""
        return self._left.n_learnt()

    def without(self, identifiers: Collection[str]) -> Canonicalizer:
        """The model without these rules either."""
        return self.whole.without(self.off.union(identifiers))

    @property
    def digest(self) -> str:
        """Of the whole model and of what was switched off: 64 hex digits."""
        return sha256(" ".join([self.whole.digest, *sorted(self.off)]).encode("utf-8", "surrogatepass")).hexdigest()

    def save(self, folder: str | Path) -> NoReturn:
        """Refuse: a saved model holds all its rules.

        Raises
        ------
        BadInputError
            Always.
        """
        raise BadInputError(f"{folder}: a model with rules switched off is not saved; save the whole one.")

    def _form(self, url: str, referrer: Referrer | None) -> str:
        form = self.whole._form(url, referrer)
        return form if form == url else self._decided(url, form, referrer)[0]

    def _fired(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, ...]:
        return self._decided(url, self.whole._form(url, referrer), referrer)[1]

    def _is_covered(self, url: str) -> bool:
        return self.whole._is_covered(url) and bool(self._covering(url))

    def _covering(self, url: str) -> tuple[str, ...]:
        return () if self.off.intersection(covering := self.whole._covering(url)) else covering

    def _decided(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, tuple[str, ...]]:
        """The form of a URL to which the whole model gives *form*, another one, and what leads there."""
        decided, fired = self._proposed(url, form, referrer)
        if decided not in (url, form):
            again = self.whole._form(decided, None)
            if again != decided and self._proposed(decided, again, None)[0] != decided:
                return url, ()
        return decided, fired

    def _proposed(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, tuple[str, ...]]:
        """The same, whether it is its own form or not."""
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
        """Only a fitted model is asked for less."""

    def _check_options(self) -> NoReturn:
        raise BadInputError("a model with rules switched off learns nothing; fit the whole one.")

    def _fit(self, urls: list[str], clusters: list[int], referrers: list[str | None]) -> NoReturn:
        self._check_options()

    def _explain(self, url: str, form: str) -> Explanation:
        return self.whole._explain(url, form)
