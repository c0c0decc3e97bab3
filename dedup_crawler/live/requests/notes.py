"""Notes, in a durable seen set, of requests that have no form yet, so that a kill does not lose them.

A kill loses the queue of a crawl, and the page with the link may not be fetched again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy.http.request import NO_CALLBACK

from dedup_crawler.errors import SeenUnavailableError
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.seen.protocol import Claim, SeenSet, Standing, form_digest, owner_tag

if TYPE_CHECKING:
    from scrapy import Request

_PORTION = 500


class Notes:
    """Keeps requests without forms in *seen* until they are answered.

    *text_of* writes a request as text, and *request_of* reads it; both return None if that is impossible.
    """

    def __init__(
        self,
        seen: SeenSet[Any],
        text_of: Callable[[Request], str | None],
        request_of: Callable[[str], Request | None],
        fingerprint_of: Callable[[Request], bytes],
    ) -> None:
        self._seen = seen
        self._text_of = text_of
        self._request_of = request_of
        self._fingerprint_of = fingerprint_of

    async def keep_again(self, texts: Sequence[str]) -> None:
        """Keep the awaited requests of a cleared durable set until they are decided again."""
        for start in range(0, len(texts), _PORTION):  # not a million requests at once
            claims = []
            for text in texts[start : start + _PORTION]:
                request = self._request_of(text)
                if request is not None:
                    claims.append(Claim(self._digest(request), owner_tag(request.url), 0, text))
            await self._seen.claim(claims)

    def _digest(self, request: Request) -> bytes:
        return form_digest(f"request {self._fingerprint_of(request).hex()}")

    async def keep(self, requests: Sequence[Request]) -> None:
        """Keep requests without a form in a durable set until they are answered."""
        noted = [request for request in requests if request.callback is not NO_CALLBACK]
        digests = [*map(self._digest, noted)]
        claims = [
            Claim(digest, owner_tag(request.url), 0, partial(self._text_of, request))
            for request, digest in zip(noted, digests, strict=True)
        ]
        try:
            holders = await self._seen.claim(claims) if claims else []
        except SeenUnavailableError:
            return
        for request, digest, holder in zip(noted, digests, holders, strict=True):
            if holder.standing in (Standing.NEW, Standing.OWN):
                inherited = marks.forms_of(request) if marks.is_redirected(request) else []
                marks.answers_for(request, [*inherited, digest])
                request.meta[marks.UNFORMED] = True

    def decided(self, requests: Iterable[Request]) -> None:
        """Forget requests whose forms are known by now."""
        self._seen.processed(map(self._digest, requests))
