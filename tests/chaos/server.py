"""Serves the site of a spec over real HTTP on loopback, with its faults, and records its requests."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from .site import Redirect, Site, without_session
from .spec import EMPTY, RESET, SLOW, Fault, Spec

SLOW_S = 0.15
_WALL = b"<html><head><title>Log in</title></head><body><form action='/login'>Who are you?</form></body></html>"


class Asked(NamedTuple):
    """One request."""

    run: int
    path: str
    outcome: str
    """``page``, ``redirect``, ``wall``, ``none`` (404), or the fault."""


class Server:
    """The site on a loopback port; serves one crawl after another, each started with :meth:`begin`.

    Its own thread answers; no other thread changes its counts during a crawl.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.spec: Spec = site.spec
        self.log: list[Asked] = []
        self.run = 0
        self._faults = {path: fault for path in site.way_of if (fault := fault_of(site, path)) is not None}
        self.hold: Callable[[], bool] | None = None
        """Returns True while answers must wait, to slow the crawl down."""
        self.connections: set[asyncio.Transport] = set()
        """Open connections."""
        self._listening = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.begin()

    def __enter__(self) -> Server:
        self._thread.start()
        self._listening.wait()
        return self

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def host(self) -> str:
        """Host with port."""
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """URL of the site, without a final slash."""
        return f"http://{self.host}"

    def begin(self) -> None:
        """Forget the previous crawl."""
        self.log = []
        self.run = 0
        self.unsaved_runs: set[int] = set()
        """Runs that were killed, and may have stored no page."""
        self._n_asked: Counter[str] = Counter()
        self._shown: set[str] = set()
        self._n_shown = 0
        self.wall_left = self.spec.wall_for
        """Number of answers that the wall will still give."""
        self._stop_at: dict[int, Callable[[], None]] = {}

    def next_run(self, moments: dict[int, Callable[[], None]]) -> None:
        """Note that another process of the crawl begins; *moments*: number of a request -> action."""
        self.run += 1
        n_before = len(self.log)
        self._stop_at = {n_before + n: action for n, action in moments.items()}

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(self._loop.create_server(lambda: _Connection(self), "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._listening.set()
        self._loop.run_forever()
        server.close()
        for connection in list(self.connections):  # the crawler may not have closed them
            connection.abort()
        self._loop.run_until_complete(asyncio.sleep(0))
        for task in asyncio.all_tasks(self._loop):
            task.cancel()

    def answer(self, path: str) -> tuple[bytes | None, float]:
        """Return the whole answer and its delay; None for a broken connection."""
        outcome, answer, delay_s = self._answer(path)
        self.log.append(Asked(self.run, path, outcome))
        if (action := self._stop_at.pop(len(self.log), None)) is not None:
            action()
        return answer, delay_s

    def _answer(self, path: str) -> tuple[str, bytes | None, float]:
        if path == "/robots.txt":
            return "none", _response(404), 0.0
        known = self.site.lookup(path)
        if known is None:
            return "none", _response(404, b"nothing"), 0.0
        spec = self.spec
        is_walled = spec.wall_from and len(self._shown) >= spec.wall_from and self.wall_left
        if is_walled and without_session(path) in self.site.way_of:  # lists stay, or little crawl would be left
            self.wall_left -= 1
            return "wall", _response(200, _WALL), 0.0
        self._n_asked[path] += 1
        fault = self._faults.get(path)
        delay_s = 0.0
        if fault is not None and (not fault.n_asks or self._n_asked[path] <= fault.n_asks):
            if fault.what == RESET:
                return RESET, None, 0.0
            if fault.what == SLOW:
                delay_s = SLOW_S
            else:
                return fault.what, _response(200 if fault.what == EMPTY else int(fault.what)), 0.0
        if isinstance(known, Redirect):
            return "redirect", _response(known.status, b"", f"Location: {known.target}\r\n"), delay_s
        self._shown.add(known.page)
        self._n_shown += 1
        return "page", _response(200, self.site.html(known.page, self._n_shown)), delay_s


class _Connection(asyncio.Protocol):
    """Serve one connection, request by request."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections.add(transport)

    def connection_lost(self, exception: Exception | None) -> None:
        self._server.connections.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while b"\r\n\r\n" in self._received:
            head, _, self._received = self._received.partition(b"\r\n\r\n")
            self._asked(head.split(b" ", 2)[1].decode("latin-1"))

    def _asked(self, path: str) -> None:
        hold = self._server.hold
        if hold is not None and hold():
            asyncio.get_running_loop().call_later(0.05, self._asked, path)
            return
        answer, delay_s = self._server.answer(path)
        if delay_s:
            asyncio.get_running_loop().call_later(delay_s, self._write, answer)
        else:
            self._write(answer)

    def _write(self, answer: bytes | None) -> None:
        if answer is None:
            # closed at once, and not in order: the crawler sees a reset
            connection = self._transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._transport.abort()
        elif not self._transport.is_closing():
            self._transport.write(answer)


def fault_of(site: Site, path: str) -> Fault | None:
    """Return the fault of a URL, permanent or temporary; None for a sound URL."""
    number, page, way = site.way_of[path]
    fault = site.spec.families[number].fault
    return fault if fault is not None and way < fault.n_ways and page % fault.every == 0 else None


def _response(status: int, body: bytes = b"", more: str = "") -> bytes:
    kind = "Content-Type: text/html; charset=utf-8\r\n"
    return f"HTTP/1.1 {status} Said\r\n{kind}{more}Content-Length: {len(body)}\r\n\r\n".encode() + body
