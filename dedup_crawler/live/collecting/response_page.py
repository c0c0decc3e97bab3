"""The kept part of a response: the page of the store that our spider yields, or a page to compare with."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urljoin

import xxhash
import zstandard
from scrapy import Request
from scrapy.http import Response
from w3lib.url import safe_url_string

from dedup_crawler.pages.records import Page
from dedup_crawler.urls.normal import host_of, normal_form

_STRIPPED = "".join(map(chr, range(33)))
"""Characters that browsers strip from both ends of a link: white space and control characters."""

REFERRER_KEY = "dedup_referrer"
"""Meta key: URL of the page that held the link, regardless of the site's Referrer-Policy."""

REDIRECTED_KEY = "dedup_redirected_from"
"""Meta key: URLs of the redirects that led to a request, set by a spider that follows redirects itself."""

MAX_BODY = 2**20
"""Bytes of a body that are kept and compared; the rest of a longer body counts only through the digest."""
_compress = zstandard.ZstdCompressor(level=1).compress
_decompress = zstandard.ZstdDecompressor().decompress


class PageItem(Page):
    """One response on its way to the database (:class:`~dedup_crawler.live.collecting.collector.Collector`)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<PageItem {self.url} {self.status} {len(self.content)} bytes>"  # Scrapy logs items: no body in the log


def page_item(request: Request, response: Response) -> PageItem:
    """Return *response* as the page of the requested URL."""
    return PageItem(
        url=without_fragment(request.url),
        status=response.status,
        referrer=referrer_of(request),
        redirect_to=redirect_target(response),
        content_type=content_type_of(response) or None,
        content=response.body,
        fetched_at=time.time(),
    )


def content_type_of(response: Response) -> str:
    """Content type of a response, as received; empty if it has none."""
    return (response.headers.get("Content-Type") or b"").decode("latin-1")


def referrer_of(request: Request) -> str | None:
    """URL of the page that held the link, if it is known."""
    referrer = request.meta.get(REFERRER_KEY)
    if isinstance(referrer, str):
        return referrer
    header = request.headers.get("Referer")
    return header.decode("latin-1") if header else None


def redirect_target(response: Response) -> str | None:
    """Absolute URL that a 3xx response leads to; None for any other response."""
    location = response.headers.get("Location")
    if not location or not 300 <= response.status < 400:
        return None
    try:
        text = location.decode("utf-8")
    except UnicodeDecodeError:
        text = location.decode("latin-1")
    return absolute_url(response.url, text)


def absolute_url(base: str, link: str) -> str | None:
    """Resolve *link* on the page *base* to an http(s) URL, as published but without its fragment.

    Only characters that cannot be sent unescaped (spaces, non-ASCII) are escaped. None if there is nothing to fetch:
    ``mailto:``, ``javascript:``, a broken host.
    """
    try:
        url = safe_url_string(urljoin(base, link.strip(_STRIPPED)))
    except ValueError:  # "http://[broken", a port that is not a number
        return None
    return without_fragment(url) if url.lower().startswith(("http://", "https://")) else None


def without_fragment(url: str) -> str:
    """Return *url* as a server sees it."""
    return url.partition("#")[0]


class FetchedPage(NamedTuple):
    """One good answer, reduced to the data needed to compare pages."""

    url: str
    """As requested."""
    final_url: str
    """URL of the response, after redirects."""
    content_type: str
    """Header as received; empty if there was none."""
    packed: bytes
    """The first :data:`MAX_BODY` bytes of the body, without content encodings, compressed (HTML to a fifth)."""
    n_bytes: int
    """Length of the whole body."""
    digest: bytes
    """16-byte hash of the whole body."""

    @classmethod
    def of(cls, url: str, final_url: str, content_type: str, body: bytes) -> FetchedPage:
        """Reduce an answer to a page."""
        return cls(url, final_url, content_type, _compress(body[:MAX_BODY]), len(body), xxhash.xxh3_128_digest(body))

    @classmethod
    def of_response(cls, response: Response, asked: str) -> FetchedPage:
        """Reduce the response to a request for the URL *asked*."""
        return cls.of(asked, response.url, content_type_of(response), response.body)

    @property
    def body(self) -> bytes:
        """The kept part of the body."""
        return _decompress(self.packed, max_output_size=MAX_BODY)

    @property
    def host(self) -> str:
        """The host that has shown it."""
        return host_of(normal_form(self.final_url))

    @property
    def is_cut(self) -> bool:
        """Return True if the body was longer than its kept part."""
        return self.n_bytes > MAX_BODY


Beside = tuple[Sequence[FetchedPage], Sequence[FetchedPage]]
"""Pages fetched just before a page, and just after it; the nearest first."""
