"""Scrapy commands in forks of one process that has imported Scrapy and the package: most of a short crawl is imports.

A fork is a process of its own: it has its own reactor, memory, log, working directory and environment, and the exit
status is that of the interpreter's end. No reactor is loaded before the fork. Each process that runs tests has one
server, from the first :func:`run` on; conftest.py stops it.
"""

from __future__ import annotations

import gc
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import version_info

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PYTHON = [sys.executable, "-W", "error::DeprecationWarning"]
_HAS_FORKS = hasattr(os, "pidfd_open") and version_info[:2] >= (2, 19)  # earlier ones import a reactor with the rest
_MAX_REQUEST = 2**17
_ENDED = 8  # bytes of a number


def _of_python() -> dict[str, str]:
    """The variables that an interpreter reads before anything is imported."""
    return {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}


_AT_START = _of_python()


def is_possible() -> bool:
    """Return True if a fork can stand in for a new process: no test has changed how Python itself starts."""
    return _HAS_FORKS and _of_python() == _AT_START


def run(
    arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m scrapy`` with *arguments* in a fork; as :func:`subprocess.run` that captures the output."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        fork = Fork(arguments, cwd, environment, out.fileno(), err.fileno())
        try:
            status = fork.wait(timeout_s)
        except subprocess.TimeoutExpired:
            fork.kill()
            raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(arguments, status, out.read().decode(), err.read().decode())


class Fork:
    """``python -m scrapy`` with *arguments* in a fork, begun: as much of :class:`subprocess.Popen` as tests need."""

    def __init__(self, arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], out: int, err: int) -> None:
        request = json.dumps({"arguments": [*arguments], "cwd": str(cwd), "environment": dict(environment)}).encode()
        self.arguments = arguments
        self._ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(_server().door, [request], [out, err, theirs.fileno()])
        self.pid = _number(self._ours)
        self._status: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        """Exit status, once it has ended."""
        if self._status is None:
            self._ours.settimeout(timeout)
            try:
                self._status = _number(self._ours)
            except (TimeoutError, BlockingIOError):  # the latter of a timeout of 0
                raise subprocess.TimeoutExpired(self.arguments, timeout or 0) from None
            self._ours.close()
        return self._status

    def poll(self) -> int | None:
        """Exit status, None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it by force."""
        self.send_signal(signal.SIGKILL)


class _Server:
    """The server of this process, from the first crawl on."""

    def __init__(self) -> None:
        self.door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            line = [*PYTHON, __file__, str(theirs.fileno())]
            self.process = subprocess.Popen(line, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)


_server = cache(_Server)


def stop() -> None:
    """End the server, if there is one."""
    if _server.cache_info().currsize:
        _server().door.close()
        _server().process.wait()
        _server.cache_clear()


def _number(connection: socket.socket) -> int:
    data = connection.recv(_ENDED)
    assert data, "the server of crawls has ended: see its traceback above"
    return int.from_bytes(data, "little", signed=True)


def _send(connection: socket.socket, number: int) -> None:
    connection.send(number.to_bytes(_ENDED, "little", signed=True))


def _serve(door: socket.socket) -> dict[str, Any] | None:
    """Fork for each request; what is to be run in the child, None in the server when nobody will ask any more."""
    running: dict[int, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(door, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not door:
                    pid, asker = running.pop(key.fd)
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    _send(asker, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                    asker.close()
                    continue
                data, fds, *_ = socket.recv_fds(door, _MAX_REQUEST, 3)
                if not data:
                    return None
                child = os.fork()
                if child == 0:
                    door.close()
                    os.dup2(fds[0], 1)
                    os.dup2(fds[1], 2)
                    for fd in [*fds, *running]:
                        os.close(fd)
                    for _, asker in running.values():
                        asker.close()
                    request: dict[str, Any] = json.loads(data)
                    return request
                asker = socket.socket(fileno=fds[2])
                os.close(fds[0])
                os.close(fds[1])
                watch = os.pidfd_open(child)
                running[watch] = child, asker
                selector.register(watch, selectors.EVENT_READ)
                _send(asker, child)


def load() -> None:
    """Import what a crawl imports, but for a reactor, and leave it to forks as it is."""
    from scrapy import commands
    from scrapy.settings import default_settings
    from scrapy.utils.misc import load_object

    for name in ("scrapy.cmdline", "scrapy.crawler"):
        import_module(name)
    for command in pkgutil.iter_modules(commands.__path__):  # `scrapy crawl` imports all of them
        import_module(f"scrapy.commands.{command.name}")
    for value in vars(default_settings).values():
        for each in [*value, *value.values()] if isinstance(value, dict) else [value]:
            if isinstance(each, str) and each.startswith("scrapy."):
                with suppress(ImportError):  # needs what is not installed, which only a crawl that uses it is told
                    load_object(each)
    for name in ("addon", "duplicate_filter", "spider_middleware", "collecting.collector", "collecting.recorder"):
        import_module(f"dedup_crawler.live.{name}")
    for name in ("pages.store", "methods.baselines", "methods.verified.method", "labels.joins"):
        import_module(f"dedup_crawler.{name}")
    import_module("sqlalchemy.dialects.sqlite")
    assert "twisted.internet.reactor" not in sys.modules
    gc.collect()
    gc.freeze()


def _main() -> None:
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    load()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if request is None:
        return
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.path[0] = request["cwd"]  # as of `python -m`
    sys.argv = ["scrapy", *request["arguments"]]
    runpy.run_module("scrapy", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
