"""Methods to compare with, which learn only the hosts: simple forms, and rules that people wrote."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from w3lib.url import canonicalize_url

from dedup_crawler.errors import MissingExtraError, ModelError
from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.explanations import Explanation, KnownRule, Referrer
from dedup_crawler.methods.model.folder import ModelFiles
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.rules.language.identifiers import identifier
from dedup_crawler.urls.normal import normal_form

_DISCARDER_FILE = "public_rules.json"
_MAX_PASSES = 10


class _Baseline(Canonicalizer):
    """Learns only the hosts."""

    _reason: ClassVar[str]

    def _fit(self, crawl: TrainingData) -> None:
        """Learn nothing."""

    def _explain(self, url: str, form: str) -> Explanation:
        return Explanation(url, form, f"{self.name}: {self._reason}")

    def _known_rules(self) -> Mapping[str, KnownRule]:
        return {self.name: KnownRule(f"{self.name}: {self._reason}")}


class KeepAll(_Baseline):
    """The URL's own normal form."""

    name = "keep-all"  # KeepAll of SIGIR'17: nothing is lost, nothing is saved
    _reason = "every URL is its own page"

    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Return the URL itself."""
        return url


class ScrapyForm(_Baseline):
    """Query sorted, fragment dropped, escapes made equal."""

    name = "scrapy"  # the key of Scrapy's own duplicate filter
    _reason = "w3lib's canonical URL (sorted query, no fragment)"

    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Return w3lib's form of a URL in normal form."""
        try:
            return canonicalize_url(url)
        except ValueError:  # w3lib refuses some URLs, for example with a bad port
            return url


class StripQuery(_Baseline):
    """The part of the URL before ``?``."""

    name = "strip-query"  # the simplest rule that people use; it loses pages
    _reason = "every query is dropped"

    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Return the part of a URL in normal form before its query."""
        return url.partition("?")[0]


class _PublicRules(NamedTuple):
    """The installed rules."""

    canonicalizer: Any
    """Canonicalizer of the package."""
    identifiers: Mapping[int, str]
    """Number of a rule (which differs between processes) -> identifier."""
    digest: str
    """SHA-256 of all rule files."""
    version: str


class DuplicateUrlDiscarder(Canonicalizer):
    """The public rules of the package duplicate-url-discarder.

    The form is that package's canonical URL in our normal form. On every host it drops tracking parameters, a leading
    ``www.`` and trailing slashes; on hosts with rules of their own, it drops the parameters and path parts that they
    name instead. The package is applied until the form no longer changes, so that the form of a form is the form
    itself. By default it downloads the public suffix list. Here it reads its own copy, because a form must not depend
    on the network.
    """

    name = "duplicate-url-discarder"

    def n_learnt(self) -> int:
        """Number of public rules."""
        return len(self.rules_.identifiers)

    def _fit(self, crawl: TrainingData) -> None:
        self.rules_ = _installed_rules()

    def form_of(self, url: str, referrer: Referrer | None = None) -> str:
        """Canonical form of a URL in normal form; the URL itself if the package refuses it, or does not end."""
        return self._way(url)[0]

    def _fired(self, url: str, form: str, referrer: Referrer | None) -> tuple[str, ...]:
        return self._way(url)[1]

    def _way(self, url: str) -> tuple[str, tuple[str, ...]]:
        """Form of a URL, and the rules that lead to it."""
        matcher, processors = self.rules_.canonicalizer.url_matcher, self.rules_.canonicalizer.processors
        form, fired = url, dict[str, None]()
        for _ in range(_MAX_PASSES):
            changed, now = form, []
            try:
                for number in list(matcher.match_all(form, include_universal=False)) or matcher.match_universal():
                    before, changed = changed, processors[number].process(changed)
                    if changed != before:
                        now.append(self.rules_.identifiers[number])
                changed = normal_form(changed)
            except ValueError:  # no request could be sent to this URL: it may have a bad port
                return url, ()
            if changed == form:
                return form, tuple(fired)
            form = changed
            fired.update(dict.fromkeys(now))
        return url, ()

    def _known_rules(self) -> Mapping[str, KnownRule]:
        matcher, processors = self.rules_.canonicalizer.url_matcher, self.rules_.canonicalizer.processors
        return {
            known: KnownRule(f"{type(processors[number]).__name__} on {', '.join(_patterns(matcher, number)[0])}")
            for number, known in self.rules_.identifiers.items()
        }

    def _explain(self, url: str, form: str) -> Explanation:
        n_rules = f"{len(self.rules_.identifiers)} public rules of duplicate-url-discarder"
        if form == url:
            return Explanation(url, form, f"none of {n_rules} changes it")
        said = [self.rule_sentences()[rule] for rule in self._way(url)[1]]
        return Explanation(url, form, f"of {n_rules}: {'; then '.join(said)}")

    def _quality(self) -> dict[str, Any]:
        return {"public_rules": len(self.rules_.identifiers)}

    def _tables(self) -> dict[str, Any]:
        return {_DISCARDER_FILE: {"version": self.rules_.version, "sha256": self.rules_.digest}}

    def _restore(self, files: ModelFiles) -> None:
        made_with = files.table(_DISCARDER_FILE)
        version, digest = made_with["version"].text(), made_with["sha256"].text()
        self.rules_ = _installed_rules()
        if digest != self.rules_.digest:
            raise ModelError(
                f"the model was made with duplicate-url-discarder-rules {version}, "
                f"{self.rules_.version} is installed: train again, or install that version."
            )


def _installed_rules() -> _PublicRules:
    try:
        from duplicate_url_discarder.url_canonicalizer import UrlCanonicalizer
        from duplicate_url_discarder_rules import RULE_PATHS, __version__
        from tldextract import tldextract
    except ImportError as error:
        raise MissingExtraError(DuplicateUrlDiscarder.name, error.name or "that package", "peers") from error
    tldextract.TLD_EXTRACTOR.suffix_list_urls = ()
    paths = sorted(map(Path, RULE_PATHS or []), key=lambda path: path.parts[-2:])
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
    canonicalizer = UrlCanonicalizer(paths)
    identifiers = {
        number: identifier(type(processor).__name__, processor.args, *_patterns(canonicalizer.url_matcher, number))
        for number, processor in canonicalizer.processors.items()
    }
    return _PublicRules(canonicalizer, identifiers, digest, __version__)


def _patterns(matcher: Any, number: int) -> tuple[list[str], list[str]]:
    """Patterns of the URLs that a rule of the package matches, and of those that it excludes."""
    patterns = matcher.get(number)
    return list(patterns.include) or ["all hosts"], list(patterns.exclude)
