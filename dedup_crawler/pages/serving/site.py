"""Serves a recorded crawl as a live site on loopback.

Every recorded answer is served with its status, content type and redirect. Links to the recorded host are rewritten to
the loopback address, so that a crawler stays there. Other URLs give a plain 404.
"""

from __future__ import annotations

import contextlib
import re
import socket
import socketserver
import sys
import tempfile
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dedup_crawler.errors import ServeError
from dedup_crawler.pages.imports import import_files
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.serving.urls import ServedUrls
from dedup_crawler.pages.store import PageStore

if TYPE_CHECKING:
    from collections.abc import Sequence

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
                urls = ServedUrls(store.urls(), self.address, host)
            except LookupError as error:
                names = ", ".join(str(path) for path in paths)
                raise ServeError(f"nothing to serve in {names or 'no recording at all'}: {error.args[0]}") from error
            self._urls = urls
            self._server.store = store
            self._server.urls = urls
            self.n_urls = urls.n_urls
            self.origin = urls.origin
            self._thread: threading.Thread | None = None
            self._cleanup = cleanup.pop_all()

    def __enter__(self) -> RecordedSite:
        self._thread = threading.Thread(target=self.serve_forever, name="recorded site", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def serve_forever(self) -> None:
        """Answer requests in this thread until an exception, such as KeyboardInterrupt; then call :meth:`close`."""
        self._server.serve_forever(poll_interval=_POLL_S)

    def close(self) -> None:
        """End all connections, free the port, remove the temporary store."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._thread = None
        self._cleanup.close()

    def recorded_url(self, served_url: str) -> str:
        """The recorded URL of *served_url*; a URL of another site is returned unchanged."""
        return self._urls.recorded(served_url)

    def served_url(self, recorded_url: str) -> str:
        """Address at which *recorded_url* is served; a URL of another site is returned unchanged."""
        return self._urls.served(recorded_url)


class _Server(ThreadingHTTPServer):
    """A server with one thread for each connection; closing it ends all connections and threads."""

    daemon_threads = False
    request_queue_size = 128
    store: PageStore
    urls: ServedUrls

    def __init__(self, address: tuple[str, int]) -> None:
        self._connections: set[socket.socket] = set()
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        # HTTPServer.server_bind would ask the name service for our name
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = _LOOPBACK, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        for connection in list(self._connections):
            with contextlib.suppress(OSError):  # the client has closed it already
                connection.shutdown(socket.SHUT_RDWR)
        super().server_close()

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
        target = self.requestline.split()[1].encode("latin-1").decode(errors="surrogateescape")
        url = self.server.urls.find(target.removeprefix(self.server.urls.address))
        page = None if url is None else self.server.store.get(url)
        return _NOT_RECORDED if page is None or page.status < HTTPStatus.OK else page


def _bind(port: int) -> _Server:
    try:
        return _Server((_LOOPBACK, port))
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ServeError(
            f"port {port} of {_LOOPBACK} is not available ({reason}): give another one, or 0 for any"
        ) from error
