"""The SQLite file of a durable seen set: its tables, its one reader and writer, and the check that it is ours.

One process has the file at a time. Nothing is written before the checks have passed, so the file of another program
stays as it was. SQL is SQLAlchemy's, with parameters.

Awaited forms are appended, and where each is kept is known in memory alone: digests come in no order, so an index of
them in the file would write another page for nearly each of them.
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
    Result,
    Row,
    Select,
    Table,
    Text,
    bindparam,
    create_engine,
    delete,
    func,
    insert,
    inspect,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from dedup_crawler.errors import SeenError
from dedup_crawler.live.seen.bloom_filter import BloomFilter
from dedup_crawler.live.seen.protocol import DIGEST_SIZE
from dedup_crawler.live.seen.table import MAX_VALUE, DigestTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_APPLICATION = "dedup-crawler seen"
_VERSION = 2
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
    Column("place", Integer, primary_key=True),
    Column("digest", _Digest, nullable=False),
    Column("value", BigInteger, nullable=False),
    Column("request", Text),
    Column("substitute", Text),
)
_FACTS = Table(
    "facts",
    _METADATA,
    Column("key", Text, primary_key=True),
    Column("text", Text, nullable=False),
    sqlite_with_rowid=False,
)

_SEEN_OF = select(_SEEN).where(_SEEN.c.digest.in_(bindparam("keys", expanding=True)))
_AWAITED_OF = select(_AWAITED).where(_AWAITED.c.place.in_(bindparam("keys", expanding=True)))
# as the driver wants them: an object of SQLAlchemy's for each of many rows takes longer than to write it
_REPLACE_SEEN, _REPLACE_AWAITED, _REPLACE_FACT = (
    str(insert(table).prefix_with("OR REPLACE").compile(dialect=sqlite.dialect()))
    for table in (_SEEN, _AWAITED, _FACTS)
)
_DELETE_SEEN, _DELETE_AWAITED = (
    str(delete(column.table).where(column == bindparam("gone")).compile(dialect=sqlite.dialect()))
    for column in (_SEEN.c.digest, _AWAITED.c.place)
)
_PAGE_OF_AWAITED = (
    select(_AWAITED).where(_AWAITED.c.place > bindparam("after")).order_by(_AWAITED.c.place).limit(_MAX_PARAMETERS)
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
        self._places = DigestTable()  # of the awaited forms
        self._last_place = 0
        with self._errors():
            self._connection: Connection = engine.connect()
            try:
                self._prepare()
                self._written.add(self._rows(select(_SEEN.c.digest)).scalars())
                for row in self._rows(select(_AWAITED.c.place, _AWAITED.c.digest)):
                    self._learn_place(row.digest, row.place)
            except BaseException:
                self._connection.close()
                engine.dispose()
                raise
        self._engine = engine

    def look_up(self, digests: Sequence[bytes]) -> dict[bytes, Entry]:
        """The entries of those *digests* that have one."""
        entries: dict[bytes, Entry] = {}
        written = self._written.among(digests)
        places = self._places_of(written)
        with self._errors():
            for row in self._with(_AWAITED_OF, [*places.values()]):
                entries[row.digest] = Entry(row.value, True, row.request, row.substitute)
            for row in self._with(_SEEN_OF, [digest for digest in written if digest not in places]):
                entries[row.digest] = Entry(row.value)
        return entries

    def awaited(self) -> Iterator[tuple[bytes, Entry]]:
        """All awaited forms, the first first; entries may be written meanwhile."""
        after = 0
        while True:
            with self._errors():
                rows = self._connection.execute(_PAGE_OF_AWAITED, {"after": after}).all()
            for row in rows:
                yield row.digest, Entry(row.value, True, row.request, row.substitute)
            if not rows:
                return
            after = rows[-1].place

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
        awaited, seen, answered, forgotten = [], [], [], [(digest,) for digest in unseen]
        known = self._places_of(self._written.among(entries))
        places: dict[bytes, int] = {}
        for digest, entry in entries.items():
            place = known.get(digest)
            if entry is not None and entry.is_awaited:
                if place is None:
                    place = places[digest] = self._last_place + len(places) + 1
                awaited.append((place, digest, entry.value, entry.request, entry.substitute))
                continue
            if place is not None:
                answered.append((place,))
            if entry is None:
                forgotten.append((digest,))
            else:
                seen.append((digest, entry.value))
        with self._transaction():
            self._many(_REPLACE_AWAITED, awaited)
            self._many(_REPLACE_SEEN, seen)
            self._many(_DELETE_AWAITED, answered)
            self._many(_DELETE_SEEN, forgotten)
            self._many(_REPLACE_FACT, [*facts.items()])
        self._written.add(entries)
        self._last_place += len(places)
        for digest, place in places.items():
            self._places.put(digest, place)
        for digest in known:
            if (entry := entries[digest]) is None or not entry.is_awaited:
                self._places.discard(digest)

    def clear(self) -> None:
        """Forget all forms."""
        with self._transaction():
            self._connection.execute(delete(_SEEN))
            self._connection.execute(delete(_AWAITED))
        self._written = BloomFilter()
        self._places = DigestTable()

    def close(self) -> None:
        """Let go of the file."""
        with self._errors():
            self._connection.close()
            self._engine.dispose()

    def _rows(self, query: Select[Any]) -> Result[Any]:
        """All rows, of which there may be millions."""
        return self._connection.execute(query.execution_options(yield_per=_N_ROWS))

    def _with(self, query: Select[Any], keys: Sequence[Any]) -> Iterator[Row[Any]]:
        """The rows that have one of *keys*."""
        for start in range(0, len(keys), _MAX_PARAMETERS):
            yield from self._connection.execute(query, {"keys": keys[start : start + _MAX_PARAMETERS]})

    def _places_of(self, digests: Iterable[bytes]) -> dict[bytes, int]:
        """Where those of *digests* are kept that are awaited."""
        return {digest: place for digest in digests if (place := self._places.get(digest)) is not None}

    def _learn_place(self, digest: object, place: int) -> None:
        """Learn where an awaited form is kept."""
        if not isinstance(digest, bytes) or len(digest) != DIGEST_SIZE or not 0 < place <= MAX_VALUE:
            raise SeenError(f"{self.path}: row {place} of its table 'awaited' is none: {_WAYS_OUT['malformed']}")
        self._written.add([digest])
        self._places.put(digest, place)
        self._last_place = max(self._last_place, place)

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
