"""Single pages of a live site, fetched as a guest: what robots.txt allows, slowly, not many, and nowhere else.

Redirects are followed on the same site only. A page that is too large, too slow or not there is no page; nothing that a
server sends raises anything but :class:`FetchError`, and that only before the first page.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import urljoin

from protego import Protego

from dedup_crawler.errors import BadInputError, FetchError
from dedup_crawler.pages.http import Message, decoded_body
from dedup_crawler.pages.records import Page
from dedup_crawler.urls.normal import host_of, normal_form

USER_AGENT = "dedup-crawler (checks which of its URLs show the same page)"
MAX_BYTES = 5_000_000
"""Of a body; a longer one is not read to its end."""
MAX_SECONDS = 30.0
"""For one request, from the connection to the last byte."""
_TIMEOUT_S = 10.0  # without a byte
_MAX_REDIRECTS = 5
_MAX_ROBOTS = 512_000
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    location: str
    content_type: str
    body: bytes


class PoliteFetcher:
    """Fetches pages of one site.

    Parameters
    ----------
    site
        Such as ``https://forum.example``; what stands behind the host is not looked at.
    delay_s
        Seconds between the end of a request and the start of the next, 0 or more; robots.txt may ask for more.
    max_fetches
        Requests in all, robots.txt not counted; 1 or more.
    sleep
        Waits for that many seconds.

    Raises
    ------
    BadInputError
        If *site* is no http(s) URL, or a number is out of range.
    FetchError
        If the site does not answer, or its robots.txt cannot be had.
    """

    def __init__(
        self,
        site: str,
        *,
        delay_s: float = 1.0,
        max_fetches: int = 1000,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
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
        self.n_disallowed = 0
        """Requests that robots.txt forbade."""
        self._max_fetches = max_fetches
        self._sleep = sleep
        self._next_at = 0.0
        self._delay_s = delay_s
        self._robots = self._read_robots()
        self._delay_s = max(delay_s, self._robots.crawl_delay(USER_AGENT) or 0.0)
        self.n_fetches = 0

    @property
    def is_spent(self) -> bool:
        """Whether no more requests may be made."""
        return self.n_fetches >= self._max_fetches

    def is_allowed(self, rest: str) -> bool:
        """Whether robots.txt allows to fetch this path and query."""
        return self._robots.can_fetch(self.origin + rest, USER_AGENT)

    def fetch(self, rest: str) -> Page | None:
        """The page of a path and query, behind redirects of the same site; None where there is none to be had."""
        url = normal_form(self.origin + rest)
        for _ in range(_MAX_REDIRECTS + 1):
            if self.is_spent or host_of(url) != self.host or not url.startswith(f"{self.origin}/"):
                return None
            if not self.is_allowed(url[len(self.origin) :]):
                self.n_disallowed += 1
                return None
            answer = self._ask(url[len(self.origin) :])
            if answer is None:
                return None
            if answer.status not in _REDIRECTS:
                return Page(url, answer.status, content_type=answer.content_type or None, content=answer.body)
            url = _joined(url, answer.location)
        return None

    def _read_robots(self) -> Protego:
        rest = "/robots.txt"
        for _ in range(_MAX_REDIRECTS + 1):
            answer = self._ask(rest)
            if answer is None or answer.status >= 500:
                what = "did not answer" if answer is None else f"answered {answer.status}"
                raise FetchError(f"{self.origin}{rest} {what}; without it nothing is fetched. Try again later.")
            if answer.status not in _REDIRECTS:
                is_there = answer.status == 200
                return Protego.parse(answer.body[:_MAX_ROBOTS].decode("utf-8", "replace") if is_there else "")
            target = _joined(self.origin + rest, answer.location)
            if not target.startswith(f"{self.origin}/"):
                raise FetchError(f"{self.origin}{rest} leads to {target}, another site; give that one.")
            rest = target[len(self.origin) :]
        raise FetchError(f"{self.origin}/robots.txt leads from one URL to the next without an end; nothing is fetched.")

    def _ask(self, rest: str) -> _Answer | None:
        """Make one request, when its time has come."""
        wait = self._next_at - time.monotonic()
        if wait > 0:
            self._sleep(wait)
        self.n_fetches += 1
        try:
            return self._answer(rest)
        except (OSError, http.client.HTTPException, ValueError):
            return None
        finally:
            self._next_at = time.monotonic() + self._delay_s

    def _answer(self, rest: str) -> _Answer | None:
        make = http.client.HTTPSConnection if self.origin.startswith("https:") else http.client.HTTPConnection
        with contextlib.closing(make(self.host, timeout=_TIMEOUT_S)) as connection:
            connection.connect()
            with _hung_up_after(MAX_SECONDS, connection.sock):
                headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity", "Connection": "close"}
                connection.request("GET", rest, headers=headers)
                with connection.getresponse() as response:
                    body = response.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            return None
        encoding = {"content-encoding": response.headers.get("Content-Encoding", "")}
        return _Answer(
            response.status,
            response.headers.get("Location", ""),
            response.headers.get("Content-Type", ""),
            decoded_body(Message("", encoding, body)),
        )


@contextlib.contextmanager
def _hung_up_after(seconds: float, connected: socket.socket) -> Iterator[None]:
    """End the connection after a while: a server that sends a byte now and then meets every other limit."""

    def hang_up() -> None:
        with contextlib.suppress(OSError):  # it has ended by itself
            connected.shutdown(socket.SHUT_RDWR)

    watchdog = threading.Timer(seconds, hang_up)
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


def _joined(url: str, location: str) -> str:
    """Where a redirect leads to; nowhere if it cannot be read."""
    try:
        return normal_form(urljoin(url, location))
    except ValueError:
        return ""
