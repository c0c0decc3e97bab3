"""The SQLite file of a durable seen set: the tables of its forms, and what else is written together with them.

Awaited forms are appended, and where each is kept is known in memory alone: digests come in no order, so an index of
them in the file would write another page for nearly each of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import BigInteger, Column, Integer, Table, Text, bindparam, func, select

from dedup_crawler.live.seen.bloom_filter import BloomFilter
from dedup_crawler.live.seen.dropped_table import DroppedTable
from dedup_crawler.live.seen.owners_table import OwnersTable
from dedup_crawler.live.seen.sqlite_connection import (
    MAX_PARAMETERS,
    METADATA,
    Digest,
    SeenConnection,
    between,
    deletion,
    insertion,
)
from dedup_crawler.live.seen.substitutes_table import SubstitutesTable
from dedup_crawler.live.seen.table import MAX_VALUE, DigestTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

_SEEN = Table(
    "seen",
    METADATA,
    Column("digest", Digest, primary_key=True),
    Column("value", BigInteger, nullable=False, info=between(0, MAX_VALUE)),
    sqlite_with_rowid=False,
)
_AWAITED = Table(
    "awaited",
    METADATA,
    Column("place", Integer, primary_key=True, info=between(1, MAX_VALUE)),
    Column("digest", Digest, nullable=False),
    Column("value", BigInteger, nullable=False, info=between(0, MAX_VALUE)),
    Column("tag", BigInteger, nullable=False, info=between(0, 0xFFFF_FFFF)),
    Column("request", Text),
)

_SEEN_OF = select(_SEEN).where(_SEEN.c.digest.in_(bindparam("keys", expanding=True)))
_AWAITED_OF = select(_AWAITED).where(_AWAITED.c.place.in_(bindparam("keys", expanding=True)))
_PAGE_OF_AWAITED = (
    select(_AWAITED).where(_AWAITED.c.place > bindparam("after")).order_by(_AWAITED.c.place).limit(MAX_PARAMETERS)
)
_REPLACE_SEEN, _REPLACE_AWAITED = insertion(_SEEN, "REPLACE"), insertion(_AWAITED, "REPLACE")
_DELETE_SEEN, _DELETE_AWAITED = deletion(_SEEN.c.digest), deletion(_AWAITED.c.place)


class Entry(NamedTuple):
    """What the set knows of a form."""

    value: int
    """Run, rules and owner, packed."""
    is_awaited: bool = False
    tag: int = 0
    """Of the owner's URL, all of it, as long as it is awaited."""
    request: str | None = None


class SeenFile:
    """One open file; every failure is a :class:`SeenError` that names it and the way out.

    Parameters
    ----------
    path
        The file; it is made where there is none.
    """

    def __init__(self, path: Path) -> None:
        self._connection = connection = SeenConnection(path)
        self._written = BloomFilter()
        self._places = DigestTable()  # of the awaited forms
        self._last_place = 0
        try:
            with connection.errors():
                self._written.add(connection.rows(select(_SEEN.c.digest)).scalars())
                for row in connection.rows(select(_AWAITED.c.place, _AWAITED.c.digest)):
                    self._written.add([row.digest])
                    self._places.put(row.digest, row.place)
                    self._last_place = max(self._last_place, row.place)
                self.substitutes = SubstitutesTable(connection)
                self.owners = OwnersTable(connection)
                self.dropped = DroppedTable(connection)
        except BaseException:
            connection.close()
            raise
        self.facts = connection.facts

    @property
    def has_news(self) -> bool:
        """Whether substitutes, owners or drops are not written yet."""
        return self.substitutes.has_news or self.owners.has_news or self.dropped.has_news

    def is_awaited(self, digest: bytes) -> bool:
        """Whether a form is awaited, as far as the file knows."""
        return self._places.get(digest) is not None

    def look_up(self, digests: Sequence[bytes]) -> dict[bytes, Entry]:
        """The entries of those *digests* that have one."""
        entries: dict[bytes, Entry] = {}
        written = self._written.among(digests)
        places = self._places_of(written)
        with self._connection.errors():
            for row in self._connection.rows_with(_AWAITED_OF, [*places.values()]):
                entries[row.digest] = Entry(row.value, True, row.tag, row.request)
            for row in self._connection.rows_with(_SEEN_OF, [digest for digest in written if digest not in places]):
                entries[row.digest] = Entry(row.value)
        return entries

    def awaited(self) -> Iterator[tuple[bytes, Entry]]:
        """All awaited forms, the first first; entries may be written meanwhile."""
        for row in self._connection.pages(_PAGE_OF_AWAITED):
            yield row.digest, Entry(row.value, True, row.tag, row.request)

    def n_seen(self) -> int:
        """How many forms are seen; reads the whole table."""
        with self._connection.errors():
            n_seen: int = self._connection.value(select(func.count()).select_from(_SEEN))
        return n_seen

    def write(self, entries: Mapping[bytes, Entry | None], unseen: Iterable[bytes], facts: Mapping[str, str]) -> None:
        """Write everything or nothing, with the substitutes, owners and drops that are not written yet.

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
                awaited.append((place, digest, entry.value, entry.tag, entry.request))
                continue
            if place is not None:
                answered.append((place,))
            if entry is None:
                forgotten.append((digest,))
            else:
                seen.append((digest, entry.value))
        connection = self._connection
        tables = (self.substitutes, self.owners, self.dropped)
        with connection.transaction():
            connection.many(_REPLACE_AWAITED, awaited)
            connection.many(_REPLACE_SEEN, seen)
            connection.many(_DELETE_AWAITED, answered)
            connection.many(_DELETE_SEEN, forgotten)
            connection.write_facts([*facts.items()])
            for table in tables:
                table.write()
        for table in tables:
            table.written()
        self._written.add(entries)
        self._last_place += len(places)
        for digest, place in places.items():
            self._places.put(digest, place)
        for digest in known:
            if (entry := entries[digest]) is None or not entry.is_awaited:
                self._places.discard(digest)

    def clear(self) -> None:
        """Forget all forms, with their substitutes and owners."""
        with self._connection.transaction():
            self._connection.empty(_SEEN, _AWAITED)
            self.substitutes.empty()
            self.owners.empty()
        self.substitutes.emptied()
        self.owners.emptied()
        self._written = BloomFilter()
        self._places = DigestTable()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _places_of(self, digests: Iterable[bytes]) -> dict[bytes, int]:
        """Where those of *digests* are kept that are awaited."""
        return {digest: place for digest in digests if (place := self._places.get(digest)) is not None}
