"""Notes, in a durable seen set, of requests that have no form yet, so that a kill does not lose them.

A kill loses the queue of a crawl, and the page with the link may not be fetched again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from dedup_crawler.errors import SeenUnavailableError
from dedup_crawler.live.crawl import FilteredCrawl
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.seen.protocol import Claim, Standing, form_digest, owner_tag

_PORTION = 500


class Notes:
    """Keeps requests without forms in the seen set of a crawl until they are answered."""

    def __init__(self, crawl: FilteredCrawl) -> None:
        self._crawl = crawl
        self._seen = crawl.seen

    async def keep(self, requests: Sequence[Request]) -> None:
        """Keep requests without a form in a durable set until they are answered."""
        noted = [request for request in requests if request.callback is not NO_CALLBACK]
        claims = [self._claim(request, partial(self._crawl.text_of, request)) for request in noted]
        try:
            holders = await self._seen.claim(claims) if claims else []
        except SeenUnavailableError:
            return
        for request, claim, holder in zip(noted, claims, holders, strict=True):
            if holder.standing <= Standing.OWN_SEEN:
                inherited = marks.forms_of(request) if marks.is_redirected(request) else []
                marks.answers_for(request, [*inherited, claim.digest])
                request.meta[marks.UNFORMED] = True

    async def keep_again(self, texts: Sequence[str]) -> None:
        """Keep the awaited requests of a cleared durable set until they are decided again."""
        for start in range(0, len(texts), _PORTION):  # not a million requests at once
            found = ((self._crawl.request_of(text), text) for text in texts[start : start + _PORTION])
            await self._seen.claim([self._claim(request, text) for request, text in found if request is not None])

    def decided(self, requests: Iterable[Request]) -> None:
        """Forget requests whose forms are known by now."""
        self._seen.processed(map(self._digest, requests))

    def _claim(self, request: Request, text: str | Callable[[], str | None]) -> Claim:
        return Claim(self._digest(request), owner_tag(request.url), 0, text)

    def _digest(self, request: Request) -> bytes:
        return form_digest(f"request {self._crawl.crawler.request_fingerprinter.fingerprint(request).hex()}")
