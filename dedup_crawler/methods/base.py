"""The protocol of all methods: fit on a crawl, then give canonical forms.

The contract is that of scikit-learn's estimators, with ``canonicalize`` in place of ``predict``. Options are
keyword-only, stored unchanged and checked in :meth:`Canonicalizer.fit`. Learnt attributes end with ``_``. A second fit
forgets the first.
"""

from __future__ import annotations

import hashlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dedup_crawler.errors import BadInputError, DamagedModelError, NotFittedError, did_you_mean
from dedup_crawler.methods.model.explanations import Asked, Explanation, KnownRule, Record, Referrer, TrainingHistory
from dedup_crawler.methods.model.folder import ModelFiles, digest_of, write_model
from dedup_crawler.methods.model.method_options import check_values
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.rules.language.sentences import Refusal
from dedup_crawler.rules.language.site_rules import LateKind
from dedup_crawler.urls.normal import host_of, normal_form
from dedup_crawler.urls.page_links import NamesOf, not_known

if TYPE_CHECKING:
    from typing_extensions import Self

    from dedup_crawler.evidence.comparing import PageEvidence
    from dedup_crawler.evidence.site_text import SiteText
    from dedup_crawler.rules.exchange.exports import ModelRules


class Canonicalizer(ABC):
    """Gives all URLs of a page one string, the canonical form. It is a key to compare by, and is never fetched."""

    name: ClassVar[str]
    """Name on the command line, in model folders and in tables."""

    _least: ClassVar[Mapping[str, float]] = {}
    """Option -> its smallest value."""

    _shares: ClassVar[Sequence[str]] = ()
    """Options that are a share (0-1)."""

    _presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Value of the option *preset*, if the method has one -> the options that it gives, where they are not set."""

    preset: str

    progress: Callable[[int, int, float], None] | None = None
    """Called during fitting with the steps done, the largest number of steps, and the quality of the fit (0-1)."""

    hosts: frozenset[str] = frozenset()
    """Hosts (with port, lower-case) of the training URLs. URLs of other hosts keep their normal form."""

    n_urls_: int
    n_clusters_: int
    data_digest_: str
    """Digest of the training data; missing before the first fit."""

    quality_: Mapping[str, Any]
    """Measures of the fitted model, for ``model.json``."""

    history_: TrainingHistory = TrainingHistory()
    """Course of the training; empty for a method without epochs and held-out pairs."""

    site_text: SiteText | None = None
    """Knowledge about the text of the site, with which a crawl compares pages; None if no pages were given."""

    looks_back: bool = False
    """True if some referrer rule may lead a link back to the page that holds it."""

    _told_rules: tuple[Mapping[str, str], Mapping[str, tuple[int, int]]] | None = None
    """Sentences and counts of the rules, by their identifiers; None until they are needed."""

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
        nothing: list[str | None] = [None] * len(urls)
        crawl = TrainingData(
            [normal_form(url) for url in urls],
            list(clusters),
            list(referrers) if referrers is not None else nothing,
            [each and normal_form(each) for each in redirects] if redirects is not None else nothing,
            evidence,
        )
        digest = training_digest(zip(crawl.urls, crawl.clusters, crawl.referrers, strict=True))
        self._remember(crawl.urls, crawl.clusters, digest)
        self._fit(crawl)
        self.quality_ = self._quality()
        return self

    def canonicalize(self, url: str, referrer: Referrer | None = None) -> str:
        """Canonical form of *url*: URLs with equal forms are believed to show the same page.

        Accepts any string. A URL of an unknown host comes back in normal form. NotFittedError before :meth:`fit`.
        """
        form = normal_form(url)
        return self.form_of(form, referrer) if self._knows(form) else form

    @abstractmethod
    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Canonical form of a URL that must be in normal form and on one of :attr:`hosts`; saves the checks."""

    def leads_back_to(self, url: str, pages: Iterable[str], names_of: NamesOf = not_known) -> str | None:
        """First of the *pages* to which their link *url* leads back by a referrer rule, if any.

        All must be in normal form, and *url* on one of :attr:`hosts`. *names_of* gives the names in a page's links.
        """
        return None

    def late_kind(self, url: str) -> LateKind | None:
        """The kind of *url*, if a crawl that learns should fetch it last.

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
                way_out = "remove missing values, for example by dropna()"
                raise BadInputError(f"urls[{i}] is {url!r}, not a string: {way_out}.")
        sources = [None] * len(listed) if referrers is None else list(referrers)
        if len(sources) != len(listed):
            numbers = f"{len(listed)} URLs and {len(sources)} referrers"
            raise BadInputError(f"records got {numbers}; give one (or None) for each URL.")
        # a missing value in a column of pandas is NaN
        visits = (
            (url, source if isinstance(source, str) else None) for url, source in zip(listed, sources, strict=True)
        )
        return [self.record_of(asked) for asked in self.forms_in_order(visits)]

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
        covered, rules = self.is_covered(url), list(self.fired(url, referrer))
        return Record(url=url, form=form, covered=covered, rules=rules, reason=self.explain(url, referrer).reason)

    def is_covered(self, url: str) -> bool:
        """Return True if a crawl that continues gains nothing from *url*, because other URLs show its pages too.

        This does not say which page *url* shows, so it does not change the form. A crawl that starts anew ignores it.
        """
        return bool(self.covering(url))

    def covering(self, url: str) -> tuple[str, ...]:
        """Identifiers of the rules that cover *url*; empty for most URLs."""
        normal = normal_form(url)
        return self._covering(normal) if self._knows(normal) else ()

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
            form = self.form_of(normal, referrer)
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

    def proposed_forms(self, host: str) -> Callable[[str], str] | None:
        """Gives URLs of *host* the forms that `verified` is to test; None if the rules of the model say them."""
        return None

    def with_candidates(self) -> Canonicalizer:
        """A copy that also applies rules which only a live crawl can confirm; the model itself if it has none."""
        return self

    def learnt(self) -> list[str]:
        """The learnt rules, one line each, the best supported first."""
        return []

    def refused(self) -> Sequence[Refusal]:
        """Refused hypotheses with their reasons, the best supported first; empty if the method does not keep them."""
        return ()

    def n_learnt(self) -> int | None:
        """Size of the model: number of rules, or parameters of a network; None for a method that learns nothing."""
        return None

    def options(self) -> dict[str, Any]:
        """Options as they were given to the constructor."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @property
    def digest(self) -> str:
        """Digest of the whole model and its options: 64 hex digits, as in ``model.json`` of the saved model."""
        self._check_fitted()
        return digest_of(self._description(), self._tables())

    def save(self, folder: str | Path) -> Path:
        """Write the model as a folder of JSON (and weights). A reader never sees half of a model."""
        self._check_fitted()
        return write_model(Path(folder), self._description(), self._tables())

    @classmethod
    def from_files(cls, description: Mapping[str, Any], files: ModelFiles) -> Self:
        """Restore a model from the contents of its folder; DamagedModelError if one is missing or impossible."""
        try:
            check_values(cls, description["options"])
            model = cls(**description["options"])
            model._check_options()
        except BadInputError as error:
            raise DamagedModelError(f"model.json does not describe a {cls.name} model: {error} Train again.") from error
        model.hosts = frozenset(description["hosts"])
        model.n_urls_ = description["counts"]["urls"]
        model.n_clusters_ = description["counts"]["clusters"]
        model.data_digest_ = description["training_data_digest"]
        model.quality_ = description["quality"]
        try:
            model._restore(files)
        except BadInputError as error:
            raise DamagedModelError(f"{error} Train again.") from error
        return model

    @abstractmethod
    def _fit(self, crawl: TrainingData) -> None:
        """Learn from a crawl, whose URLs and targets of redirects are in normal form."""

    @abstractmethod
    def _explain(self, url: str, form: str) -> Explanation:
        """Explain the form of a URL in normal form on a known host."""

    def _fired(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, ...]:
        """Identifiers of the rules that lead from a URL in normal form on a known host to a different *form*."""
        return (self.name,)

    def _covering(self, url: str) -> tuple[str, ...]:
        """Identifiers of the rules that cover a URL in normal form on a known host."""
        return ()

    def _known_rules(self) -> Mapping[str, KnownRule]:
        """Identifier -> rule, for all rules."""
        return {self.name: KnownRule(f"{self.name}: {(type(self).__doc__ or '').partition('.')[0]}")}

    def _without(self, identifiers: Collection[str]) -> Canonicalizer:
        """A copy of the fitted model without these rules; the model itself if it cannot leave out rules."""
        return self

    def _quality(self) -> dict[str, Any]:
        """Measures of the fitted model."""
        return {}

    def _check_options(self) -> None:
        """Raise BadInputError for an option out of range."""
        if self._presets and self.preset not in self._presets:
            hint = did_you_mean(self.preset, self._presets)
            known = ", ".join(self._presets)
            raise BadInputError(f"{self.name}: unknown preset {self.preset!r}; known: {known}.{hint}")
        for option, least in self._least.items():
            value = getattr(self, option)
            if value is not None and value < least:
                raise BadInputError(f"{self.name}: {option} is {value}; give {least} or more.")
        for option in self._shares:
            if not 0 <= getattr(self, option) <= 1:
                raise BadInputError(f"{self.name}: {option} is {getattr(self, option)}; give a share from 0 to 1.")

    def _option(self, name: str) -> Any:
        """Value of an option, or the one that the preset gives."""
        value = getattr(self, name, None)
        return self._presets[self.preset][name] if value is None else value

    def _tables(self) -> dict[str, Any]:
        """File name -> JSON value, or weights as bytes, for the learnt attributes."""
        return {}

    def _restore(self, files: ModelFiles) -> None:  # noqa: B027 - most methods have nothing to restore
        """Restore the learnt attributes from the result of `_tables`; BadInputError for other files."""

    def _knows(self, form: str) -> bool:
        """Return True if the host of a URL in normal form is among :attr:`hosts`."""
        if host_of(form) in self.hosts:
            return True
        self._check_fitted()
        return False

    def _told(self) -> tuple[Mapping[str, str], Mapping[str, tuple[int, int]]]:
        self._check_fitted()
        if self._told_rules is None:
            known = self._known_rules()
            self._told_rules = (
                {each: rule.sentence for each, rule in known.items()},
                {each: (rule.n_groups, rule.n_wrong) for each, rule in known.items()},
            )
        return self._told_rules

    def _check_fitted(self) -> None:
        if not hasattr(self, "data_digest_"):
            way_out = "call fit(urls, clusters), or load a model folder, before canonicalize()"
            raise NotFittedError(f"{type(self).__name__} has learnt nothing yet: {way_out}.")

    def _description(self) -> dict[str, Any]:
        return {
            "method": self.name,
            "options": self.options(),
            "hosts": sorted(self.hosts),
            "counts": {"urls": self.n_urls_, "clusters": self.n_clusters_},
            "training_data_digest": self.data_digest_,
            "quality": self.quality_,
        }

    def _remember(self, forms: Sequence[str], pages: Sequence[Hashable], digest: str) -> None:
        """Note the hosts, counts and digest of the training data; *forms* are in normal form."""
        self.hosts = frozenset(filter(None, map(host_of, forms)))
        self.n_urls_, self.n_clusters_, self.data_digest_ = len(forms), len(set(pages)), digest
        self._told_rules = None


def training_digest(rows: Iterable[tuple[str, Hashable, str | None]]) -> str:
    """Digest of training data: URL in normal form, page and referrer of each row, in order."""
    digest = hashlib.sha256()
    for url, page, referrer in rows:
        digest.update(f"{url}\t{page}\t{referrer or ''}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
