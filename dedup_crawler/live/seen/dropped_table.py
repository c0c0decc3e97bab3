"""Requests that were dropped by rules which are not verified yet, in the file of a durable seen set."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import Column, Integer, Table, Text, bindparam, delete, select

from dedup_crawler.live.seen.protocol import form_digest
from dedup_crawler.live.seen.sqlite_connection import (
    MAX_PARAMETERS,
    METADATA,
    Digest,
    SeenConnection,
    between,
    insertion,
)
from dedup_crawler.live.seen.table import DigestTable

_RULES_BITS = 16
_MAX_RULES = (1 << _RULES_BITS) - 1
_MAX_PLACE = (1 << 32) - 1  # place and rules fit into a value of the table in memory

_DROPPED = Table(
    "dropped",
    METADATA,
    Column("place", Integer, primary_key=True, info=between(1, _MAX_PLACE)),
    Column("digest", Digest, nullable=False),
    Column("rules", Integer, nullable=False, info=between(0, _MAX_RULES)),
    Column("request", Text, nullable=False),
)
_PAGE = (
    select(_DROPPED.c.place, _DROPPED.c.request)
    .where(_DROPPED.c.place > bindparam("after"))
    .order_by(_DROPPED.c.place)
    .limit(MAX_PARAMETERS)
)
_BY_RULES = _DROPPED.c.rules.in_(bindparam("rules", expanding=True))
_REPLACE = insertion(_DROPPED, "REPLACE")


class DroppedTable:
    """Kept drops, each request once, with the code of the rules that dropped it last.

    Where each is kept, and by which rules, is known in memory alone, so that it is not written again.
    """

    def __init__(self, connection: SeenConnection) -> None:
        self._connection = connection
        self._places = DigestTable()  # digest of a request -> place, rules
        self._last_place = 0
        for row in connection.rows(select(_DROPPED.c.place, _DROPPED.c.digest, _DROPPED.c.rules)):
            self._places.put(row.digest, row.place << _RULES_BITS | row.rules)
            self._last_place = max(self._last_place, row.place)
        self._begin_to_buffer()

    def _begin_to_buffer(self) -> None:
        self._forgets_all = False  # to be written in this order
        self._forgotten: set[int] = set()
        self._added: dict[bytes, tuple[int, str]] = {}
        self._gone: list[bytes] = []
        self._new_places: dict[bytes, int] = {}

    @property
    def has_news(self) -> bool:
        """Tell whether something is not written yet."""
        return self._forgets_all or bool(self._forgotten or self._added)

    @property
    def n_added(self) -> int:
        """Requests that are not written yet."""
        return len(self._added)

    def add(self, rules: int, request: str) -> None:
        """Keep a request that *rules* have dropped."""
        digest = form_digest(request)
        known = self._places.get(digest)
        if known is None or known & _MAX_RULES != rules or self._forgets_all or rules in self._forgotten:
            self._added[digest] = rules, request
        else:
            self._added.pop(digest, None)

    def forget(self, rules: Collection[int] | None) -> None:
        """Let go of what *rules* have dropped; None: of all."""
        if rules is None:
            self._forgets_all = True
            self._added.clear()
        else:
            self._forgotten.update(rules)
            self._added = {digest: pair for digest, pair in self._added.items() if pair[0] not in self._forgotten}

    def requests(self) -> list[str]:
        """What is kept, the oldest first."""
        return [row.request for row in self._connection.pages(_PAGE)]

    def write(self) -> None:
        """Write what changed, in a transaction."""
        self._gone = []
        if self._forgets_all:
            self._connection.empty(_DROPPED)
        elif self._forgotten:
            for rules in _portions(sorted(self._forgotten)):
                dropped = select(_DROPPED.c.digest).where(_BY_RULES).params(rules=rules)
                self._gone += self._connection.rows(dropped).scalars()
                self._connection.run(delete(_DROPPED).where(_BY_RULES), rules=rules)
        self._new_places = {}
        last = self._last_place
        for digest in self._added:
            known = self._places.get(digest)
            last += known is None
            self._new_places[digest] = last if known is None else known >> _RULES_BITS
        rows = [(self._new_places[digest], digest, rules, text) for digest, (rules, text) in self._added.items()]
        self._connection.many(_REPLACE, rows)

    def written(self) -> None:
        """Hear that the transaction was committed."""
        if not self.has_news:
            return
        if self._forgets_all:
            self._places = DigestTable()
        for digest in self._gone:
            self._places.discard(digest)
        for digest, place in self._new_places.items():
            self._places.put(digest, place << _RULES_BITS | self._added[digest][0])
            self._last_place = max(self._last_place, place)
        self._begin_to_buffer()


def _portions(rules: list[int]) -> list[list[int]]:
    return [rules[start : start + MAX_PARAMETERS] for start in range(0, len(rules), MAX_PARAMETERS)]
