"""The requests that own the forms seen last, in the file of a durable seen set: to fetch their pages once more."""

from __future__ import annotations

from sqlalchemy import Column, Integer, Table, Text, bindparam, delete, select

from dedup_crawler.live.seen.sqlite_connection import METADATA, Digest, SeenConnection, between, insertion
from dedup_crawler.live.seen.table import MAX_VALUE, DigestTable

N_OWNERS = 20_000
_N_FORGOTTEN = 1_000  # at once

_OWNERS = Table(
    "owners",
    METADATA,
    Column("place", Integer, primary_key=True, info=between(1, MAX_VALUE)),
    Column("digest", Digest, nullable=False),
    Column("request", Text, nullable=False),
)
_REQUEST_AT = select(_OWNERS.c.request).where(_OWNERS.c.place == bindparam("place"))
_UP_TO = _OWNERS.c.place <= bindparam("last")
_INSERT = insertion(_OWNERS, "REPLACE")


class OwnersTable:
    """Form -> request that owns it, of the :data:`N_OWNERS` that were added last; where each is, is known in memory."""

    def __init__(self, connection: SeenConnection) -> None:
        self._connection = connection
        self._places = DigestTable()
        self._first_place, self._last_place = 1, 0
        for row in connection.rows(select(_OWNERS.c.place, _OWNERS.c.digest).order_by(_OWNERS.c.place)):
            if self._last_place == 0:
                self._first_place = row.place
            self._places.put(row.digest, row.place)
            self._last_place = row.place
        self._added: dict[bytes, str] = {}
        self._forgotten: list[tuple[bytes, int]] = []

    @property
    def has_news(self) -> bool:
        """Whether something is not written yet."""
        return bool(self._added)

    def add(self, digest: bytes, request: str) -> None:
        """Keep the request that owns a form."""
        self._added[digest] = request
        if len(self._added) > N_OWNERS:  # the disk is full
            del self._added[next(iter(self._added))]

    def get(self, digest: bytes) -> str | None:
        """The request that owned a form when it was last added, if it is kept."""
        if (request := self._added.get(digest)) is not None:
            return request
        if (place := self._places.get(digest)) is None:
            return None
        with self._connection.errors():
            found: str | None = self._connection.value(_REQUEST_AT, place=place)
        return found

    def write(self) -> None:
        """Write what was added, in a transaction, and delete the oldest."""
        last = self._last_place + len(self._added) - N_OWNERS
        self._forgotten = []
        if last - self._first_place >= _N_FORGOTTEN:
            oldest = select(_OWNERS.c.digest, _OWNERS.c.place).where(_UP_TO)
            self._forgotten = [(row.digest, row.place) for row in self._connection.rows(oldest.params(last=last))]
            self._connection.run(delete(_OWNERS).where(_UP_TO), last=last)
        places = enumerate(self._added.items(), self._last_place + 1)
        self._connection.many(_INSERT, [(place, *pair) for place, pair in places])

    def written(self) -> None:
        """Hear that the transaction was committed."""
        for digest, place in self._forgotten:
            self._first_place = max(self._first_place, place + 1)
            if self._places.get(digest) == place:
                self._places.discard(digest)
        self._forgotten = []
        for digest in self._added:
            self._last_place += 1
            self._places.put(digest, self._last_place)
        self._added.clear()

    def empty(self) -> None:
        """Forget all, in a transaction."""
        self._connection.empty(_OWNERS)

    def emptied(self) -> None:
        """Hear that the transaction was committed."""
        self._places = DigestTable()
        self._first_place = self._last_place + 1
        self._added.clear()
