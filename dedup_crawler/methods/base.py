"""The one protocol of every method: fit on a crawl, then give canonical forms.

Options are keyword-only, stored untouched and checked in :meth:`Canonicalizer.fit`; what is learnt ends in ``_``; a
second fit forgets the first (the contract of scikit-learn's estimators, with one verb of our own, ``canonicalize``).
"""

from __future__ import annotations

import hashlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dedup_crawler.errors import BadInputError, DamagedModelError, NotFittedError
from dedup_crawler.methods.model.answers import Asked, Explanation, KnownRule, Record, Referrer
from dedup_crawler.methods.model.folder import ModelFiles, digest_of, read_model, write_model
from dedup_crawler.methods.model.options import check_values
from dedup_crawler.methods.model.training_history import NO_HISTORY, TrainingHistory
from dedup_crawler.networks.weights import n_parameters
from dedup_crawler.rules.language.refusals import Refusal
from dedup_crawler.urls.normal import host_of, normal_form

if TYPE_CHECKING:
    from typing_extensions import Self

    from dedup_crawler.evidence.comparing import PageEvidence
    from dedup_crawler.evidence.site_text import SiteText
    from dedup_crawler.rules.export.model_rules import ModelRules


_Told = tuple[Mapping[str, str], Mapping[str, tuple[int, int]]]


class Canonicalizer(ABC):
    """Gives all URLs of a page one string, its canonical form: a key to compare by, never a URL to fetch."""

    name: ClassVar[str]
    """Name on the command line, in model folders and in tables."""

    _least: ClassVar[Mapping[str, float]] = {}
    """The least that some options may be."""

    _shares: ClassVar[Sequence[str]] = ()
    """Options that are a share (0-1)."""

    hosts: frozenset[str] = frozenset()
    """Hosts (with port, lower-case) that were learnt from; URLs of any other host keep their normal form."""

    _last_start = "\0"  # scheme and host of a URL that was known; no URL starts so before the first

    _told_rules: _Told | None = None
    """Sentences of the rules, until others are learnt."""

    quality_: Mapping[str, Any]
    """Measures that fitting took of its own result; goes into ``model.json``."""

    progress: Callable[[int, int, float], None] | None = None
    """Called while fitting with steps done, steps at most, and how good the fit is (0-1)."""

    site_text: SiteText | None = None
    """Knowledge with which a crawl compares pages as learning did, where pages were learnt from."""

    _redirects: Sequence[str | None] | None = None
    """While fitting: what the URLs redirect to, in normal form."""

    _evidence: PageEvidence | None = None
    """While fitting: what compares the pages of the URLs."""

    def __repr__(self) -> str:
        name = type(self).__name__
        if not hasattr(self, "data_digest_"):
            return f"<{name}: has learnt nothing yet>"
        return (
            f"<{name} of {', '.join(sorted(self.hosts))}: learnt from {self.n_urls_} URLs of {self.n_clusters_} pages>"
        )

    def fit(
        self,
        urls: Sequence[str],
        clusters: Sequence[int],
        referrers: Sequence[str | None] | None = None,
        redirects: Sequence[str | None] | None = None,
        evidence: PageEvidence | None = None,
    ) -> Self:
        """Learn from a crawl.

        Parameters
        ----------
        urls
            In crawl order.
        clusters
            ``clusters[i]`` names the page that ``urls[i]`` shows; singletons included, they are the negatives.
        referrers
            ``referrers[i]`` is the URL that ``urls[i]`` was found on.
        redirects
            ``redirects[i]`` is the URL that ``urls[i]`` redirects to; most methods ignore it, for the cluster says as
            much where that URL was crawled.
        evidence
            Compares the i-th page with the j-th, given what a rule changed (:mod:`dedup_crawler.evidence`), where the
            pages are known. Without it the clusters are the evidence; most methods ignore it.

        Raises
        ------
        BadInputError
            If the lengths differ, there is no URL, or an option is out of range.
        """
        _check_lengths(type(self).__name__, urls, clusters, referrers, redirects)
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
        """Canonical form of *url*: equal forms are believed to be the same page.

        Never raises for a string, whatever it holds; a URL of an unknown host comes back in normal form.

        Raises
        ------
        NotFittedError
            Before :meth:`fit` or :meth:`load`.
        """
        form = normal_form(url)
        return self._form(form, referrer) if self._knows(form) else form

    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Return :meth:`canonicalize` of a URL that is in normal form, and of one of :attr:`hosts`, for sure."""
        return self._form(url, referrer)

    def canonicalize_many(self, urls: Iterable[str]) -> list[str]:
        """Canonical forms of *urls*, in order."""
        return [self.canonicalize(url) for url in urls]

    def records(self, urls: Iterable[str], referrers: Iterable[str | None] | None = None) -> list[Record]:
        """Facts about each of *urls*, in order: ``url``, ``form``, ``covered``, ``rules`` and ``reason``.

        ``pandas.DataFrame(model.records(frame["url"]))`` is a table of them. With *referrers*, the pages that hold the
        links, they are taken for a crawl in order.

        Raises
        ------
        BadInputError
            If something in *urls* is no string, or the lengths differ.
        NotFittedError
            Before :meth:`fit` or :meth:`load`.
        """
        return [self.record_of(asked) for asked in self.forms_in_order(_checked_visits(urls, referrers))]

    def forms_in_order(self, visits: Iterable[tuple[str, str | None]]) -> Iterator[Asked]:
        """Forms of (URL, URL of the page that holds the link) pairs in the order of a crawl, one by one.

        The form of a page that only its link explains counts for the links on it too.
        """
        told: dict[str, str] = {}  # forms that only the referrer explains
        for url, source in visits:
            referrer = Referrer(source, told.get(source) or self.canonicalize(source)) if source else None
            form = self.canonicalize(url, referrer)
            if referrer is not None and form == referrer.form:
                told[url] = form
            yield Asked(url, referrer, form)

    def record_of(self, asked: Asked) -> Record:
        """Facts about one URL."""
        url, referrer, form = asked
        rules = list(self.fired(url, referrer))
        return Record(
            url=url, form=form, covered=self.is_covered(url), rules=rules, reason=self.explain(url, referrer).reason
        )

    def is_covered(self, url: str) -> bool:
        """Return True if a crawl that goes on gains nothing from *url*: all it can show is reached through other URLs.

        This is no statement about one page, so it is no canonical form; a crawl that starts anew does not ask.
        """
        return bool(self.covering(url))

    def covering(self, url: str) -> tuple[str, ...]:
        """Identifiers of the rules that cover *url*; none for most URLs. They say nothing of its form."""
        normal = normal_form(url)
        return self._covering(normal) if self._knows(normal) else ()

    def _knows(self, form: str) -> bool:
        """Return True if a URL in normal form is of a host that was learnt from."""
        if form.startswith(self._last_start):  # of the same host as the URL before: most are
            return True
        host = host_of(form)
        if host not in self.hosts:
            self._check_fitted()
            return False
        scheme, mark, _ = form.partition("://")
        self._last_start = f"{scheme}{mark}{host}/"
        return True

    def explain(self, url: str, referrer: Referrer | None = None) -> Explanation:
        """Explain the form of *url*: the form and the reason for it."""
        form = self.canonicalize(url, referrer)
        normal = normal_form(url)
        if host_of(normal) not in self.hosts:
            return Explanation(url, form, f"no pages of {host_of(normal) or 'this host'} were learnt from: normal form")
        return self._explain(normal, form)

    def fired(self, url: str, referrer: Referrer | None = None) -> tuple[str, ...]:
        """Identifiers of all rules about *url*: those that lead to its form, and those that cover it.

        They are short (at most 16 characters) and the same in every process, for a loaded model, and for one that is
        learnt again from the same crawl.
        """
        return (*self.leading(url, referrer), *self.covering(url))

    def leading(self, url: str, referrer: Referrer | None = None, form: str | None = None) -> tuple[str, ...]:
        """Identifiers of the rules that lead from *url* to its form; none where that is the URL's normal form.

        Whoever has the *form* already, as :meth:`canonicalize` gave it, saves the time to find it again.
        """
        normal = normal_form(url)
        if not self._knows(normal):
            return ()
        if form is None:
            form = self._form(normal, referrer)
        return self._fired(normal, form, referrer) if form != normal else ()

    def rule_sentences(self) -> Mapping[str, str]:
        """Identifier -> what the rule does, for a person; of every rule that :meth:`fired` may name."""
        return self._told()[0]

    def rule_evidence(self) -> Mapping[str, tuple[int, int]]:
        """Identifier -> merge groups at training and how many were wrong; (0, 0) where none were counted."""
        return self._told()[1]

    @property
    def digest(self) -> str:
        """Digest of all that was learnt, and of the options: 64 hex digits, as in ``model.json`` of the saved model."""
        self._check_fitted()
        return digest_of(self._description(), ModelFiles(self._tables(), self._weights()))

    def model_rules(self) -> ModelRules | None:
        """The rules in the one rule language, to be written in other formats; None if the method has no rules."""
        return None

    def learnt(self) -> list[str]:
        """List what was learnt, a line each, the best supported first; empty if nothing was."""
        return []

    def refused(self) -> Sequence[Refusal]:
        """List hypotheses that are not believed, with the reason: the best supported first, a bounded number.

        Empty for a method that does not keep them.
        """
        return ()

    def history(self) -> TrainingHistory:
        """Course of the training, for a person to look at; empty for a method without epochs and held-out pairs."""
        return NO_HISTORY

    def n_learnt(self) -> int | None:
        """Size of the model: rules of a miner, parameters of a network; None for a method that learns nothing."""
        weights = self._weights()
        return n_parameters(weights) if weights else None

    def save(self, folder: str | Path) -> Path:
        """Write the model as a folder of JSON (and weights) that a person can read; a reader never sees half of it."""
        self._check_fitted()
        files = ModelFiles(tables=self._tables(), weights=self._weights())
        return write_model(Path(folder), self._description(), files)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what :meth:`save` wrote.

        Raises
        ------
        ModelError
            If the folder is missing, damaged, of a newer format, or holds another method.
        """
        return cls.from_files(*read_model(Path(folder), cls.name))

    @classmethod
    def from_files(cls, description: Mapping[str, Any], files: ModelFiles) -> Self:
        """Restore a model from the verified contents of its folder.

        Raises
        ------
        DamagedModelError
            If a table is missing, or holds a value that a model of this kind cannot have.
        """
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

    def options(self) -> dict[str, Any]:
        """Options as given to the constructor."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @abstractmethod
    def _fit(self, urls: list[str], clusters: list[int], referrers: list[str | None]) -> None:
        """Learn; *urls* are in normal form."""

    @abstractmethod
    def _form(self, url: str, referrer: Referrer | None) -> str:
        """Canonical form of a URL in normal form on a known host."""

    @abstractmethod
    def _explain(self, url: str, form: str) -> Explanation:
        """Explain the form of a URL in normal form on a known host."""

    def _fired(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, ...]:
        """Identifiers of what leads from a URL in normal form on a known host to its *form*, another one."""
        return (self.name,)

    def _covering(self, url: str) -> tuple[str, ...]:
        """Identifiers of the rules for which a URL in normal form on a known host is covered."""
        return ()

    def _told(self) -> _Told:
        """Sentences and counts of all rules, put together once."""
        self._check_fitted()
        if self._told_rules is None:
            known = self._known_rules()
            self._told_rules = (
                {each: rule.sentence for each, rule in known.items()},
                {each: (rule.n_groups, rule.n_wrong) for each, rule in known.items()},
            )
        return self._told_rules

    def _known_rules(self) -> Mapping[str, KnownRule]:
        """Every rule by its identifier."""
        return {self.name: KnownRule(f"{self.name}: {(type(self).__doc__ or '').partition('.')[0]}")}

    def _without(self, identifiers: Collection[str]) -> Canonicalizer:
        """Return the fitted model, built without these rules; the model itself where it cannot do with fewer."""
        return self

    def _check_options(self) -> None:
        """Raise BadInputError for an option out of range."""
        for option, least in self._least.items():
            value = getattr(self, option)
            if value is not None and value < least:
                raise BadInputError(f"{self.name}: {option} is {value}; give {least} or more.")
        for option in self._shares:
            if not 0 <= getattr(self, option) <= 1:
                raise BadInputError(f"{self.name}: {option} is {getattr(self, option)}; give a share from 0 to 1.")

    def _quality(self) -> dict[str, Any]:
        """Measure the result of fitting."""
        return {}

    def _tables(self) -> dict[str, Any]:
        """File name -> JSON value, for all that was learnt."""
        return {}

    def _weights(self) -> bytes:
        """Weights of a network, as bytes."""
        return b""

    def _restore(self, files: ModelFiles) -> None:  # noqa: B027 - most methods have nothing to restore
        """Take back what `_tables` and `_weights` gave; BadInputError if they cannot have."""

    def _remember(
        self, forms: Sequence[str], pages: Sequence[Hashable], referrers: Sequence[str | None] | None
    ) -> None:
        """Note what was learnt from: URLs in normal form and what is known of the page of each."""
        self.hosts = frozenset(filter(None, map(host_of, forms)))
        self._last_start = "\0"
        self._told_rules = None
        self.n_urls_ = len(forms)
        self.n_clusters_ = len(set(pages))
        found_on = referrers if referrers is not None else [None] * len(forms)
        self.data_digest_ = training_digest(zip(forms, pages, found_on, strict=True))

    def _check_fitted(self) -> None:
        if not hasattr(self, "data_digest_"):
            name = type(self).__name__
            raise NotFittedError(
                f"{name} has learnt nothing yet: "
                f"call fit(urls, clusters), or {name}.load(folder), before canonicalize()."
            )

    def _description(self) -> dict[str, Any]:
        return {
            "method": self.name,
            "options": self.options(),
            "hosts": sorted(self.hosts),
            "counts": {"urls": self.n_urls_, "clusters": self.n_clusters_},
            "training_data_digest": self.data_digest_,
            "quality": self.quality_,
        }


def _check_lengths(
    name: str,
    urls: Sequence[str],
    clusters: Sequence[int],
    referrers: Sequence[str | None] | None,
    redirects: Sequence[str | None] | None,
) -> None:
    if len(urls) != len(clusters):
        raise BadInputError(f"{name}.fit got {len(urls)} URLs and {len(clusters)} clusters; give one cluster per URL.")
    for what, given in (("referrer", referrers), ("redirect", redirects)):
        if given is not None and len(given) != len(urls):
            raise BadInputError(
                f"{name}.fit got {len(urls)} URLs and {len(given)} {what}s; give one {what} (or None) per URL."
            )
    if not urls:
        raise BadInputError(f"{name}.fit got no URLs; there is nothing to learn from.")


def _checked_visits(urls: Iterable[str], referrers: Iterable[str | None] | None) -> list[tuple[str, str | None]]:
    if isinstance(urls, str):
        raise BadInputError(f"records takes several URLs, and was given one text: write records([{urls[:200]!r}]).")
    listed = list(urls)
    for i, url in enumerate(listed):
        if not isinstance(url, str):
            raise BadInputError(f"urls[{i}] is {url!r}, no string: leave out what is missing, such as with dropna().")
    if referrers is None:
        return [(url, None) for url in listed]
    # what is missing in a column of pandas is a number that is none
    sources = [source if isinstance(source, str) else None for source in referrers]
    if len(sources) != len(listed):
        raise BadInputError(f"records got {len(listed)} URLs and {len(sources)} referrers; give one (or None) per URL.")
    return list(zip(listed, sources, strict=True))


def training_digest(rows: Iterable[tuple[str, Hashable, str | None]]) -> str:
    """Digest of what a crawl has to teach: URL in normal form, page and referrer of each of its URLs, in order."""
    digest = hashlib.sha256()
    for url, page, referrer in rows:
        digest.update(f"{url}\t{page}\t{referrer or ''}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
