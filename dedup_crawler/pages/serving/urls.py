"""Maps recorded URLs to their addresses on loopback, and back.

Clients spell URLs differently: one sends ``/a b`` as ``/a%20b``, another escapes brackets. A request is for the
recorded URL with exactly the same spelling, or else for one that differs only in meaningless escapes. ``%2F`` is not
``/``, and ``%26`` is not ``&``.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ORIGIN = re.compile(r"(https?)://([^/?#]*)", re.IGNORECASE)
_DEFAULT_PORT = re.compile(r":(?:80|443)?\Z")
_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
_MEANINGLESS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!'()*[]|^ \"<>`{}\\") | {
    *range(0x80, 0x100)
}
"""Bytes that mean the same escaped and plain."""


class ServedUrls:
    """The URLs of one recorded host, and the address that serves them, such as ``http://127.0.0.1:8000``.

    *urls* are all recorded URLs. *host* is the ``host`` or ``host:port`` to serve, None for the one with most URLs.
    LookupError if there is no URL (of *host*); the text names the recorded hosts.
    """

    def __init__(self, urls: Iterable[str], address: str, host: str | None) -> None:
        by_host: dict[str, list[str]] = {}
        for url in urls:
            by_host.setdefault(recorded_host(url), []).append(url)
        by_host.pop("", None)
        if not by_host:
            raise LookupError("no page of a web site")
        self.host = max(by_host, key=lambda name: len(by_host[name])) if host is None else host.lower()
        if self.host not in by_host:
            raise LookupError(f"no page of {self.host}, only of {', '.join(sorted(by_host)[:10])}")
        own = by_host[self.host]
        self.n_urls = len(own)
        scheme = Counter(url.partition(":")[0].lower() for url in own).most_common(1)[0][0]
        self.origin = f"{scheme}://{self.host}"
        self.address = address
        ports = "" if ":" in self.host else "(?::80|:443)?"
        self._own_origin = re.compile(rf"https?://{re.escape(self.host)}{ports}(?=[/?#]|\Z)", re.IGNORECASE)
        self._link = re.compile(
            rb"(?:https?:|(?<![\w:/]))//" + f"{re.escape(self.host)}{ports}".encode() + rb"(?=[/?#\"'`\s<>&)\\]|\Z)",
            re.IGNORECASE,
        )
        self._urls: dict[bytes, list[str]] = {}
        for url in own:
            self._urls.setdefault(_spelling(self._target(url)), []).append(url)

    def find(self, target: str) -> str | None:
        """Recorded URL for a request of *target* (path and query); None if there is none."""
        candidates = self._urls.get(_spelling(target))
        if candidates is None:
            return None
        exact = (self.origin + target, self.origin + target.removeprefix("/"))  # a recorded origin may lack its slash
        return next((url for url in exact if url in candidates), candidates[0])

    def recorded(self, served_url: str) -> str:
        """The recorded URL of *served_url*; a URL of another site is returned unchanged."""
        if not served_url.startswith(self.address):
            return served_url
        target = served_url[len(self.address) :]
        if target[:1] not in ("", "/", "?", "#"):
            return served_url
        return self.find(target) or self.origin + target

    def served(self, recorded_url: str) -> str:
        """Address at which *recorded_url* is served; a URL of another site is returned unchanged."""
        origin = self._own_origin.match(recorded_url)
        return recorded_url if origin is None else self.address + recorded_url[origin.end() :]

    def serve_links(self, body: bytes) -> bytes:
        """Rewrite all absolute and protocol-relative links to the recorded host in *body* to the address."""
        if self.host.encode() not in body.lower():  # true for most pages, and much faster than the pattern
            return body
        return self._link.sub(self.address.encode(), body)

    def _target(self, url: str) -> str:
        origin = _ORIGIN.match(url)
        return url if origin is None else url[origin.end() :]


def recorded_host(url: str) -> str:
    """``host`` or ``host:port`` of *url* in lower case, without default port and user; empty if it is not http(s)."""
    origin = _ORIGIN.match(url)
    return "" if origin is None else _DEFAULT_PORT.sub("", origin[2].rpartition("@")[2].lower())


def _spelling(target: str) -> bytes:
    """The same bytes for all spellings of *target* (path, query, fragment) with the same meaning."""
    path, mark, query = target.partition("#")[0].partition("?")
    path = path.replace("\\", "/")  # as browsers and Scrapy do
    if not path.startswith("/"):
        path = "/" + path
    return _ESCAPE.sub(_plain, f"{path}{mark}{query}".encode(errors="surrogateescape"))


def _plain(escape: re.Match[bytes]) -> bytes:
    value = int(escape[1], 16)
    return bytes([value]) if value in _MEANINGLESS else escape[0].upper()
