"""Baselines that learn nothing: the normal form, the form of Scrapy, and the URL without its query."""

from __future__ import annotations

from typing import ClassVar

from w3lib.url import canonicalize_url

from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.explanations import Explanation, Referrer


class _Baseline(Canonicalizer):
    """Learns only the hosts."""

    _reason: ClassVar[str]

    def _fit(self, urls: list[str], clusters: list[int], referrers: list[str | None]) -> None:
        """Learn nothing."""

    def _explain(self, url: str, form: str) -> Explanation:
        return Explanation(url, form, f"{self.name}: {self._reason}")


class KeepAll(_Baseline):
    """The URL's own normal form."""

    name = "keep-all"  # KeepAll of SIGIR'17: nothing is lost, nothing is saved
    _reason = "every URL is its own page"

    def _form(self, url: str, referrer: Referrer | None) -> str:
        return url


class ScrapyForm(_Baseline):
    """Query sorted, fragment dropped, escapes made equal."""

    name = "scrapy"  # the key of Scrapy's own duplicate filter
    _reason = "w3lib's canonical URL (sorted query, no fragment)"

    def _form(self, url: str, referrer: Referrer | None) -> str:
        try:
            return canonicalize_url(url)
        except ValueError:  # w3lib refuses some URLs, for example with a bad port
            return url


class StripQuery(_Baseline):
    """The part of the URL before ``?``."""

    name = "strip-query"  # the simplest rule that people use; it loses pages
    _reason = "every query is dropped"

    def _form(self, url: str, referrer: Referrer | None) -> str:
        return url.partition("?")[0]
