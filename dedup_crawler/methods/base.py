"""The protocol of all methods: fit on a crawl, then give canonical forms.

The contract is that of scikit-learn's estimators, with ``canonicalize`` in place of ``predict``. Options are
keyword-only, stored unchanged and checked in :meth:`Canonicalizer.fit`. Learnt attributes end with ``_``. A second fit
forgets the first.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.model.explanations import (
    Asked,
    Explanation,
    KnownRule,
    Record,
    Referrer,
    TrainingHistory,
)
from dedup_crawler.methods.model.folder import n_parameters
from dedup_crawler.methods.model.saved_model import SavedModel
from dedup_crawler.rules.language.sentences import Refusal
from dedup_crawler.rules.language.site_rules import Shape
from dedup_crawler.urls.normal import host_of, normal_form
from dedup_crawler.urls.page_links import NamesOf, not_known

if TYPE_CHECKING:
    from typing_extensions import Self

    from dedup_crawler.evidence.comparing import PageEvidence
    from dedup_crawler.evidence.site_text import SiteText
    from dedup_crawler.rules.exchange.exports import ModelRules


class Canonicalizer(SavedModel):
    """Gives all URLs of a page one string, the canonical form. It is a key to compare by, and is never fetched."""

    _told_rules: tuple[Mapping[str, str], Mapping[str, tuple[int, int]]] | None = None
    """Sentences and counts of the rules, by their identifiers; None until they are needed."""

    progress: Callable[[int, int, float], None] | None = None
    """Called during fitting with the steps done, the largest number of steps, and the quality of the fit (0-1)."""

    site_text: SiteText | None = None
    """Knowledge about the text of the site, with which a crawl compares pages; None if no pages were given."""

    history_: TrainingHistory = TrainingHistory()
    """Course of the training; empty for a method without epochs and held-out pairs."""

    _redirects: list[str | None] | None = None
    """During fitting: target that each URL redirects to, in normal form."""

    _evidence: PageEvidence | None = None
    """During fitting: compares the pages of the URLs."""

    def __repr__(self) -> str:
        name = type(self).__name__
        if not hasattr(self, "data_digest_"):
            return f"<{name}: has learnt nothing yet>"
        hosts = ", ".join(sorted(self.hosts))
        return f"<{name} of {hosts}: learnt from {self.n_urls_} URLs of {self.n_clusters_} pages>"

    def fit(
        self,
        urls: Sequence[str],
        clusters: Sequence[int],
        referrers: Sequence[str | None] | None = None,
        redirects: Sequence[str | None] | None = None,
        evidence: PageEvidence | None = None,
    ) -> Self:
        """Learn from a crawl; BadInputError if lengths differ, there is no URL, or an option is out of range.

        Parameters
        ----------
        urls
            URLs in crawl order.
        clusters
            ``clusters[i]`` is the page that ``urls[i]`` shows. Singletons matter: they are the negative examples.
        referrers
            ``referrers[i]`` is the URL on which ``urls[i]`` was found.
        redirects
            ``redirects[i]`` is the URL that ``urls[i]`` redirects to. Most methods ignore it, because the cluster says
            the same if that URL was crawled.
        evidence
            Compares two pages, given the change of a rule (:mod:`dedup_crawler.evidence`). Without it the clusters are
            the evidence. Most methods ignore it.
        """
        name = type(self).__name__
        if not urls:
            raise BadInputError(f"{name}.fit got no URLs; there is nothing to learn from.")
        for what, given in (("clusters", clusters), ("referrers", referrers), ("redirects", redirects)):
            if given is not None and len(given) != len(urls):
                raise BadInputError(f"{name}.fit got {len(urls)} URLs and {len(given)} {what}; give one for each URL.")
        self._check_options()
        forms = [normal_form(url) for url in urls]
        self._remember(forms, clusters, referrers)
        self._redirects = [each and normal_form(each) for each in redirects] if redirects is not None else None
        self._evidence = evidence
        self._fit(forms, list(clusters), list(referrers) if referrers is not None else [None] * len(urls))
        self._redirects = self._evidence = None
        self.quality_ = self._quality()
        return self

    def canonicalize(self, url: str, referrer: Referrer | None = None) -> str:
        """Canonical form of *url*: URLs with equal forms are believed to show the same page.

        Accepts any string. A URL of an unknown host comes back in normal form. NotFittedError before :meth:`fit` or
        :meth:`load`.
        """
        form = normal_form(url)
        return self._form(form, referrer) if self._knows(form) else form

    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Canonical form of a URL that must be in normal form and on one of :attr:`hosts`; saves the checks."""
        return self._form(url, referrer)

    @property
    def looks_back(self) -> bool:
        """True if some referrer rule may lead a link back to the page that holds it."""
        return False

    def leads_back_to(self, url: str, pages: Iterable[str], names_of: NamesOf = not_known) -> str | None:
        """First of the *pages* to which their link *url* leads back by a referrer rule, if any.

        All must be in normal form, and *url* on one of :attr:`hosts`. *names_of* gives the names in a page's links.
        """
        return None

    def repeating_kind(self, url: str) -> Shape | None:
        """The kind of *url*, if it mostly repeats pages: a crawl that learns fetches such URLs last.

        *url* must be in normal form, and on one of :attr:`hosts`.
        """
        return None

    def canonicalize_many(self, urls: Iterable[str]) -> list[str]:
        """Canonical forms of *urls*, in order."""
        return [self.canonicalize(url) for url in urls]

    def records(self, urls: Iterable[str], referrers: Iterable[str | None] | None = None) -> list[Record]:
        """Answers about each of *urls*, in order: ``url``, ``form``, ``covered``, ``rules`` and ``reason``.

        ``pandas.DataFrame(model.records(frame["url"]))`` makes a table of them. With *referrers* (the pages that hold
        the links), the URLs must be in crawl order. BadInputError if an entry of *urls* is no string, or the lengths
        differ; NotFittedError as :meth:`canonicalize`.
        """
        if isinstance(urls, str):
            raise BadInputError(f"records takes a list of URLs and got one text: write records([{urls[:200]!r}]).")
        listed = list(urls)
        for i, url in enumerate(listed):
            if not isinstance(url, str):
                raise BadInputError(
                    f"urls[{i}] is {url!r}, not a string: remove missing values, for example by dropna()."
                )
        # a missing value in a column of pandas is NaN
        sources = [
            source if isinstance(source, str) else None
            for source in ([None] * len(listed) if referrers is None else referrers)
        ]
        if len(sources) != len(listed):
            raise BadInputError(
                f"records got {len(listed)} URLs and {len(sources)} referrers; give one (or None) for each URL."
            )
        return [self.record_of(asked) for asked in self.forms_in_order(zip(listed, sources, strict=True))]

    def forms_in_order(self, visits: Iterable[tuple[str, str | None]]) -> Iterator[Asked]:
        """Forms of (URL, URL of the page that holds the link) pairs in crawl order, one by one.

        If a form comes from the referrer, the links on that page use it as the form of their referrer.
        """
        told: dict[str, str] = {}  # URL -> its form, for forms that come from the referrer
        for url, source in visits:
            referrer = Referrer(source, told.get(source) or self.canonicalize(source)) if source else None
            form = self.canonicalize(url, referrer)
            if referrer is not None and form == referrer.form:
                told[url] = form
            yield Asked(url, referrer, form)

    def record_of(self, asked: Asked) -> Record:
        """Answer about one URL."""
        url, referrer, form = asked
        rules, reason = list(self.fired(url, referrer)), self.explain(url, referrer).reason
        return Record(url=url, form=form, covered=self.is_covered(url), rules=rules, reason=reason)

    def is_covered(self, url: str) -> bool:
        """Return True if a crawl that continues gains nothing from *url*, because other URLs show its pages too.

        This does not say which page *url* shows, so it does not change the form. A crawl that starts anew ignores it.
        """
        return bool(self.covering(url))

    def covering(self, url: str) -> tuple[str, ...]:
        """Identifiers of the rules that cover *url*; empty for most URLs."""
        normal = normal_form(url)
        return self._covering(normal) if self._knows(normal) else ()

    def _knows(self, form: str) -> bool:
        """Return True if the host of a URL in normal form is among :attr:`hosts`."""
        if host_of(form) in self.hosts:
            return True
        self._check_fitted()
        return False

    def explain(self, url: str, referrer: Referrer | None = None) -> Explanation:
        """Explain the form of *url*: the form, and the reason for it."""
        form = self.canonicalize(url, referrer)
        normal = normal_form(url)
        if host_of(normal) not in self.hosts:
            return Explanation(url, form, f"the model has not learnt {host_of(normal) or 'this host'}: normal form")
        return self._explain(normal, form)

    def fired(self, url: str, referrer: Referrer | None = None) -> tuple[str, ...]:
        """Identifiers of all rules about *url*: those that lead to its form, and those that cover it.

        An identifier has at most 16 characters. It is the same in every process, after loading, and in a model that is
        learnt again from the same crawl.
        """
        return (*self.leading(url, referrer), *self.covering(url))

    def leading(self, url: str, referrer: Referrer | None = None, form: str | None = None) -> tuple[str, ...]:
        """Identifiers of the rules that lead from *url* to its form; empty if the form is the normal form.

        A caller that has the *form* already can give it, to save time.
        """
        normal = normal_form(url)
        if not self._knows(normal):
            return ()
        if form is None:
            form = self._form(normal, referrer)
        return self._fired(normal, form, referrer) if form != normal else ()

    def rule_sentences(self) -> Mapping[str, str]:
        """Identifier -> sentence, for every rule that :meth:`fired` may name."""
        return self._told()[0]

    def rule_evidence(self) -> Mapping[str, tuple[int, int]]:
        """Identifier -> number of merge groups in training, and of wrong ones; (0, 0) if they were not counted."""
        return self._told()[1]

    def model_rules(self) -> ModelRules | None:
        """The rules in the rule language, for export; None if the method has no rules."""
        return None

    def learnt(self) -> list[str]:
        """The learnt rules, one line each, the best supported first."""
        return []

    def refused(self) -> Sequence[Refusal]:
        """Refused hypotheses with their reasons, the best supported first; empty if the method does not keep them."""
        return ()

    def n_learnt(self) -> int | None:
        """Size of the model: number of rules, or parameters of a network; None for a method that learns nothing."""
        weights = self._weights()
        return n_parameters(weights) if weights else None

    @abstractmethod
    def _fit(self, urls: list[str], clusters: list[int], referrers: list[str | None]) -> None:
        """Learn from a crawl; *urls* are in normal form."""

    @abstractmethod
    def _form(self, url: str, referrer: Referrer | None) -> str:
        """Canonical form of a URL in normal form on a known host."""

    @abstractmethod
    def _explain(self, url: str, form: str) -> Explanation:
        """Explain the form of a URL in normal form on a known host."""

    def _fired(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, ...]:
        """Identifiers of the rules that lead from a URL in normal form on a known host to a different *form*."""
        return (self.name,)

    def _covering(self, url: str) -> tuple[str, ...]:
        """Identifiers of the rules that cover a URL in normal form on a known host."""
        return ()

    def _told(self) -> tuple[Mapping[str, str], Mapping[str, tuple[int, int]]]:
        self._check_fitted()
        if self._told_rules is None:
            known = self._known_rules()
            self._told_rules = (
                {each: rule.sentence for each, rule in known.items()},
                {each: (rule.n_groups, rule.n_wrong) for each, rule in known.items()},
            )
        return self._told_rules

    def _known_rules(self) -> Mapping[str, KnownRule]:
        """Identifier -> rule, for all rules."""
        return {self.name: KnownRule(f"{self.name}: {(type(self).__doc__ or '').partition('.')[0]}")}

    def with_candidates(self) -> Canonicalizer:
        """A copy that also applies rules which only a live crawl can confirm; the model itself if it has none."""
        return self

    def _without(self, identifiers: Collection[str]) -> Canonicalizer:
        """A copy of the fitted model without these rules; the model itself if it cannot leave out rules."""
        return self

    def _quality(self) -> dict[str, Any]:
        """Measures of the fitted model."""
        return {}

    def _remember(
        self, forms: Sequence[str], pages: Sequence[Hashable], referrers: Sequence[str | None] | None
    ) -> None:
        """Note the hosts, counts and digest of the training data; *forms* are in normal form."""
        self.hosts = frozenset(filter(None, map(host_of, forms)))
        self._told_rules = None
        self.n_urls_ = len(forms)
        self.n_clusters_ = len(set(pages))
        found_on = referrers if referrers is not None else [None] * len(forms)
        self.data_digest_ = training_digest(zip(forms, pages, found_on, strict=True))


def training_digest(rows: Iterable[tuple[str, Hashable, str | None]]) -> str:
    """Digest of training data: URL in normal form, page and referrer of each row, in order."""
    digest = hashlib.sha256()
    for url, page, referrer in rows:
        digest.update(f"{url}\t{page}\t{referrer or ''}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
