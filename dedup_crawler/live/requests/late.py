"""Requests that wait for the end of the crawl: URLs of a kind that mostly repeats pages.

A crawl that learns knows most about them when everything else is fetched. Then a rule may spare their fetches, which
came too late for those that the crawl had made before. Nothing is lost: what no rule drops is fetched at the end.
"""

from __future__ import annotations

from collections import Counter
from math import isqrt

from scrapy import Request

from dedup_crawler.live.collecting.response_page import referrer_of
from dedup_crawler.live.crawl import FilteredCrawl
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.rules.language.site_rules import Shape, written
from dedup_crawler.urls.normal import host_of, normal_form

LATER = 1_000_000
"""Priority that such a request loses: more than the depth of any page."""
SAMPLED = 12
"""Of *n* requests of one kind, the root of SAMPLED times *n* do not wait: rules are learnt from these."""

MAX_TOLD = 20
"""Most kinds that the log names."""


class LateRequests:
    """Sends requests back to the queue."""

    def __init__(self, crawl: FilteredCrawl) -> None:
        self._crawl = crawl
        self._learns = crawl.learnt is not None and not crawl.options.is_dry_run
        self._n_met: Counter[tuple[str, Shape]] = Counter()
        self._told: set[tuple[str, Shape]] = set()

    def again(self, request: Request) -> Request | None:
        """Return *request* for the end of the queue; None if it is sent now."""
        if not self._learns or request.dont_filter or not marks.is_only_answering(request):
            return None
        if {"redirect_times", "retry_times"} & request.meta.keys() or referrer_of(request) is None:
            return None
        url = normal_form(request.url)
        host = host_of(url)
        model = self._crawl.models.of(host)
        kind = model.repeating_kind(url) if model is not None else None
        if model is None or kind is None or model.form_of(url) != url:  # a rule speaks about it already
            return None
        n = self._n_met[host, kind]
        self._n_met[host, kind] += 1
        if isqrt(SAMPLED * (n + 1)) > isqrt(SAMPLED * n):
            return None
        self._crawl.report.count("request/late")
        self._tell(host, kind)
        return marks.send_late(request, request.priority - LATER)

    def _tell(self, host: str, kind: Shape) -> None:
        """Name a kind in the log, once."""
        if (host, kind) in self._told or len(self._told) >= MAX_TOLD:
            return
        self._told.add((host, kind))
        text = written(kind) if "path.length" in dict(kind) else written(kind)[1:]  # only query names
        self._crawl.report.say(f"URLs like {text} on {host} mostly repeat pages: most of them are fetched last.")
