"""The SQLite file of a durable seen set: its connection, the check of its format, and its errors.

Only one process can open the file at a time. Nothing is written before the checks have passed, so the file of another
program stays unchanged. All values are bound parameters.

Changes are SQL statements in a list. They are run in an open transaction before anything is read, so what is read
includes them, and committed together. After any error the transaction is rolled back, and the list is run again: so the
set works on in memory while the disk is full, and a process that dies leaves all changes of a commit, or none.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, CursorResult, create_engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from dedup_crawler.errors import SeenError, SeenUnavailableError
from dedup_crawler.live.seen.protocol import DIGEST_SIZE

N_RUNS = (1 << 15) - 1
"""Runs are numbered from 1 to this, then from 1 again."""
_MAX_VALUE = N_RUNS << 32 | 0xFFFF_FFFF
_APPLICATION = "dedup-crawler seen"
_VERSION = 3
_SCHEMA = (
    "CREATE TABLE facts (key TEXT NOT NULL PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE seen (digest BLOB NOT NULL PRIMARY KEY, value BIGINT NOT NULL) WITHOUT ROWID",
    # digests come in random order, and an index on them rewrites a page for nearly each; so other tables use a place
    "CREATE TABLE awaited (place INTEGER NOT NULL PRIMARY KEY, digest BLOB NOT NULL, value BIGINT NOT NULL,"
    " tag BIGINT NOT NULL, request TEXT)",
    "CREATE TABLE substitutes (place INTEGER NOT NULL PRIMARY KEY, digest BLOB NOT NULL, tag BIGINT NOT NULL,"
    " request TEXT NOT NULL)",
    "CREATE UNIQUE INDEX substitute ON substitutes (digest, tag)",
    "CREATE TABLE owners (place INTEGER NOT NULL PRIMARY KEY, digest BLOB NOT NULL, request TEXT NOT NULL)",
    "CREATE TABLE dropped (place INTEGER NOT NULL PRIMARY KEY, digest BLOB NOT NULL, rules INTEGER NOT NULL,"
    " request TEXT NOT NULL)",
    f"INSERT INTO facts VALUES ('application', '{_APPLICATION}'), ('version', '{_VERSION}')",  # noqa: S608 - constants
)
_COLUMNS = {
    "facts": ("key", "text"),
    "seen": ("digest", "value"),
    "awaited": ("place", "digest", "value", "tag", "ifnull(request, '')"),
    "substitutes": ("place", "digest", "tag", "request"),
    "owners": ("place", "digest", "request"),
    "dropped": ("place", "digest", "rules", "request"),
}
_HIGHEST = {"place": _MAX_VALUE, "value": _MAX_VALUE, "tag": 0xFFFF_FFFF, "rules": 0xFFFF}

_LOCK_TIMEOUT_S = 2
_CACHE_KB = 65_536  # digests come in random order, so with a million forms every index page is used again and again
_N_KEYS = 500
_N_ROWS = 10_000
_MAX_REASON = 300
_DAMAGED = "the file is damaged; delete it, and the crawl starts with nothing seen"
_WAYS_OUT = {
    "locked": "another crawl uses it; wait for it to end, or give each crawl a file of its own",
    "full": "free some space",
    "disk i/o error": "check the disk and its quota",
    "readonly": "make the file and its folder writable, or use another one",
    "unable to open": "make the file and its folder readable and writable, or use another one",
    "not a database": "give another file",
    "malformed": _DAMAGED,
    "no such": _DAMAGED,
    "utf-8": _DAMAGED,
}


class SeenFile:
    """One open file, created if missing; every failure is a :class:`SeenUnavailableError` that names the way out.

    SeenError if it is damaged, or not a seen set.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changes: list[tuple[str, list[tuple[Any, ...]]]] = []  # statements, each with the rows of its executions
        self._n_run = 0  # the open transaction includes so many of them
        self._is_begun = False
        self.n_changes = 0
        """Number of rows in changes that are not committed."""
        _check_place(path)
        self._engine = create_engine(
            URL.create("sqlite", database=str(path)),
            connect_args={"timeout": _LOCK_TIMEOUT_S},
            isolation_level="AUTOCOMMIT",  # transactions are started explicitly, for statements that belong together
        )
        with self._errors():
            self._connection: Connection = self._engine.connect()
            try:
                self._prepare()
            except BaseException:
                self.close()
                raise

    def rows(self, query: str, parameters: tuple[Any, ...] = ()) -> Iterator[Any]:
        """Yield all rows, perhaps millions."""
        with self._errors():
            self._run_changes()
            with contextlib.closing(self._connection.exec_driver_sql(query, parameters)) as result:
                yield from result.yield_per(_N_ROWS)

    def rows_of(self, query: str, keys: Sequence[Any]) -> Iterator[Any]:
        """Yield the rows of a *query* that ends with ``COLUMN IN``, for all *keys*."""
        for marks, portion in portions(keys):
            yield from self.rows(f"{query} {marks}", portion)

    def facts(self) -> dict[str, str]:
        """Return the facts."""
        return {row.key: row.text for row in self.rows("SELECT key, text FROM facts")}

    def change(self, statement: str, row: tuple[Any, ...]) -> None:
        """Run a statement before the next look-up; :meth:`commit` writes it."""
        if self._n_run < len(self._changes) and self._changes[-1][0] == statement:
            self._changes[-1][1].append(row)
        else:
            self._changes.append((statement, [row]))
        self.n_changes += 1

    def commit(self, *statements: str) -> None:
        """Write all changes and *statements* in one transaction; if that fails, only the changes are tried again."""
        with self._errors():
            self._run_changes()
            for statement in statements:
                self._begin()
                self._connection.exec_driver_sql(statement)
            if self._is_begun:
                self._connection.exec_driver_sql("COMMIT")
            self._changes.clear()
            self._n_run, self.n_changes, self._is_begun = 0, 0, False

    def _run_changes(self) -> None:
        for statement, rows in self._changes[self._n_run :]:
            self._begin()
            self._connection.exec_driver_sql(statement, rows)
            self._n_run += 1

    def _begin(self) -> None:
        if not self._is_begun:
            self._is_begun = True  # first, so that an interrupted transaction is rolled back
            self._connection.exec_driver_sql("BEGIN IMMEDIATE")

    def close(self) -> None:
        """Close the file."""
        with self._errors():
            self._connection.close()
            self._engine.dispose()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, UnicodeDecodeError) as error:  # SQLite's message quotes a damaged schema unchanged
            if self._is_begun:
                with contextlib.suppress(SQLAlchemyError):  # SQLite may already have rolled back
                    self._connection.exec_driver_sql("ROLLBACK")
            self._n_run, self._is_begun = 0, False
            cause = error.orig if isinstance(error, DBAPIError) else error
            reason = " ".join(str(cause).split())[:_MAX_REASON] or type(error).__name__
            way_out = next((text for word, text in _WAYS_OUT.items() if word in reason.lower()), "")
            raise SeenUnavailableError(f"{self._path}: {reason}" + (f": {way_out}" if way_out else "")) from error

    def _prepare(self) -> None:
        self._pragma("locking_mode = EXCLUSIVE")
        is_new = not list(self.rows("SELECT 1 FROM sqlite_master"))
        if not is_new:
            self._check_writer()
            self._check_rows()
        self._pragma("journal_mode = WAL")
        self._pragma("synchronous = NORMAL")
        self._pragma(f"cache_size = -{_CACHE_KB}")
        self._pragma("cache_spill = OFF")  # nothing is written before a commit, so that a full disk hinders no look-up
        if is_new:
            self.commit(*_SCHEMA)

    def _pragma(self, words: str) -> CursorResult[Any]:
        return self._connection.exec_driver_sql(f"PRAGMA {words}")

    def _check_writer(self) -> None:
        is_told = {"key", "text"} <= {column.name for column in self._pragma("table_info(facts)")}
        facts = self.facts() if is_told else {}
        if facts.get("application") != _APPLICATION:
            raise SeenError(f"{self._path} was written by another program and was left untouched: give another file")
        version = str(facts.get("version", ""))
        if version != str(_VERSION):
            is_newer = version.isdecimal() and version.isascii() and len(version) < 10 and int(version) > _VERSION
            way_out = "upgrade dedup-crawler" if is_newer else "delete it, and the crawl starts with nothing seen"
            raise SeenError(f"{self._path} has version {version[:20] or '?'}, this program reads {_VERSION}: {way_out}")
        damage = self._pragma("quick_check(1)").scalar()
        if damage != "ok":
            raise SeenError(f"{self._path}: {' '.join(str(damage).split())}: {_DAMAGED}")

    def _check_rows(self) -> None:
        """Refuse rows that no crawl writes: SQLite accepts any type in any column."""
        for table, columns in _COLUMNS.items():
            is_right = " AND ".join(map(_is_right, columns))
            query = f"SELECT 1 FROM {table} WHERE NOT ({is_right}) LIMIT 1"  # noqa: S608 - built from constants above
            if list(self.rows(query)):
                raise SeenError(f"{self._path}: table {table!r} has a row that no crawl writes: {_DAMAGED}")


def portions(keys: Sequence[Any]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield *keys* in portions small enough for one statement, each with the placeholders after ``IN``."""
    for start in range(0, len(keys), _N_KEYS):
        portion = tuple(keys[start : start + _N_KEYS])
        yield f"({','.join('?' * len(portion))})", portion


def _is_right(column: str) -> str:
    """Return the condition that a value has its column's type and is within bounds."""
    if column in _HIGHEST:
        lowest = 1 if column == "place" else 0
        return f"(typeof({column}) = 'integer' AND {column} BETWEEN {lowest} AND {_HIGHEST[column]})"
    if column == "digest":
        return f"(typeof(digest) = 'blob' AND length(digest) = {DIGEST_SIZE})"
    return f"typeof({column}) = 'text'"


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise SeenError(f"{path} is a folder: give a file in it, such as {path / 'dedup.seen'}")
    if not path.parent.is_dir():
        raise SeenError(f"{path} cannot be made: there is no folder {path.parent}; create it first")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.R_OK | os.W_OK)):
        raise SeenError(f"{path} cannot be written: make the file and its folder writable, or use another one")
