"""The requests that own the forms seen last, in the file of a durable seen set: to fetch their pages once more."""

from __future__ import annotations

from collections import deque

from sqlalchemy import Column, Integer, Table, Text, bindparam, delete, select

from dedup_crawler.live.seen.sqlite_connection import METADATA, Digest, SeenConnection, between, insertion
from dedup_crawler.live.seen.table import MAX_VALUE

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
_INSERT = insertion(_OWNERS, "REPLACE")


class OwnersTable:
    """Form -> request that owns it, of the :data:`N_OWNERS` that were added last; where each is, is known in memory."""

    def __init__(self, connection: SeenConnection) -> None:
        self._connection = connection
        self._places: dict[bytes, int] = {}
        self._order: deque[tuple[int, bytes]] = deque()
        self._last_place = 0
        self._added: dict[bytes, str] = {}
        for row in connection.rows(select(_OWNERS.c.place, _OWNERS.c.digest).order_by(_OWNERS.c.place)):
            self._put(row.place, row.digest)

    @property
    def has_news(self) -> bool:
        """Tell whether something is not written yet."""
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
        """Write what was added, in a transaction, and now and then delete the oldest."""
        if len(self._order) >= N_OWNERS + _N_FORGOTTEN:
            self._connection.run(delete(_OWNERS).where(_OWNERS.c.place <= self._order[-N_OWNERS - 1][0]))
        places = enumerate(self._added.items(), self._last_place + 1)
        self._connection.many(_INSERT, [(place, *pair) for place, pair in places])

    def written(self) -> None:
        """Hear that the transaction was committed."""
        if len(self._order) >= N_OWNERS + _N_FORGOTTEN:
            while len(self._order) > N_OWNERS:
                place, digest = self._order.popleft()
                if self._places[digest] == place:
                    del self._places[digest]
        for digest in self._added:
            self._put(self._last_place + 1, digest)
        self._added.clear()

    def empty(self) -> None:
        """Forget all, in a transaction."""
        self._connection.empty(_OWNERS)

    def emptied(self) -> None:
        """Hear that the transaction was committed."""
        self._places.clear()
        self._order.clear()
        self._added.clear()

    def _put(self, place: int, digest: bytes) -> None:
        self._places[digest] = self._last_place = place
        self._order.append((place, digest))
