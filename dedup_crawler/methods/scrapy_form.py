"""What Scrapy's own duplicate filter sees as one request: :func:`w3lib.url.canonicalize_url`."""

from __future__ import annotations

from w3lib.url import canonicalize_url

from dedup_crawler.methods.base import Canonicalizer, Explanation, Referrer


class ScrapyForm(Canonicalizer):
    """Query sorted, fragment dropped, escapes made equal."""

    name = "scrapy"

    def _fit(self, urls: list[str], clusters: list[int], referrers: list[str | None]) -> None:
        """Nothing is learnt but the hosts."""

    def _form(self, url: str, referrer: Referrer | None) -> str:
        try:
            return canonicalize_url(url)
        except ValueError:  # w3lib refuses what no request could be sent to, such as a bad port
            return url

    def _explain(self, url: str, form: str) -> Explanation:
        return Explanation(url, form, "scrapy: w3lib's canonical URL (sorted query, no fragment)")
