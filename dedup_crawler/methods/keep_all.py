"""Every URL is a page of its own (KeepAll of SIGIR'17): nothing is lost, nothing is saved."""

from __future__ import annotations

from dedup_crawler.methods.base import Canonicalizer, Explanation, Referrer


class KeepAll(Canonicalizer):
    """The URL's own normal form."""

    name = "keep-all"

    def _fit(self, urls: list[str], clusters: list[int], referrers: list[str | None]) -> None:
        """Nothing is learnt but the hosts."""

    def _form(self, url: str, referrer: Referrer | None) -> str:
        return url

    def _explain(self, url: str, form: str) -> Explanation:
        return Explanation(url, form, "keep-all: every URL is its own page")
