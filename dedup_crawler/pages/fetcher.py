"""Fetches single pages of one live site: as robots.txt allows, slowly, and with a limit on requests.

Redirects are only followed on the same site. A page that is too large or too slow counts as missing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import HTTPRedirectHandler, Request, build_opener

from protego import Protego

from dedup_crawler.errors import BadInputError, FetchError
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.warc import Message, decoded_body
from dedup_crawler.pages.workers import WorkerDiedError, Workers
from dedup_crawler.urls.normal import host_of, normal_form

USER_AGENT = "dedup-crawler (checks which of its URLs show the same page)"
MAX_BYTES = 5_000_000
"""Bytes of the largest body that is accepted."""
_MAX_REDIRECTS = 5
_MAX_RETRIES = 2
_REDIRECTS = (301, 302, 303, 307, 308)
_PASSING = (408, 429, 500, 502, 503, 504, 522, 524)
"""Status codes after which the request is repeated."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Outcome of one fetch."""

    page: Page | None
    """Page at the end of the redirects; None if it cannot be fetched."""
    is_forbidden: bool = False
    """True if robots.txt forbids the fetch."""


class PoliteFetcher:
    """Fetches pages of one site; a context manager.

    BadInputError if *site* is not an http(s) URL, or a number is out of range. FetchError if the site does not answer,
    or its robots.txt cannot be read.

    Parameters
    ----------
    site
        URL of the site, such as ``https://forum.example``; a path is ignored.
    delay_s
        Seconds between two requests, 0 or more; robots.txt may ask for more.
    max_fetches
        Largest number of requests, without robots.txt; 1 or more.
    timeout_s
        Largest number of seconds for one request, from the connection to the last byte.
    """

    def __init__(self, site: str, *, delay_s: float = 1.0, max_fetches: int = 1000, timeout_s: float = 30) -> None:
        url = normal_form(site)
        scheme, _, _ = url.partition("://")
        self.host = host_of(url)
        if scheme not in ("http", "https") or not self.host:
            raise BadInputError(f"site {site!r} is no http or https URL; give one such as https://forum.example.")
        if delay_s < 0:
            raise BadInputError(f"a delay of {delay_s} seconds; give 0 or more.")
        if max_fetches < 1:
            raise BadInputError(f"{max_fetches} fetches at most; give 1 or more.")
        self.origin = f"{scheme}://{self.host}"
        self.n_fetches = 0
        self._max_fetches, self._delay_s, self._next = max_fetches, delay_s, 0.0
        self._workers = Workers(1, timeout_s, modules=[])
        try:
            self._robots = self._read_robots()
        except BaseException:
            self.close()
            raise
        self._delay_s = max(delay_s, self._robots.crawl_delay(USER_AGENT) or 0.0)

    def __enter__(self) -> PoliteFetcher:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the worker process."""
        self._workers.__exit__()

    @property
    def is_spent(self) -> bool:
        """True if no more requests may be made."""
        return self.n_fetches >= self._max_fetches

    def fetch(self, rest: str) -> Fetched:
        """Fetch the page at *rest* (path and query)."""
        url = normal_form(self.origin + rest)
        for _ in range(_MAX_REDIRECTS + 1):
            if self.is_spent or not url.startswith(f"{self.origin}/"):
                break
            if not self._robots.can_fetch(url, USER_AGENT):
                return Fetched(None, is_forbidden=True)
            for _ in range(min(self._max_fetches - self.n_fetches, 1 + _MAX_RETRIES)):
                self.n_fetches += 1
                answer = self._ask(url)
                if isinstance(answer, Page) and answer.status not in _PASSING:
                    break
            if isinstance(answer, str):
                break
            if answer.status not in _REDIRECTS:
                return Fetched(answer)
            url = normal_form(answer.redirect_to or "")
        return Fetched(None)

    def _read_robots(self) -> Protego:
        url = f"{self.origin}/robots.txt"
        answer = self._ask(url)
        if isinstance(answer, str):
            raise FetchError(f"{url} did not answer ({answer}); without it nothing is fetched.")
        if answer.status in _REDIRECTS:
            raise FetchError(f"{url} leads to {answer.redirect_to}; if that is another site, give that one.")
        if answer.status >= 500:
            raise FetchError(f"{url} answered {answer.status}; without it nothing is fetched. Try again later.")
        return Protego.parse(answer.content.decode(errors="replace") if answer.status == 200 else "")

    def _ask(self, url: str) -> Page | str:
        """Make one request after the delay; returns the answer, or the reason why there is none."""
        time.sleep(max(0.0, self._next - time.monotonic()))
        self._next = time.monotonic() + self._delay_s
        try:
            return self._workers.result_of(self._workers.call(_answer, url))
        except WorkerDiedError:
            return "it takes too long"
        except (OSError, HTTPException, ValueError) as error:
            return str(error) or type(error).__name__


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *arguments: object) -> None:
        """Return redirects to the caller like other answers."""


def _answer(url: str) -> Page:
    """Make one request; runs in the worker process."""
    try:
        response = build_opener(_NoRedirects).open(Request(url, headers={"User-Agent": USER_AGENT}))  # noqa: S310 - http(s)
    except HTTPError as error:
        response = error
    with response:
        body = response.read(MAX_BYTES + 1)
        if len(body) <= MAX_BYTES and response.length:
            raise HTTPException("the answer was cut off")
        headers = response.headers
    body = decoded_body(Message("", {"content-encoding": headers.get("Content-Encoding", "")}, body))
    if len(body) > MAX_BYTES:
        raise HTTPException(f"more than {MAX_BYTES} bytes")
    location = headers.get("Location")
    target = urljoin(url, location) if location else None
    return Page(url, response.status, redirect_to=target, content_type=headers.get("Content-Type"), content=body)
