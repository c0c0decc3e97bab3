"""The one connection to the SQLite file of a durable seen set, and the checks that the file is ours and whole.

One process has the file at a time. Nothing is written before the checks have passed, so the file of another program
stays as it was. SQL is SQLAlchemy's, with parameters.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Column,
    ColumnElement,
    Connection,
    Delete,
    Dialect,
    LargeBinary,
    MetaData,
    Result,
    Row,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    create_engine,
    delete,
    func,
    insert,
    inspect,
    literal,
    not_,
    or_,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from dedup_crawler.errors import SeenError
from dedup_crawler.live.seen.protocol import DIGEST_SIZE

_APPLICATION = "dedup-crawler seen"
_VERSION = 3
_LOCK_TIMEOUT_S = 2
_CACHE_KB = 65_536  # digests come in no order: of a million forms every page of the index is wanted again and again
_MAX_REASON = 300
MAX_PARAMETERS = 500
_N_ROWS = 10_000
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


class Digest(LargeBinary):
    """Bytes as the driver takes and gives them; SQLAlchemy would wrap each of millions in an object of its own."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> None:
        """Nothing is to be done."""

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        """Nothing is to be done."""


def between(lowest: int, highest: int) -> dict[str, tuple[int, int]]:
    """What a column of integers is told (``info``) of the values that it may have; each of ours is."""
    return {"between": (lowest, highest)}


METADATA = MetaData()
"""All tables of the file. Every column of integers says what is :func:`between` its bounds."""

_FACTS = Table(
    "facts",
    METADATA,
    Column("key", Text, primary_key=True),
    Column("text", Text, nullable=False),
    sqlite_with_rowid=False,
)


def insertion(table: Table, word: str) -> str:
    """``INSERT OR`` *word* ``INTO`` *table*, all its columns.

    As the driver wants it: an object of SQLAlchemy's for each of many rows takes longer than to write it.
    """
    return str(insert(table).prefix_with(f"OR {word}").compile(dialect=sqlite.dialect()))


def deletion(*columns: Column[Any]) -> str:
    """``DELETE`` the rows in which *columns* of one table have certain values."""
    conditions = [column == bindparam(f"gone_{column.name}") for column in columns]
    return str(delete(columns[0].table).where(*conditions).compile(dialect=sqlite.dialect()))


_REPLACE_FACT = insertion(_FACTS, "REPLACE")


class SeenConnection:
    """One open file; every failure is a :class:`SeenError` that names it and the way out.

    Parameters
    ----------
    path
        The file; it is made where there is none.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        _check_place(path)
        engine = create_engine(
            URL.create("sqlite", database=str(path)),
            connect_args={"timeout": _LOCK_TIMEOUT_S},
            isolation_level="AUTOCOMMIT",  # transactions are begun by name, where several statements belong together
        )
        with self.errors():
            self._connection: Connection = engine.connect()
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                engine.dispose()
                raise
        self._engine = engine

    def facts(self) -> dict[str, str]:
        """The small facts."""
        with self.errors():
            return {row.key: row.text for row in self._connection.execute(select(_FACTS))}

    def write_facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Write facts, in a transaction."""
        self.many(_REPLACE_FACT, facts)

    def rows(self, query: Select[Any]) -> Result[Any]:
        """All rows, of which there may be millions."""
        return self._connection.execute(query.execution_options(yield_per=_N_ROWS))

    def rows_with(self, query: Select[Any], keys: Sequence[Any]) -> Iterator[Row[Any]]:
        """The rows that have one of *keys*, the parameter of *query*."""
        for start in range(0, len(keys), MAX_PARAMETERS):
            yield from self._connection.execute(query, {"keys": keys[start : start + MAX_PARAMETERS]})

    def pages(self, query: Select[Any], **parameters: bytes) -> Iterator[Row[Any]]:
        """The rows of a *query* for a page of rows behind the place *after*; they may be changed meanwhile."""
        after = 0
        while True:
            with self.errors():
                rows = self._connection.execute(query, {"after": after, **parameters}).all()
            yield from rows
            if not rows:
                return
            after = rows[-1].place

    def value(self, query: Select[Any], **parameters: int) -> Any:
        """The first value of the first row, if there is one."""
        return self._connection.execute(query, parameters).scalar()

    def run(self, statement: Delete, **parameters: int | list[int]) -> None:
        """Delete rows, in a transaction."""
        self._connection.execute(statement, parameters)

    def many(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run *statement* for each of *rows*, in a transaction."""
        if rows:
            self._connection.exec_driver_sql(statement, list(rows))

    def empty(self, *tables: Table) -> None:
        """Delete all rows of *tables*, in a transaction."""
        for table in tables:
            self._connection.execute(delete(table))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything or nothing."""
        with self.errors():
            self._connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.exec_driver_sql("COMMIT")
            except BaseException:
                with contextlib.suppress(SQLAlchemyError):  # SQLite may have rolled back by itself
                    self._connection.exec_driver_sql("ROLLBACK")
                raise

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Make a failure of the database one line."""
        try:
            yield
        except SQLAlchemyError as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            reason = " ".join(str(cause).split())[:_MAX_REASON] or type(error).__name__
            way_out = next((text for word, text in _WAYS_OUT.items() if word in reason.lower()), "")
            raise SeenError(f"{self.path}: {reason}" + (f": {way_out}" if way_out else "")) from error

    def close(self) -> None:
        """Let go of the file."""
        with self.errors():
            self._connection.close()
            self._engine.dispose()

    def _prepare(self) -> None:
        self._connection.exec_driver_sql("PRAGMA locking_mode = EXCLUSIVE")
        tables = set(inspect(self._connection).get_table_names())
        if tables:
            self._check_writer(tables)
            self._check_rows()
        self._connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        self._connection.exec_driver_sql("PRAGMA synchronous = NORMAL")
        self._connection.exec_driver_sql(f"PRAGMA cache_size = -{_CACHE_KB}")
        with self.transaction():
            if not tables:
                METADATA.create_all(self._connection)
                self.write_facts([("application", _APPLICATION), ("version", str(_VERSION))])

    def _check_writer(self, tables: set[str]) -> None:
        facts = self.facts() if "facts" in tables and _has_facts(self._connection) else {}
        if facts.get("application") != _APPLICATION:
            raise SeenError(f"{self.path} was written by another program and was left untouched: give another file")
        version = str(facts.get("version", ""))
        if version != str(_VERSION):
            is_newer = version.isdecimal() and version.isascii() and len(version) < 10 and int(version) > _VERSION
            way_out = "upgrade dedup-crawler" if is_newer else "delete it, and the crawl starts with nothing seen"
            raise SeenError(f"{self.path} has version {version[:20] or '?'}, this program reads {_VERSION}: {way_out}")
        damage = self._connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if damage != "ok":
            raise SeenError(f"{self.path}: {' '.join(str(damage).split())}: {_DAMAGED}")

    def _check_rows(self) -> None:
        """Refuse what no crawl has written: SQLite takes any type of value in any column."""
        for table in METADATA.sorted_tables:
            is_damaged = select(literal(1)).select_from(table).where(or_(*map(_is_damaged, table.columns))).limit(1)
            if self._connection.execute(is_damaged).first() is not None:
                raise SeenError(f"{self.path}: a row of its table {table.name!r} is none: {_DAMAGED}")


def _is_damaged(column: Column[Any]) -> ColumnElement[bool]:
    """The condition that a value is of another type than its column, or out of bounds."""
    type_of = func.typeof(column)
    if isinstance(column.type, Digest):
        return or_(type_of != "blob", func.length(column) != DIGEST_SIZE)
    if isinstance(column.type, Text):
        return and_(type_of != "text", type_of != ("null" if column.nullable else "text"))
    return or_(type_of != "integer", not_(column.between(*column.info["between"])))


def _has_facts(connection: Connection) -> bool:
    return {"key", "text"} <= {column["name"] for column in inspect(connection).get_columns("facts")}


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise SeenError(f"{path} is a folder: give a file in it, such as {path / 'dedup.seen'}")
    if not path.parent.is_dir():
        raise SeenError(f"{path} cannot be made: there is no folder {path.parent}; create it first")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.R_OK | os.W_OK)):
        raise SeenError(f"{path} cannot be written: make the file and its folder writable, or use another one")
