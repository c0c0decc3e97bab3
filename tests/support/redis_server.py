"""A real Redis on a free port of loopback, which can be stopped and started again."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

from tests.support.programs import require  # also found where pytest has not set the path

SERVER = shutil.which("redis-server")


def require_redis() -> None:
    """Skip the test without ``redis-server``."""
    require(SERVER, "redis-server", "redis")


class RedisServer:
    """One server; with *is_persistent* its data survives :meth:`stop`."""

    def __init__(self, folder: Path, *, is_persistent: bool = False) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._folder = folder
        self._is_persistent = is_persistent
        self.start()

    def url(self, name: str) -> str:
        """Return the value of ``DEDUP_SEEN`` for crawls that share the keys *name*."""
        return f"redis://127.0.0.1:{self.port}/0?name={name}"

    def start(self) -> None:
        """Start, and wait until it answers."""
        keeps = ("--appendonly", "yes", "--appendfsync", "always") if self._is_persistent else ("--appendonly", "no")
        self._process = subprocess.Popen(
            [SERVER, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", *keeps, "--dir", self._folder],
            stdout=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 600
        while self.ask("PING") != "+PONG":
            assert time.monotonic() < deadline, "redis-server does not answer"
            time.sleep(0.02)

    def stop(self) -> None:
        """Kill the server."""
        self._process.kill()
        self._process.wait()

    def ask(self, command: str) -> str:
        """Return the first line of the answer to an inline command; empty without an answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(command.encode() + b"\r\n")
                return connection.makefile("rb").readline().decode().strip()
        except OSError:
            return ""
