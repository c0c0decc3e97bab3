"""Single pages of a live site, fetched as a guest: what robots.txt allows, slowly, not many, and nowhere else.

Scrapy fetches them, in a process of its own (:mod:`.spider`): within a program it cannot be asked for one page after
the other. Redirects are followed on the same site only. A page that is too large, too slow or not there is no page.
"""

from __future__ import annotations

import base64
import contextlib
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from dedup_crawler.errors import BadInputError, FetchError
from dedup_crawler.pages.records import Page
from dedup_crawler.urls.normal import host_of, normal_form

_MAX_REDIRECTS = 5
_MAX_RETRIES = 2
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class Fetched:
    """Outcome of one fetch."""

    page: Page | None
    """Behind redirects of the same site; None where there is none to be had."""
    is_forbidden: bool = False
    """By robots.txt."""


class PoliteFetcher:
    """Fetches pages of one site; a context manager, at whose end the other process ends.

    Parameters
    ----------
    site
        Such as ``https://forum.example``; what stands behind the host is not looked at.
    delay_s
        Seconds between two requests, 0 or more; robots.txt may ask for more.
    max_fetches
        Requests in all, robots.txt not counted; 1 or more.
    timeout_s
        Seconds for one request, from the connection to the last byte.

    Raises
    ------
    BadInputError
        If *site* is no http(s) URL, or a number is out of range.
    FetchError
        If the site does not answer, its robots.txt cannot be had, or Scrapy ends before it is asked to.
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
        self._max_fetches = max_fetches
        module = "dedup_crawler.pages.fetching.spider"
        self._process = subprocess.Popen(  # noqa: S603 - our own module, with a checked URL
            [sys.executable, "-m", module, self.origin, str(delay_s), str(timeout_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for us, who end it
        )
        try:
            self._check_robots(self._next_answer())
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> PoliteFetcher:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End the other process, whatever it is doing."""
        with contextlib.suppress(BrokenPipeError), self._process:
            self._process.kill()

    @property
    def is_spent(self) -> bool:
        """True if no more requests may be made."""
        return self.n_fetches >= self._max_fetches

    def fetch(self, rest: str) -> Fetched:
        """Fetch the page of a path and query."""
        url = normal_form(self.origin + rest)
        for _ in range(_MAX_REDIRECTS + 1):
            if self.is_spent or not url.startswith(f"{self.origin}/"):
                break
            n_left = self._max_fetches - self.n_fetches
            answer = self._ask(url, min(n_left - 1, _MAX_RETRIES))
            self.n_fetches += answer["n_requests"]
            if "failure" in answer:
                return Fetched(None, is_forbidden=answer["is_forbidden"])
            if answer["status"] not in _REDIRECTS:
                body = base64.b64decode(answer["body"])
                return Fetched(Page(url, answer["status"], content_type=answer["content_type"] or None, content=body))
            url = _joined(url, answer["location"])
        return Fetched(None)

    def _ask(self, url: str, max_retries: int) -> dict[str, Any]:
        assert self._process.stdin is not None  # noqa: S101 - a pipe, as made above
        with contextlib.suppress(BrokenPipeError):  # it has ended, and what it said last is told below
            self._process.stdin.write(json.dumps({"url": url, "max_retries": max_retries}) + "\n")
            self._process.stdin.flush()
        return self._next_answer()

    def _next_answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101 - pipes, as made above
        assert self._process.stderr is not None  # noqa: S101
        line = self._process.stdout.readline()
        if not line:
            said = (self._process.stderr.read().strip().splitlines() or [f"status {self._process.wait()}"])[-1]
            raise FetchError(f"Scrapy ended while it fetched from {self.origin}: {said}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _check_robots(self, answer: dict[str, Any]) -> None:
        robots = f"{self.origin}/robots.txt"
        if "failure" in answer:
            raise FetchError(f"{robots} did not answer ({answer['failure']}); without it nothing is fetched.")
        if answer["status"] in _REDIRECTS:
            raise FetchError(f"{robots} leads to {answer['location']}; if that is another site, give that one.")
        if answer["status"] >= 500:
            raise FetchError(f"{robots} answered {answer['status']}; without it nothing is fetched. Try again later.")


def _joined(url: str, location: str) -> str:
    """Target of a redirect; none if it cannot be read."""
    try:
        return normal_form(urljoin(url, location))
    except ValueError:
        return ""
