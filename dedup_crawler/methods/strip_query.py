"""Drop the whole query: the bluntest rule that people use. It loses pages, and is here to compare with."""

from __future__ import annotations

from dedup_crawler.methods.base import Canonicalizer, Explanation, Referrer


class StripQuery(Canonicalizer):
    """What stands before ``?``."""

    name = "strip-query"

    def _fit(self, urls: list[str], clusters: list[int], referrers: list[str | None]) -> None:
        """Nothing is learnt but the hosts."""

    def _form(self, url: str, referrer: Referrer | None) -> str:
        return url.partition("?")[0]

    def _explain(self, url: str, form: str) -> Explanation:
        return Explanation(url, form, "strip-query: the query is dropped, whatever it says")
