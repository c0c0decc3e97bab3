"""Fetching an owner's page once more, to compare an explored duplicate with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scrapy.http.request import NO_CALLBACK

from dedup_crawler.errors import SeenUnavailableError
from dedup_crawler.live.requests import request_marks as marks

if TYPE_CHECKING:
    from scrapy import Request

    from dedup_crawler.live.collecting.seeding import EarlierPages
    from dedup_crawler.live.exploration.comparisons import Comparisons
    from dedup_crawler.live.requests.question import Question
    from dedup_crawler.live.seen.protocol import SeenSet
    from dedup_crawler.live.telling.drop_report import DropReport


class OwnerFetches:
    """Fetches owners' pages that are neither kept nor stored.

    *request_of* reads a request from its text; None if that is impossible. *fetch* downloads a request past the queue,
    without a callback.
    """

    def __init__(
        self,
        comparisons: Comparisons,
        seen: SeenSet[Any],
        report: DropReport,
        earlier: EarlierPages,
        request_of: Callable[[str], Request | None],
        fetch: Callable[[Request], None],
    ) -> None:
        self._comparisons = comparisons
        self._seen = seen
        self._report = report
        self._earlier = earlier
        self._request_of = request_of
        self._fetch = fetch

    async def is_on_its_way(self, question: Question, crawl: str) -> bool:
        """Fetch the owner's page again unless it is stored; return True if the page is on its way."""
        if self._comparisons.is_asked_again(question.digest):
            return True
        owner = await self._owner_of(question, crawl)
        if owner is None:
            self._comparisons.has_no_owner(question.digest)
            return False
        if (stored := self._earlier.page(owner.url)) is not None:
            self._comparisons.owner_came(question.digest, stored)
            return False
        self._report.count("explored/owners")
        self._fetch(owner)
        return True

    async def _owner_of(self, question: Question, crawl: str) -> Request | None:
        """Return a request that fetches the owner's page again; None if the owner's URL is unknown."""
        url = self._report.owner_of(question.digest)
        if url is None:
            try:
                text = await self._seen.owner(question.digest)
            except SeenUnavailableError:
                return None
            request = self._request_of(text) if text is not None else None
            url = request.url if request is not None else None
        if url is None or url == question.request.url:
            return None
        # with the same headers and cookies as the duplicate
        owner = question.request.replace(url=url, callback=NO_CALLBACK, errback=None, dont_filter=True)
        marks.unmark(owner)
        owner.meta[marks.DECIDED] = marks.decided(crawl, owner.url, is_redirected=False)
        owner.meta[marks.EXPLORES] = [question.digest, marks.OWNER]
        return owner
