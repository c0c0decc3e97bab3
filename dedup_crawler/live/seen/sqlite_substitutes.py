"""The substitutes of a durable seen set, with their *unwritten* changes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dedup_crawler.live.seen.sqlite_file import SeenFile, Writes
from dedup_crawler.live.seen.table import DigestTable

_MAX_KNOWN = 20_000


class Substitute(NamedTuple):
    """A request that waits for a form, or that was returned and is not claimed yet."""

    digest: bytes
    tag: int
    request: str


class Substitutes:
    """Form -> substitutes, each URL once, the oldest first.

    A *given* substitute stays in the table until its URL claims the form, so that it outlives the process, but this
    process does not give it again.
    """

    def __init__(self, file: SeenFile) -> None:
        self._file = file
        self._forms = DigestTable()  # forms that may have some, each with a unique number
        self._numbers = itertools.count(1)
        for (digest,) in file.rows("SELECT DISTINCT digest FROM substitutes"):
            self._forms.put(digest, next(self._numbers))
        self._given: set[tuple[int, int]] = set()  # number of the form, tag
        self._known: set[tuple[int, int]] = set()  # (number, tag): repeated links are not written again
        self._emptied: set[bytes] = set()  # written in this order: forms that lose all,
        self._removed: set[tuple[bytes, int]] = set()  # single removed ones,
        self.unwritten: dict[tuple[bytes, int], str] = {}  # and new ones

    def add(self, digest: bytes, tag: int, request: str) -> None:
        """Add *request*; one that was given and is added again comes last."""
        form = self._forms.get(digest)
        if form is None:
            form = next(self._numbers)
            self._forms.put(digest, form)
        key = form, tag
        if key in self._given:
            self.remove(digest, tag)
        elif key in self._known:
            return
        if len(self._known) >= _MAX_KNOWN:
            self._known.clear()
        self._known.add(key)
        self.unwritten.setdefault((digest, tag), request)

    def remove(self, digest: bytes, tag: int) -> None:
        """Forget a substitute, if there is one: its own URL claims the form."""
        form = self._forms.get(digest)
        if form is not None:
            self.unwritten.pop((digest, tag), None)
            self._removed.add((digest, tag))
            self._given.discard((form, tag))
            self._known.discard((form, tag))

    def forget(self, digest: bytes) -> None:
        """Forget all substitutes of a form: its page has come."""
        if self._forms.get(digest) is not None:
            self._forms.discard(digest)
            for key in [key for key in self.unwritten if key[0] == digest]:
                del self.unwritten[key]
            self._emptied.add(digest)

    def give(self, digest: bytes) -> str | None:
        """Give the oldest substitute of a form that was not given yet."""
        if self._forms.get(digest) is not None:
            for each, is_given in self.all(digest):
                if not is_given:
                    self._give(each)
                    return each.request
        return None

    def give_each(self, is_free: Callable[[bytes], bool], n_at_most: int | None = None) -> list[str]:
        """Give the oldest request, not given yet, of each form that *is_free*."""
        given: dict[bytes, Substitute] = {}
        for each, is_given in self.all():
            if not is_given and each.digest not in given and is_free(each.digest):
                given[each.digest] = each
                if len(given) == n_at_most:
                    break
        for each in given.values():
            self._give(each)
        return [each.request for each in given.values()]

    def all(self, digest: bytes | None = None) -> Iterator[tuple[Substitute, bool]]:
        """Yield the substitutes of a form, or of all forms, oldest first, each with True if it was given."""
        where, parameters = ("", ()) if digest is None else ("WHERE digest = ?", (digest,))
        query = f"SELECT digest, tag, request FROM substitutes {where} ORDER BY place"  # noqa: S608 - constants
        for each in map(Substitute._make, self._file.rows(query, parameters)):
            if each.digest not in self._emptied and (each.digest, each.tag) not in self._removed:
                yield each, self._is_given(each)
        for (form, tag), request in self.unwritten.items():
            if digest in (None, form):
                yield (each := Substitute(form, tag, request)), self._is_given(each)

    def _is_given(self, each: Substitute) -> bool:
        return bool(self._given) and (self._forms.get(each.digest), each.tag) in self._given

    def _give(self, each: Substitute) -> None:
        form = self._forms.get(each.digest)
        if form is not None:
            self._given.add((form, each.tag))

    def writes(self) -> Writes:
        """Return the changes."""
        return [
            ("DELETE FROM substitutes WHERE digest = ?", [(digest,) for digest in self._emptied]),
            ("DELETE FROM substitutes WHERE digest = ? AND tag = ?", [*self._removed]),
            (
                "INSERT OR IGNORE INTO substitutes (digest, tag, request) VALUES (?, ?, ?)",
                [(*key, request) for key, request in self.unwritten.items()],
            ),
        ]

    def written(self) -> None:
        """Note that the changes are written."""
        self._emptied.clear()
        self._removed.clear()
        self.unwritten.clear()
