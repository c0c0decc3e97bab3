"""The SQLite file of a durable seen set: its tables, its one reader and writer, and the check that it is ours.

One process has the file at a time. Nothing is written before the checks have passed, so the file of another program
stays as it was. SQL is SQLAlchemy's, with parameters.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    URL,
    BigInteger,
    Column,
    Connection,
    Dialect,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    bindparam,
    create_engine,
    delete,
    func,
    insert,
    inspect,
    literal,
    null,
    select,
    union_all,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from dedup_crawler.errors import SeenError
from dedup_crawler.live.seen.bloom_filter import BloomFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_APPLICATION = "dedup-crawler seen"
_VERSION = 1
_LOCK_TIMEOUT_S = 2
_CACHE_KB = 65_536  # digests come in no order: of a million forms every page of the index is wanted again and again
_MAX_PARAMETERS = 500
_N_ROWS = 10_000
_WAYS_OUT = {
    "locked": "another crawl uses it; wait for it to end, or give each crawl a file of its own",
    "full": "free some space",
    "disk i/o error": "check the disk and its quota",
    "readonly": "make the file and its folder writable, or use another one",
    "unable to open": "make the file and its folder readable and writable, or use another one",
    "not a database": "give another file",
    "malformed": "the file is damaged; delete it, and the crawl starts with nothing seen",
}


class _Digest(LargeBinary):
    """Bytes as the driver takes and gives them; SQLAlchemy would wrap each of millions in an object of its own."""

    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> None:
        """Nothing is to be done."""

    def result_processor(self, dialect: Dialect, coltype: object) -> None:
        """Nothing is to be done."""


_METADATA = MetaData()
_SEEN = Table(
    "seen",
    _METADATA,
    Column("digest", _Digest, primary_key=True),
    Column("value", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
_AWAITED = Table(
    "awaited",
    _METADATA,
    Column("digest", _Digest, primary_key=True),
    Column("value", BigInteger, nullable=False),
    Column("request", Text),
    Column("substitute", Text),
)  # with row numbers: the texts are appended, and only a small index is in the order of the digests
_FACTS = Table(
    "facts",
    _METADATA,
    Column("key", Text, primary_key=True),
    Column("text", Text, nullable=False),
    sqlite_with_rowid=False,
)

_LOOK_UP = union_all(
    select(_SEEN.c.digest, _SEEN.c.value, literal(0, Integer), null(), null()).where(
        _SEEN.c.digest.in_(bindparam("digests", expanding=True))
    ),
    select(_AWAITED.c.digest, _AWAITED.c.value, literal(1, Integer), _AWAITED.c.request, _AWAITED.c.substitute).where(
        _AWAITED.c.digest.in_(bindparam("digests", expanding=True))
    ),
)
# as the driver wants them: an object of SQLAlchemy's for each of many rows takes longer than to write it
_REPLACE_SEEN, _REPLACE_AWAITED, _REPLACE_FACT = (
    str(insert(table).prefix_with("OR REPLACE").compile(dialect=sqlite.dialect()))
    for table in (_SEEN, _AWAITED, _FACTS)
)
_DELETE_SEEN, _DELETE_AWAITED = (
    str(delete(table).where(table.c.digest == bindparam("gone")).compile(dialect=sqlite.dialect()))
    for table in (_SEEN, _AWAITED)
)
_PAGE_OF_AWAITED = (
    select(_AWAITED).where(_AWAITED.c.digest > bindparam("after")).order_by(_AWAITED.c.digest).limit(_MAX_PARAMETERS)
)


class Entry(NamedTuple):
    """What the set knows of a form."""

    value: int
    """Run, rules and owner, packed."""
    is_awaited: bool = False
    request: str | None = None
    substitute: str | None = None


class SeenFile:
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
        self._written = BloomFilter()
        with self._errors():
            self._connection: Connection = engine.connect()
            try:
                self._prepare()
                for table in (_SEEN, _AWAITED):
                    self._written.add(
                        self._connection.execute(select(table.c.digest).execution_options(yield_per=_N_ROWS)).scalars()
                    )
            except BaseException:
                self._connection.close()
                engine.dispose()
                raise
        self._engine = engine

    def look_up(self, digests: Sequence[bytes]) -> dict[bytes, Entry]:
        """The entries of those *digests* that have one."""
        entries: dict[bytes, Entry] = {}
        digests = self._written.among(digests)
        with self._errors():
            for start in range(0, len(digests), _MAX_PARAMETERS):
                found = self._connection.execute(_LOOK_UP, {"digests": digests[start : start + _MAX_PARAMETERS]})
                for digest, value, is_awaited, request, substitute in found:
                    entries[digest] = Entry(value, bool(is_awaited), request, substitute)
        return entries

    def awaited(self) -> Iterator[tuple[bytes, Entry]]:
        """All awaited forms; entries may be written meanwhile."""
        after = b""
        while True:
            with self._errors():
                rows = self._connection.execute(_PAGE_OF_AWAITED, {"after": after}).all()
            for row in rows:
                yield row.digest, Entry(row.value, True, row.request, row.substitute)
            if not rows:
                return
            after = rows[-1].digest

    def n_seen(self) -> int:
        """How many forms are seen; reads the whole table."""
        with self._errors():
            return self._connection.execute(select(func.count()).select_from(_SEEN)).scalar_one()

    def facts(self) -> dict[str, str]:
        """The small facts."""
        with self._errors():
            return {row.key: row.text for row in self._connection.execute(select(_FACTS))}

    def write(self, entries: Mapping[bytes, Entry | None], unseen: Iterable[bytes], facts: Mapping[str, str]) -> None:
        """Write everything or nothing.

        Parameters
        ----------
        entries
            What the set knows of each changed form; None: the form is free.
        unseen
            Forms that were seen and are awaited again.
        facts
            Changed facts.
        """
        awaited = [
            (digest, entry.value, entry.request, entry.substitute)
            for digest, entry in entries.items()
            if entry is not None and entry.is_awaited
        ]
        seen = [
            (digest, entry.value) for digest, entry in entries.items() if entry is not None and not entry.is_awaited
        ]
        answered = [(digest,) for digest, entry in entries.items() if entry is None or not entry.is_awaited]
        forgotten = [(digest,) for digest, entry in entries.items() if entry is None]
        forgotten += [(digest,) for digest in unseen]
        with self._transaction():
            self._many(_REPLACE_AWAITED, awaited)
            self._many(_REPLACE_SEEN, seen)
            self._many(_DELETE_AWAITED, answered)
            self._many(_DELETE_SEEN, forgotten)
            self._many(_REPLACE_FACT, [*facts.items()])
        self._written.add(entries)

    def clear(self) -> None:
        """Forget all forms."""
        with self._transaction():
            self._connection.execute(delete(_SEEN))
            self._connection.execute(delete(_AWAITED))
        self._written = BloomFilter()

    def close(self) -> None:
        """Let go of the file."""
        with self._errors():
            self._connection.close()
            self._engine.dispose()

    def _many(self, statement: str, rows: list[tuple[Any, ...]]) -> None:
        if rows:
            self._connection.exec_driver_sql(statement, rows)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._errors():
            self._connection.exec_driver_sql("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.exec_driver_sql("COMMIT")
            except BaseException:
                with contextlib.suppress(SQLAlchemyError):  # SQLite may have rolled back by itself
                    self._connection.exec_driver_sql("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            reason = " ".join(str(cause).split()) or type(error).__name__
            way_out = next((text for word, text in _WAYS_OUT.items() if word in reason.lower()), "")
            raise SeenError(f"{self.path}: {reason}" + (f": {way_out}" if way_out else "")) from error

    def _prepare(self) -> None:
        self._connection.exec_driver_sql("PRAGMA locking_mode = EXCLUSIVE")
        tables = set(inspect(self._connection).get_table_names())
        if tables:
            self._check_writer(tables)
        self._connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        self._connection.exec_driver_sql("PRAGMA synchronous = NORMAL")
        self._connection.exec_driver_sql(f"PRAGMA cache_size = -{_CACHE_KB}")
        with self._transaction():
            if not tables:
                _METADATA.create_all(self._connection)
                self._many(_REPLACE_FACT, [("application", _APPLICATION), ("version", str(_VERSION))])

    def _check_writer(self, tables: set[str]) -> None:
        facts = self.facts() if "facts" in tables and _has_facts(self._connection) else {}
        if facts.get("application") != _APPLICATION:
            raise SeenError(f"{self.path} was written by another program and was left untouched: give another file")
        version = facts.get("version", "")
        if version != str(_VERSION):
            is_newer = version.isdecimal() and int(version) > _VERSION
            way_out = "upgrade dedup-crawler" if is_newer else "delete it, and the crawl starts with nothing seen"
            raise SeenError(f"{self.path} has version {version or '?'}, this program reads {_VERSION}: {way_out}")
        damage = self._connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if damage != "ok":
            raise SeenError(f"{self.path}: {' '.join(str(damage).split())}: {_WAYS_OUT['malformed']}")


def _has_facts(connection: Connection) -> bool:
    return {"key", "text"} <= {column["name"] for column in inspect(connection).get_columns("facts")}


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise SeenError(f"{path} is a folder: give a file in it, such as {path / 'dedup.seen'}")
    if not path.parent.is_dir():
        raise SeenError(f"{path} cannot be made: there is no folder {path.parent}; create it first")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.R_OK | os.W_OK)):
        raise SeenError(f"{path} cannot be written: make the file and its folder writable, or use another one")
