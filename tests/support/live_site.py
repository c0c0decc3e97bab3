"""A small site on loopback and the crawls that visit it, shared by the tests of the live parts."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest
from scrapy import version_info

from dedup_crawler.methods import make_method
from repository import ROOT
from tests.support import fork_server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

REPOSITORY = ROOT
_HANGS_S = 900.0
"""A crawl that takes longer hangs, even on a slow machine."""
QUICK = {
    "AUTOTHROTTLE_ENABLED": "False",
    "RETRY_TIMES": "1",
    "DEDUP_EXPLORATION": "0",
    "CONCURRENT_ITEMS": "16",  # Scrapy makes so many tasks for each answer: its usual 100 cost a quarter of a crawl
}
HAS_BARE_ASYNCIO = version_info[:2] >= (2, 15)  # Scrapy can run without a Twisted reactor
needs_bare_asyncio = pytest.mark.skipif(not HAS_BARE_ASYNCIO, reason="this Scrapy needs a Twisted reactor")
MODE: dict[str, object] = {"TWISTED_REACTOR_ENABLED": "False"} if os.environ.get("BARE_ASYNCIO") else {}
"""``BARE_ASYNCIO=1`` in the environment: every crawl runs without a Twisted reactor."""


@dataclass
class Answer:
    """Answer of the site to a URL."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "text/html; charset=utf-8"})
    body: bytes = b""
    delay_s: float = 0.0
    is_reset: bool = False
    """Break the connection instead of answering."""


class Site:
    """Serves given answers, 404 for all else, and records the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer | list[Answer]] = {}
        self.asked: list[str] = []
        self.delay_s = 0.0
        self.keeps_connections = True
        """False for a site that resets connections: a client repeats what it sent on a connection that it had used."""
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # a new connection for each page would cost a tenth of a crawl
            disable_nagle_algorithm = True
            wbufsize = -1  # head and body in one write

            def do_GET(self) -> None:
                site.answer(self)

            def do_POST(self) -> None:
                # unread data makes the kernel reset the connection, which sometimes loses the answer
                self.rfile.read(int(self.headers["Content-Length"]))
                site.answer(self)

            def log_message(self, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 128  # the default of 5 delays a crawl with more connections by a second

            def handle_error(self, *request: object) -> None:
                if not isinstance(sys.exc_info()[1], OSError):
                    super().handle_error(*request)  # else the crawler was killed

        self._server = Server(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"http://{self.host}"

    def __enter__(self) -> Site:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request; the last of several answers to a URL repeats."""
        self.asked.append(handler.path)
        known = self.lookup(handler.path)
        answer = known if isinstance(known, Answer) else known.pop(0) if len(known) > 1 else known[0]
        time.sleep(answer.delay_s + self.delay_s)
        if answer.is_reset:
            # closed at once, and not in order: the crawler sees a reset
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.connection.close()
            handler.close_connection = True
            return
        try:
            handler.send_response(answer.status)
            always = {"Content-Length": str(len(answer.body))}
            if not self.keeps_connections:
                always["Connection"] = "close"  # announced, or the client would reuse the closed connection
            for name, value in {**answer.headers, **always}.items():
                handler.send_header(name, value)
            handler.end_headers()
            handler.wfile.write(answer.body)
        except OSError:
            pass  # the crawler was killed

    def lookup(self, path: str) -> Answer | list[Answer]:
        """Return the answer to *path*, or several in turn; a site that changes during the crawl overrides this."""
        return self.answers.get(path, Answer(404))

    def page(self, path: str, *links: str, status: int = 200, delay_s: float = 0.0, html: str = "") -> None:
        """Serve a page with *links* (written as ``href`` values) and *html*."""
        anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
        body = f"<html><head><title>{path}</title></head><body>{anchors}{html}</body></html>"
        self.answers[path] = Answer(status, body=body.encode(), delay_s=delay_s)

    def redirect(self, path: str, target: str, status: int = 302, delay_s: float = 0.0) -> None:
        """Serve a redirect."""
        self.answers[path] = Answer(status, {"Location": target}, delay_s=delay_s)

    def robots(self, *disallowed: str) -> None:
        """Serve a robots.txt."""
        text = "User-agent: *\n" + "".join(f"Disallow: {path}\n" for path in disallowed)
        self.answers["/robots.txt"] = Answer(200, {"Content-Type": "text/plain"}, text.encode())

    def count(self, path: str) -> int:
        """Return the number of requests for *path*."""
        return Counter(self.asked)[path]


@dataclass
class Crawl:
    """Result of a crawl."""

    status: int
    log: str
    stats: dict[str, object] = field(default_factory=dict)
    seen: dict[str, dict[str, object]] = field(default_factory=dict)

    def lines(self, level: str) -> list[str]:
        """Return the log lines of a level, without those of Scrapy about running without a reactor."""
        lines = [line for line in self.log.splitlines() if f" {level}: " in line]
        return [line for line in lines if "is experimental and is not recommended" not in line]


def strip_query_model(folder: Path, *hosts: str) -> Path:
    """Return a model that ignores the whole query."""
    urls = [f"http://{host}/" for host in hosts]
    return Path(make_method("strip-query").fit(urls, range(len(urls))).save(folder))


def command(*arguments: str, settings: dict[str, object] | None = None) -> list[str]:
    """Return a Scrapy command line."""
    sets = [part for name, value in {**MODE, **(settings or {})}.items() for part in ("-s", f"{name}={value}")]
    return [*fork_server.PYTHON, "-m", "scrapy", *arguments, *sets]


def run(line: Sequence[str], cwd: Path = REPOSITORY) -> Crawl:
    """Run a crawl to its end; a deprecation warning of Scrapy fails the test."""
    if (scrapy := _of_scrapy(line)) is not None:
        done = fork_server.run(scrapy, cwd, _environment(), _HANGS_S)
    else:
        done = subprocess.run(
            line, cwd=cwd, env=_environment(), capture_output=True, text=True, timeout=_HANGS_S, check=False
        )
    assert "DeprecationWarning" not in done.stderr, done.stderr
    return Crawl(done.returncode, done.stderr)


def start(line: Sequence[str], cwd: Path, log: IO[Any]) -> subprocess.Popen[bytes] | fork_server.Fork:
    """Start a crawl with its log in a file, for tests that stop it."""
    if (scrapy := _of_scrapy(line)) is not None:
        return fork_server.Fork(scrapy, cwd, _environment(), log.fileno(), log.fileno())
    return subprocess.Popen(line, cwd=cwd, env=_environment(), stdout=log, stderr=log, start_new_session=True)


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])}


def _of_scrapy(line: Sequence[str]) -> Sequence[str] | None:
    """Return *line* for a fork, if it may run in one; else None."""
    beginning = command(settings=None)[: len(fork_server.PYTHON) + 2]
    is_scrapy = list(line[: len(beginning)]) == beginning
    return line[len(beginning) - 1 :] if is_scrapy and fork_server.is_possible() else None


def crawl_content(url: str, db: Path, *arguments: str, **settings: object) -> Crawl:
    """Crawl with our spider, in the repository's project."""
    line = command("crawl", "content", "-a", f"url={url}", "-a", f"db={db}", *arguments, settings={**QUICK, **settings})
    return run(line)


def walk_command(site: Site, folder: Path, *, addon: bool = True, **settings: object) -> list[str]:
    """Return the command line of a crawl with a user's spider (tests/support/walker.py)."""
    out = folder / "walk.json"
    own: dict[str, object] = {
        **QUICK,
        "ROBOTSTXT_OBEY": "True",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "TELNETCONSOLE_ENABLED": "False",
        "REMOTE_CONTROL_ENABLED": "False",
    }
    if addon:
        own["ADDONS"] = json.dumps({"dedup_crawler.Addon": 500})
    walker = str(REPOSITORY / "tests" / "support" / "walker.py")
    return command("runspider", walker, "-a", f"url={site.url}/", "-a", f"out={out}", settings={**own, **settings})


def walk(site: Site, folder: Path, *, prefix: Sequence[str] = (), **settings: Any) -> Crawl:
    """Crawl with a user's spider in a folder that is no project."""
    out = folder / "walk.json"
    crawl = run([*prefix, *walk_command(site, folder, **settings)], folder)
    if out.exists():
        written = json.loads(out.read_text())
        crawl.stats, crawl.seen = written["stats"], written["seen"]
    return crawl


def walk_filtered(site: Site, folder: Path, **settings: Any) -> Crawl:
    """Crawl with a model that ignores the whole query."""
    return walk(site, folder, DEDUP_MODEL=strip_query_model(folder / "model", site.host), **settings)


def wait_until(is_so: Callable[[], bool], *, interval_s: float = 0.05, said: str = "it took too long") -> None:
    """Wait until *is_so*, ten minutes at most: the machine may be busy."""
    deadline = time.monotonic() + 600
    while not is_so():
        assert time.monotonic() < deadline, said
        time.sleep(interval_s)
