"""A real Postgres on a socket in a folder of its own; nothing but this machine can reach it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from programs import require

_PATHS = [os.environ.get("PATH", ""), *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)]
INITDB, SERVER = (shutil.which(name, path=os.pathsep.join(_PATHS)) for name in ("initdb", "postgres"))


def require_postgres() -> None:
    """Skip the test without Postgres."""
    require(INITDB and SERVER, "postgresql", "psycopg")


class PostgresServer:
    """One server with a new cluster. Root cannot run it: it then runs as ``nobody``."""

    def __init__(self) -> None:
        # not below the folder of the tests, which only their user may enter; short, as names of sockets must be
        self._folder = tempfile.mkdtemp(prefix="postgres-")
        self._user: dict[str, Any] = {"cwd": self._folder}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self._folder, nobody.pw_uid, nobody.pw_gid)
            self._user |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        make = [INITDB, "-D", "data", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL, **self._user)
        self._n_databases = 0
        self.start()

    def start(self) -> None:
        """Start, and wait until it answers."""
        line = [SERVER, "-D", "data", "-k", self._folder, "-c", "listen_addresses=", "-c", "fsync=off"]
        with Path(self._folder, "log").open("ab") as log:
            self._process = subprocess.Popen(line, stderr=log, **self._user)
        deadline = time.monotonic() + 600
        while not self._answers():
            assert time.monotonic() < deadline, Path(self._folder, "log").read_text()
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop at once, as a computer that loses its power; the next start recovers."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait()

    def remove(self) -> None:
        """Stop, and remove all databases."""
        self.stop()
        shutil.rmtree(self._folder)

    def new_database(self) -> str:
        """Make an empty database, and return its SQLAlchemy URL."""
        self._n_databases += 1
        name = f"crawl{self._n_databases}"
        self.ask(f"CREATE DATABASE {name}")
        return f"postgresql://postgres@/{name}?host={self._folder}"

    def ask(self, command: str, database: str = "postgres") -> None:
        """Run one command outside a transaction."""
        import psycopg

        with psycopg.connect(host=self._folder, user="postgres", dbname=database, autocommit=True) as connection:
            connection.execute(command)

    def _answers(self) -> bool:
        import psycopg

        try:
            self.ask("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True
