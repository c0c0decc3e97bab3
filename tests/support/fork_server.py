"""Runs commands in forks of one process that has imported Scrapy and the package: most of a short command is imports.

A fork is a separate process with its own reactor, memory, log, working directory and environment, and the exit status
of an interpreter. No reactor is loaded before the fork. Each test process has one server, from the first command on;
conftest.py stops it.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import runpy
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import version_info

from tests.support.fork_client import ask, numbers_from, send_numbers
from tests.support.repository import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PYTHON = [sys.executable, "-W", "error::DeprecationWarning"]
_HAS_FORKS = hasattr(os, "pidfd_open") and version_info[:2] >= (2, 19)  # earlier ones also import a reactor
_MAX_REQUEST = 2**17
_OURS = (
    *("live.middleware", "live.collecting.collector"),
    *("live.exploration.same_page", "live.seen.sqlite", "live.seen.redis"),
    *("labels.html", "evidence.comparing", "evidence.two_fetches"),
    *("cli", "pages.store", "methods.baselines", "methods.verified", "evidence.labelling", "labels.published"),
    *("rules.learning.host_crawl", "evaluation.comparison", "pages.serving"),
)


def _of_python() -> dict[str, str]:
    """The variables that an interpreter reads at its start."""
    return {name: value for name, value in os.environ.items() if name.startswith("PYTHON")}


_AT_START = _of_python()


def is_possible() -> bool:
    """Return True if a fork can replace a new process: no test has changed how Python starts."""
    return _HAS_FORKS and _of_python() == _AT_START


def command(module: str) -> list[str]:
    """Return the start of a command line for ``python -m MODULE``: in a fork, if possible."""
    if not is_possible():
        return [sys.executable, "-m", module]
    client = Path(__file__).with_name("fork_client.py")
    return [sys.executable, "-I", "-S", str(client), _server().door, module]


def script(module: str) -> str:
    """Return :func:`command` as a program for a shell."""
    return f'#!/bin/sh\nexec {shlex.join(command(module))} "$@"\n'


def run(
    line: Sequence[str], cwd: Path, environment: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m`` *line* in a fork; as :func:`subprocess.run` that captures the output."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        fork = Fork(line, cwd, environment, out.fileno(), err.fileno())
        try:
            status = fork.wait(timeout_s)
        except subprocess.TimeoutExpired:
            fork.kill()
            raise
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(line, status, out.read().decode(), err.read().decode())


class Fork:
    """``python -m`` *line* running in a fork: the part of :class:`subprocess.Popen` that tests need."""

    def __init__(self, line: Sequence[str], cwd: Path, environment: Mapping[str, str], out: int, err: int) -> None:
        self.line = line
        with Path(os.devnull).open("rb") as nothing:
            self._connection = ask(_server().door, line, str(cwd), environment, (nothing.fileno(), out, err))
        (self.pid,) = numbers_from(self._connection)
        self._status: int | None = None
        self.cpu_s = 0.0
        """CPU seconds, once it has ended."""

    def wait(self, timeout: float | None = None) -> int:
        """Exit status, once it has ended."""
        if self._status is None:
            self._connection.settimeout(timeout)
            try:
                self._status, used = numbers_from(self._connection)
            except (TimeoutError, BlockingIOError):  # the latter with a timeout of 0
                raise subprocess.TimeoutExpired(self.line, timeout or 0) from None
            self._connection.close()
            self.cpu_s = used / 1e6
        return self._status

    def poll(self) -> int | None:
        """Return the exit status, None while it runs."""
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
    """Return the server of this process, started by the first command."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="forks-")
        self.door = f"{self._folder.name}/door"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(self.door)
        listener.listen()
        with listener:
            line = [*PYTHON, "-m", "tests.support.fork_server", str(listener.fileno())]
            pipes: dict[str, Any] = {"pass_fds": [listener.fileno()], "stdin": subprocess.PIPE}
            # Ctrl-C stops the tests, and crawls end in order
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # a process that forks should have one thread
            self._process = subprocess.Popen(line, cwd=ROOT, env=environment, start_new_session=True, **pipes)

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()


_server = cache(_Server)


def stop() -> None:
    """Stop the server, if there is one."""
    if _server.cache_info().currsize:
        _server().stop()
        _server.cache_clear()


def _serve(listener: socket.socket) -> dict[str, Any] | None:
    """Fork for each request; return the work in the child, and None in the server at its end."""
    running: dict[int, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is sys.stdin:  # closed by the parent process
                    return None
                if key.fileobj is not listener:
                    pid, asker = running.pop(key.fd)
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    _, status, used = os.wait4(pid, 0)
                    with suppress(OSError), asker:  # the client may have been killed
                        cpu_s = used.ru_utime + used.ru_stime
                        send_numbers(asker, os.waitstatus_to_exitcode(status), int(1e6 * cpu_s))
                    continue
                asker, _ = listener.accept()
                data, streams, *_ = socket.recv_fds(asker, _MAX_REQUEST, 3)
                child = os.fork()
                if child == 0:
                    for number, stream in enumerate(streams):
                        os.dup2(stream, number)
                    for fd in [*streams, *running]:
                        os.close(fd)
                    for connection in [listener, asker, *(each for _, each in running.values())]:
                        connection.close()
                    request: dict[str, Any] = json.loads(data)
                    return request
                for stream in streams:
                    os.close(stream)
                watch = os.pidfd_open(child)
                running[watch] = child, asker
                selector.register(watch, selectors.EVENT_READ)
                send_numbers(asker, child)


def load() -> None:
    """Import the modules of crawls and short commands, but no reactor, and freeze them for forks."""
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
                with suppress(ImportError):  # an optional package is missing
                    load_object(each)
    for name in _OURS:
        import_module(f"dedup_crawler.{name}")
    from dedup_crawler.methods import METHODS

    list(METHODS.values())  # imports them
    import_module("sqlalchemy.dialects.sqlite")
    import_module("sklearn.feature_extraction.text")
    assert "twisted.internet.reactor" not in sys.modules
    gc.collect()
    gc.freeze()


def _main() -> None:
    load()
    request = _serve(socket.socket(fileno=int(sys.argv[1])))
    if request is None:
        return
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])
    sys.path[0] = request["cwd"]  # as with `python -m`
    module, *arguments = request["line"]
    sys.argv = [module, *arguments]
    sys.stdout.reconfigure(line_buffering=sys.stdout.isatty())  # type: ignore[union-attr]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        status = 0
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            raise
        status = end.code or 0
    _leave(status)


def _leave(status: int) -> None:
    """End as an interpreter does, but leave the memory to the system: freeing it would copy all that forks share."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)


if __name__ == "__main__":
    _main()
