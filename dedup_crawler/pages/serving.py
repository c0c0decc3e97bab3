"""Serves a recorded crawl as a live site on loopback.

Every recorded answer is served with its status, content type and redirect. Links to the recorded host are rewritten to
the loopback address, so that a crawler stays there. Other URLs give a plain 404. Nothing is fetched from a real site.

Clients spell URLs differently: one sends ``/a b`` as ``/a%20b``, another escapes brackets. A request is for the
recorded URL with exactly the same spelling, or else for one with the same normal form.
"""

from __future__ import annotations

import contextlib
import re
import socketserver
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dedup_crawler.errors import ServeError
from dedup_crawler.pages.imports import import_files
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from dedup_crawler.urls.normal import host_of, normal_form

_LOOPBACK = "127.0.0.1"
_IDLE_S = 60
_POLL_S = 0.05
_WITH_LINKS = re.compile(r"html|xml", re.IGNORECASE)
_NOT_IN_HEADER = re.compile(r"[^\t\x20-\x7e\xa0-\xff]")
_URL_CHARACTERS = "".join(chr(code) for code in range(0x21, 0x7F))
_NOT_RECORDED = Page("", status=404, content_type="text/plain; charset=utf-8", content=b"Not recorded.\n")
_BODILESS = (204, 304)


class RecordedSite:
    """One host of a recording, served on 127.0.0.1 from a temporary store.

    The context manager serves in a thread of its own, :meth:`serve_forever` in the thread of the caller. *paths* are
    recordings of any kind that can be imported. *port* 0 takes any free port; it is bound at once. *host* is the
    recorded ``host`` or ``host:port``, by default the one with most URLs.

    ServeError if the recordings have no page (of *host*), or the port is not available. BadInputError if a recording is
    missing or of an unknown kind.
    """

    def __init__(self, paths: Sequence[Path], port: int = 0, host: str | None = None) -> None:
        with contextlib.ExitStack() as cleanup:
            self._server = cleanup.enter_context(_bind(port))
            self.address = f"http://{_LOOPBACK}:{self._server.server_address[1]}"
            folder = cleanup.enter_context(tempfile.TemporaryDirectory(prefix="dedup-crawler-"))
            store = cleanup.enter_context(PageStore(Path(folder) / "site.db"))
            self.report = import_files(paths, store)
            try:
                self.urls = ServedUrls(store.urls(), self.address, host)
            except LookupError as error:
                names = ", ".join(str(path) for path in paths)
                raise ServeError(f"nothing to serve in {names or 'no recording at all'}: {error.args[0]}") from error
            self._server.store, self._server.urls = store, self.urls
            self._cleanup = cleanup.pop_all()

    def __enter__(self) -> RecordedSite:
        thread = threading.Thread(target=self.serve_forever, name="recorded site", daemon=True)
        thread.start()
        self._cleanup.callback(thread.join)
        self._cleanup.callback(self._server.shutdown)  # the last callback runs first
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def serve_forever(self) -> None:
        """Answer requests in this thread until an exception, such as KeyboardInterrupt; then call :meth:`close`."""
        self._server.serve_forever(poll_interval=_POLL_S)

    def close(self) -> None:
        """Free the port, and remove the temporary store."""
        self._cleanup.close()


class _Server(socketserver.ThreadingTCPServer):
    """A server with one thread for each connection; HTTPServer would ask the name service for our name."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128
    store: PageStore
    urls: ServedUrls

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that close their connection; show the traceback of other errors."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_S
    disable_nagle_algorithm = True
    server: _Server

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def version_string(self) -> str:
        """Value of the ``Server`` header."""
        return "dedup-crawler"

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet: the crawler logs what it fetches."""

    def _answer(self, *, with_body: bool) -> None:
        page = self._page()
        urls = self.server.urls
        body = page.content
        if _WITH_LINKS.search(page.content_type or ""):
            body = urls.serve_links(body)
        self.send_response(page.status)
        if page.content_type:
            self.send_header("Content-Type", _NOT_IN_HEADER.sub("", page.content_type))
        if page.redirect_to:
            self.send_header("Location", quote(urls.served(page.redirect_to), safe=_URL_CHARACTERS))
        if page.status in _BODILESS:
            body = b""
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def _page(self) -> Page:
        target = quote(self.requestline.split()[1], safe=_URL_CHARACTERS, encoding="latin-1")
        url = self.server.urls.find(target.removeprefix(self.server.urls.address))
        page = None if url is None else self.server.store.get(url)
        return _NOT_RECORDED if page is None or page.status < HTTPStatus.OK else page


def _bind(port: int) -> _Server:
    try:
        return _Server((_LOOPBACK, port), _Handler)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ServeError(
            f"port {port} of {_LOOPBACK} is not available ({reason}): give another one, or 0 for any"
        ) from error


class ServedUrls:
    """The URLs of one recorded host, and the address that serves them, such as ``http://127.0.0.1:8000``.

    *urls* are all recorded URLs. *host* is the ``host`` or ``host:port`` to serve, None for the one with most URLs.
    LookupError if there is no URL (of *host*); the text names the recorded hosts.
    """

    def __init__(self, urls: Iterable[str], address: str, host: str | None) -> None:
        by_host: dict[str, list[str]] = {}
        for url in urls:
            if (form := normal_form(url)).startswith(("http://", "https://")):
                by_host.setdefault(host_of(form), []).append(url)
        if not by_host:
            raise LookupError("no page of a web site")
        self.host = max(by_host, key=lambda name: len(by_host[name])) if host is None else host.lower()
        if self.host not in by_host:
            raise LookupError(f"no page of {self.host}, only of {', '.join(sorted(by_host)[:10])}")
        self._urls: dict[str, list[str]] = {}
        for url in by_host[self.host]:
            self._urls.setdefault(_spelling(url), []).append(url)
        self.n_urls = len(by_host[self.host])
        scheme = Counter(url.partition(":")[0].lower() for url in by_host[self.host]).most_common(1)[0][0]
        self.origin = f"{scheme}://{self.host}"
        self.address = address
        ports = "" if ":" in self.host else "(?::80|:443)?"
        link = rf"(?:https?:|(?<![\w:/]))//{re.escape(self.host)}{ports}(?=[/?#\"'`\s<>&)\\]|\Z)"
        self._link, self._link_in_body = re.compile(link, re.IGNORECASE), re.compile(link.encode(), re.IGNORECASE)

    def find(self, target: str) -> str | None:
        """Recorded URL for a request of *target* (path and query); None if there is none."""
        candidates = self._urls.get(_spelling(self.origin + target))
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
        origin = self._link.match(recorded_url)
        return recorded_url if origin is None else self.address + recorded_url[origin.end() :]

    def serve_links(self, body: bytes) -> bytes:
        """Rewrite all absolute and protocol-relative links to the recorded host in *body* to the address."""
        if self.host.encode() not in body.lower():  # true for most pages, and much faster than the pattern
            return body
        return self._link_in_body.sub(self.address.encode(), body)


def _spelling(url: str) -> str:
    """Path and query of a URL: the same for all spellings with the same meaning."""
    path, mark, query = url.partition("#")[0].partition("?")
    path = path.replace("\\", "/")  # as browsers and Scrapy do
    rest = normal_form(f"{path}{mark}{query}").partition("://")[2].partition("/")[2]
    return rest.replace("%5B", "[").replace("%5D", "]")
