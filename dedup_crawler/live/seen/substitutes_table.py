"""The substitutes of all forms, in the file of a durable seen set.

What changes is kept in memory until it is written with everything else. Which forms have substitutes is known in
memory alone: of most forms nothing is looked up, and nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text, bindparam, select

from dedup_crawler.live.seen.sqlite_connection import (
    MAX_PARAMETERS,
    METADATA,
    Digest,
    SeenConnection,
    between,
    deletion,
    insertion,
)
from dedup_crawler.live.seen.table import MAX_VALUE, DigestTable

_MAX_KNOWN = 20_000

_SUBSTITUTES = Table(
    "substitutes",
    METADATA,
    Column("place", Integer, primary_key=True, info=between(1, MAX_VALUE)),
    Column("digest", Digest, nullable=False),
    Column("tag", BigInteger, nullable=False, info=between(0, 0xFFFF_FFFF)),
    Column("request", Text, nullable=False),
)
Index("substitute", _SUBSTITUTES.c.digest, _SUBSTITUTES.c.tag, unique=True)

_PAGE = (
    select(_SUBSTITUTES)
    .where(_SUBSTITUTES.c.place > bindparam("after"))
    .order_by(_SUBSTITUTES.c.place)
    .limit(MAX_PARAMETERS)
)
_PAGE_OF_FORM = _PAGE.where(_SUBSTITUTES.c.digest == bindparam("form"))
_INSERT = insertion(_SUBSTITUTES, "IGNORE")
_DELETE = deletion(_SUBSTITUTES.c.digest, _SUBSTITUTES.c.tag)
_DELETE_FORM = deletion(_SUBSTITUTES.c.digest)


class Substitute(NamedTuple):
    """A request that waits for a form, or that was given and is not claimed yet."""

    digest: bytes
    tag: int
    request: str


class SubstitutesTable:
    """Form -> substitutes, each URL once, the oldest first.

    One that was *given* stays in the table until its URL claims the form, so that it outlives the process, but is not
    given again by this one.
    """

    def __init__(self, connection: SeenConnection) -> None:
        self._connection = connection
        self._forms = DigestTable()  # that may have some
        for digest in connection.rows(select(_SUBSTITUTES.c.digest).distinct()).scalars():
            self._forms.put(digest, 1)
        self._given: dict[bytes, set[int]] = {}
        # links are met again and again: some of what is in the table need not be written once more
        self._known: dict[bytes, set[int]] = {}
        self._n_known = 0
        self._begin_to_buffer()

    def _begin_to_buffer(self) -> None:
        self._emptied: set[bytes] = set()  # to be written in this order: forms that have none,
        self._removed: set[tuple[bytes, int]] = set()  # single ones,
        self._added: dict[bytes, dict[int, str]] = {}  # and new ones
        self.n_added = 0
        """Texts that are not written yet."""

    @property
    def has_news(self) -> bool:
        """Tell whether something is not written yet."""
        return bool(self._emptied or self._removed or self._added)

    def add(self, digest: bytes, tag: int, request: str) -> None:
        """Have *request* wait; one that was given and waits again does so behind the others."""
        if tag in self._given.get(digest, ()):
            self.remove(digest, tag)
        elif tag in self._known.get(digest, ()):
            return
        self._forms.put(digest, 1)
        added = self._added.setdefault(digest, {})
        if tag not in added:
            added[tag] = request
            self.n_added += 1
        if self._n_known >= _MAX_KNOWN:
            self._known.clear()
            self._n_known = 0
        self._known.setdefault(digest, set()).add(tag)
        self._n_known += 1

    def remove(self, digest: bytes, tag: int) -> None:
        """Forget one, because its own URL claims the form, if it is there."""
        if self._forms.get(digest) is None:
            return
        if self._added.get(digest, {}).pop(tag, None) is not None:
            self.n_added -= 1
        self._removed.add((digest, tag))
        for tags in (self._given.get(digest), self._known.get(digest)):
            if tags is not None:
                tags.discard(tag)

    def forget(self, digest: bytes) -> None:
        """Forget all of a form, because its page is there."""
        if self._forms.get(digest) is None:
            return
        self._forms.discard(digest)
        self.n_added -= len(self._added.pop(digest, ()))
        self._given.pop(digest, None)
        self._known.pop(digest, None)
        self._emptied.add(digest)

    def give(self, digest: bytes) -> str | None:
        """The oldest one of a form that was not given yet, which is given now."""
        if self._forms.get(digest) is None:
            return None
        given = self._given.setdefault(digest, set())
        for each in self._of(digest):
            if each.tag not in given:
                given.add(each.tag)
                return each.request
        if not given:
            self._forms.discard(digest)
            del self._given[digest]
        return None

    def give_each(self, is_free: Callable[[bytes], bool], n_at_most: int | None = None) -> list[str]:
        """Of each form that *is_free* the oldest one that was not given yet, which is given now."""
        given: dict[bytes, Substitute] = {}
        for each, is_given in self.all():
            if not is_given and each.digest not in given and is_free(each.digest):
                given[each.digest] = each
                if len(given) == n_at_most:
                    break
        for each in given.values():
            self._given.setdefault(each.digest, set()).add(each.tag)
        return [each.request for each in given.values()]

    def all(self) -> Iterator[tuple[Substitute, bool]]:
        """All of all forms, the oldest first, and whether each was given."""
        rows = self._connection.pages(_PAGE)
        written = (Substitute(row.digest, row.tag, row.request) for row in rows)
        added = (Substitute(digest, *pair) for digest, pairs in self._added.items() for pair in pairs.items())
        for each in chain(self._left(written), added):
            yield each, each.tag in self._given.get(each.digest, ())

    def _of(self, digest: bytes) -> Iterator[Substitute]:
        rows = self._connection.pages(_PAGE_OF_FORM, form=digest)
        yield from self._left(Substitute(row.digest, row.tag, row.request) for row in rows)
        yield from (Substitute(digest, *pair) for pair in self._added.get(digest, {}).items())

    def _left(self, written: Iterator[Substitute]) -> Iterator[Substitute]:
        """What is in the file, and is to stay there."""
        for each in written:
            if each.digest not in self._emptied and (each.digest, each.tag) not in self._removed:
                yield each

    def write(self) -> None:
        """Write what changed, in a transaction."""
        added = (Substitute(digest, *pair) for digest, pairs in self._added.items() for pair in pairs.items())
        self._connection.many(_DELETE_FORM, [(digest,) for digest in self._emptied])
        self._connection.many(_DELETE, [*self._removed])
        self._connection.many(_INSERT, [(None, *each) for each in added])

    def written(self) -> None:
        """Hear that the transaction was committed."""
        if self.has_news:
            self._begin_to_buffer()

    def empty(self) -> None:
        """Forget all, in a transaction."""
        self._connection.empty(_SUBSTITUTES)

    def emptied(self) -> None:
        """Hear that the transaction was committed."""
        self._forms = DigestTable()
        self._given.clear()
        self._known.clear()
        self._n_known = 0
        self._begin_to_buffer()
