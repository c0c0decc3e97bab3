"""Opens a crawl database: connections, transactions, and the check that this program wrote the file.

Nothing is written before the check, so a database of another program is never changed.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, make_url, select
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from dedup_crawler.errors import ForeignDatabaseError, SchemaVersionError, StoreError
from dedup_crawler.pages.tables import APPLICATION, SCHEMA_VERSION, MetaRow, Tables

_BUSY_TIMEOUT_S = 30
_WRITE_LOCK = int.from_bytes(b"dedupcrl", "big")  # number of a lock in a Postgres database that only we take
_WAYS_OUT = {
    "full": "free some space and run this again; what was written before is safe",
    "disk i/o error": "check the disk and its quota and run this again; what was written before is safe",
    "lock timeout": "another process is writing to it; wait for it to end and run this again",
    "locked": "another process is writing to it; wait for it to end and run this again",
    "readonly": "make the file and its folder writable, or use another one",
    "unable to open": "make the file and its folder readable and writable, or use another one",
    "not a database": "give another file",
    "malformed": "the file is damaged; restore a copy, or `sqlite3 FILE .recover` what is left of it",
    "could not decode": "the file is damaged; restore a copy, or `sqlite3 FILE .recover` what is left of it",
    "can't load plugin": "give a file, or an address like postgresql://USER:PASSWORD@HOST:5432/NAME",
}


class Database:
    """One crawl database, with read and write transactions.

    *location* is a path (SQLite), or an SQLAlchemy URL (recognised by its ``://``). StoreError if the database is
    missing and *create* is false, cannot be opened, or was not written by this program and version.
    """

    def __init__(self, location: str | Path, *, create: bool) -> None:
        self.name = shown_location(location)
        self._location = location
        with self.errors():
            url = engine_url(location)
            if url.get_backend_name() == "sqlite":
                self.name = url.database or self.name
                if url.database and not url.database.startswith((":", "file:")):
                    _check_sqlite_file(Path(url.database), create)
            self._engine = _make_engine(url, self.name)
            # _begin reads this option. A write transaction takes the write lock at its start: SQLite refuses at once,
            # without waiting, to turn an outdated reader into a writer; in Postgres two writers could wait for each
            # other, and a reader step over pages that are written but not visible yet.
            self._writing_engine = self._engine.execution_options(dedup_crawler_writes=True)
            try:
                self._prepare(create)
            except BaseException:
                self._engine.dispose()
                raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read transaction: one consistent view of the database, in Postgres for each query."""
        with self.errors(), self._engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a write transaction: all or nothing, and one at a time."""
        with self.errors(), self._writing_engine.begin() as connection:
            yield connection

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of the database into one line with its name, the reason and the way out."""
        try:
            yield
        except SQLAlchemyError as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            reason = without_secrets(" ".join(str(cause).split()), self._location) or type(error).__name__
            kind = ForeignDatabaseError if "not a database" in reason else StoreError
            way_out = next((f": {text}" for word, text in _WAYS_OUT.items() if word in reason.lower()), "")
            raise kind(f"{self.name}: {reason}{way_out}") from error

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def _prepare(self, create: bool) -> None:
        with self.reading() as connection:
            is_empty = _is_empty(connection)
        if is_empty and not create:
            raise _missing(self.name)
        if is_empty:
            with self.writing() as connection:
                if _is_empty(connection):  # no other process was faster
                    Tables.metadata.create_all(connection)
                    facts = {"application": APPLICATION, "schema_version": str(SCHEMA_VERSION)}
                    connection.execute(insert(MetaRow), [{"key": key, "value": value} for key, value in facts.items()])
        with self.reading() as connection:
            _check_writer(connection, self.name)
            is_complete = {*Tables.metadata.tables} <= {*inspect(connection).get_table_names()}
        if not is_complete:  # an earlier version created the database without the last tables
            with self.writing() as connection:
                Tables.metadata.create_all(connection)
        if self._engine.dialect.name == "sqlite":
            raw = self._engine.raw_connection()
            try:
                raw.cursor().execute("PRAGMA journal_mode = WAL").close()
            except sqlite3.Error as error:
                if "locked" in str(error):  # SQLite does not wait here: another process opens the file, and sets it
                    return
                raise StoreError(f"{self.name}: {error}: make the file and its folder writable") from error
            finally:
                raw.close()


def engine_url(location: str | Path) -> URL:
    """SQLAlchemy URL of a path (SQLite) or an address; StoreError if it is neither."""
    if isinstance(location, str) and "://" in location:
        url = _read_url(location)
        if url is None:
            raise StoreError(
                f"{shown_location(location)} is not the address of a database: write one like "
                "postgresql://USER:PASSWORD@HOST:5432/NAME, with special characters of the password as %XX"
            )
        return url
    if str(location) in ("", ":memory:"):
        raise StoreError(f"a database named {str(location)!r} is lost at the end: give a file, such as crawl.db")
    return URL.create("sqlite", database=str(location))


def shown_location(location: str | Path) -> str:
    """Address of a database, safe to show: without the password, and without the values of the query.

    >>> shown_location("mysql://me:secret@host/crawl?ssl_key=k")
    'mysql://me:***@host/crawl?ssl_key=...'
    """
    if not isinstance(location, str) or "://" not in location:
        return str(location)
    url = _read_url(location)
    if url is None or "@" in f"{url.host}{url.database}":
        return f"{location.partition('://')[0]}://..."  # any part may be the password
    return url.set(query=dict.fromkeys(url.query, "...")).render_as_string(hide_password=True)


def without_secrets(text: str, location: str | Path) -> str:
    """Remove the secrets of *location* from *text*, such as a driver's message."""
    if not isinstance(location, str) or "://" not in location:
        return text
    text = text.replace(location, shown_location(location))
    url = _read_url(location)
    if url is None:
        return text
    # if a password contains an @ that is not written as %40, its end is read as part of the host
    secrets = {str(url.password or ""), *(part for part in (url.host, url.database) if part and "@" in part)}
    for value in url.query.values():
        secrets.update([value] if isinstance(value, str) else value)
    # plain, URL-encoded, and as Python shows them
    written = secrets | set(map(quote_plus, secrets)) | {repr(secret)[1:-1] for secret in secrets}
    for secret in sorted(written - {""}, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _read_url(location: str) -> URL | None:
    try:
        return make_url(location)
    except (SQLAlchemyError, ValueError):
        return None


def _make_engine(url: URL, name: str) -> Engine:
    is_sqlite = url.get_backend_name() == "sqlite"
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")  # SQLAlchemy 2.0 would take an older driver
    arguments = {"timeout": _BUSY_TIMEOUT_S} if is_sqlite else {}
    try:
        engine = create_engine(url, connect_args=arguments, pool_pre_ping=not is_sqlite)  # a server may be restarted
    except ImportError as error:
        way_out = "pip install 'dedup-crawler[postgres]'" if "psycopg" in url.drivername else "install its driver"
        raise StoreError(f"{name}: {error}: {way_out}") from error
    if is_sqlite:
        event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    connection.isolation_level = None  # the driver itself would begin too late, and commit between CREATE TABLEs
    connection.execute("PRAGMA synchronous = NORMAL").close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("dedup_crawler_writes", False)
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
    elif connection.dialect.name == "postgresql" and writes:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(_BUSY_TIMEOUT_S * 1000)}")
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITE_LOCK})")


def _check_sqlite_file(path: Path, create: bool) -> None:
    # do not open the file: by POSIX, closing it would release all locks that this process holds on it through SQLite,
    # and another process could then remove the journal of a running crawl
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a database: give a file in it, such as {path / 'crawl.db'}")
    if not path.exists():
        if not create:
            raise _missing(str(path))
        if not path.parent.is_dir():
            raise StoreError(f"{path} cannot be created: there is no folder {path.parent}; create it first")


def _is_empty(connection: Connection) -> bool:
    return not inspect(connection).get_table_names()


def _missing(name: str) -> StoreError:
    return StoreError(
        f"there is no crawl database {name}: make one with `dedup-crawler import FILE --db {name}` or `scrapy crawl "
        "content -a url=URL`"
    )


def _check_writer(connection: Connection, name: str) -> None:
    facts: dict[str, str] = {}
    inspector = inspect(connection)
    if "meta" in inspector.get_table_names():
        columns = {column["name"] for column in inspector.get_columns("meta")}
        if columns >= {"key", "value"}:
            facts = {str(row.key): str(row.value) for row in connection.execute(select(MetaRow.key, MetaRow.value))}
    if facts.get("application") != APPLICATION:
        raise ForeignDatabaseError(f"{name} was written by another program and was not changed: give another file")
    version = facts.get("schema_version")
    if version == str(SCHEMA_VERSION):
        return
    is_newer = version is not None and version.isdecimal() and int(version) > SCHEMA_VERSION
    way_out = "upgrade dedup-crawler" if is_newer else "crawl or import again into a new file"
    raise SchemaVersionError(f"{name} has schema version {version}, this program reads {SCHEMA_VERSION}: {way_out}")
