"""The tables of a durable seen set, each with its *unwritten* changes.

Memory holds the place of each row, so most forms need no look-up and no deletion.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from dedup_crawler.live.seen.protocol import form_digest
from dedup_crawler.live.seen.sqlite_file import SeenFile, Writes, portions
from dedup_crawler.live.seen.table import BloomFilter, DigestTable

N_OWNERS = 20_000
_N_FORGOTTEN = 1_000  # owners deleted at once
_MAX_KNOWN = 20_000


class Entry(NamedTuple):
    """Entry of a form."""

    value: int
    """Run, rules and owner, packed."""
    is_awaited: bool = False
    tag: int = 0
    """32-bit tag of the owner's URL while the form is awaited."""
    request: str | None = None


class Forms:
    """Form -> entry. Seen forms are only in the file; the places of awaited ones are also in memory."""

    def __init__(self, file: SeenFile, run: int) -> None:
        self._file = file
        self._run = run
        self.unwritten: dict[bytes, Entry | None] = {}
        self._met: dict[bytes, Entry] = {}  # entries of the last call of find, which most questions are about
        self._in_file = BloomFilter()
        self._in_file.add(digest for (digest,) in file.rows("SELECT digest FROM seen"))
        self._places = DigestTable()  # places of awaited forms
        self._new_places: dict[bytes, int] = {}
        self._last_place = 0
        for place, digest in file.rows("SELECT place, digest FROM awaited ORDER BY place"):
            self._in_file.add([digest])
            self._places.put(digest, place)
            self._last_place = place
        self.n_known: int = next(file.rows("SELECT count(*) FROM seen"))[0]
        """Number of forms that are seen, or awaited in this run."""

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Entry]:
        """Return the entries of *digests*; :meth:`get` knows them until the next call."""
        unwritten = self.unwritten
        entries = self._look_up([digest for digest in digests if digest not in unwritten])
        for digest in digests:
            if (entry := unwritten.get(digest)) is not None:
                entries[digest] = entry
        self._met = entries
        return entries

    def get(self, digest: bytes) -> Entry | None:
        """Return the entry of a form."""
        if digest in self.unwritten:
            return self.unwritten[digest]
        return self._met.get(digest) or self._look_up([digest]).get(digest)

    def put(self, digest: bytes, old: Entry | None, new: Entry | None) -> None:
        """Replace the entry of a form; None: the form is free."""
        if old is not None:
            self.n_known -= self._counts(old)
        if new is not None:
            self.n_known += self._counts(new)
        self.unwritten[digest] = new
        self._met.pop(digest, None)

    def awaited(self) -> Iterator[tuple[bytes, Entry]]:
        """Yield all awaited forms, the earliest first; they may be changed meanwhile."""
        for digest, *values in self._file.rows("SELECT digest, value, 1, tag, request FROM awaited ORDER BY place"):
            if digest not in self.unwritten:
                yield digest, Entry(*values)
        for digest, entry in [*self.unwritten.items()]:
            if entry is not None and entry.is_awaited:
                yield digest, entry

    def is_awaited_in_file(self, digest: bytes) -> bool:
        """Return True if the file knows a form as awaited."""
        return self._places.get(digest) is not None

    def _look_up(self, digests: Sequence[bytes]) -> dict[bytes, Entry]:
        entries: dict[bytes, Entry] = {}
        seen, places = [], []
        for digest in self._in_file.among(digests):
            place = self._places.get(digest)
            if place is None:
                seen.append(digest)
            else:
                places.append(place)
        if places:
            query = "SELECT digest, value, 1, tag, request FROM awaited WHERE place IN"
            for digest, *values in self._file.rows_of(query, places):
                entries[digest] = Entry(*values)
        if seen:
            for digest, value in self._file.rows_of("SELECT digest, value FROM seen WHERE digest IN", seen):
                entries[digest] = Entry(value)
        return entries

    def _counts(self, entry: Entry) -> bool:
        return not entry.is_awaited or entry.value >> 32 == self._run

    def writes(self) -> Writes:
        """Return the changes."""
        awaited: list[tuple[Any, ...]] = []
        seen: list[tuple[Any, ...]] = []
        answered: list[tuple[Any, ...]] = []
        unseen: list[tuple[Any, ...]] = []
        in_file = set(self._in_file.among(self.unwritten))
        self._new_places = {}
        for digest, entry in self.unwritten.items():
            place = self._places.get(digest) if digest in in_file else None
            if entry is not None and not entry.is_awaited:
                seen.append((digest, entry.value))
            elif digest in in_file:
                unseen.append((digest,))
            if entry is not None and entry.is_awaited:
                if place is None:
                    place = self._new_places[digest] = self._last_place + len(self._new_places) + 1
                awaited.append((place, digest, entry.value, entry.tag, entry.request))
            elif place is not None:
                answered.append((place,))
        return [
            ("INSERT OR REPLACE INTO awaited VALUES (?, ?, ?, ?, ?)", awaited),
            ("INSERT OR REPLACE INTO seen VALUES (?, ?)", seen),
            ("DELETE FROM awaited WHERE place = ?", answered),
            ("DELETE FROM seen WHERE digest = ?", unseen),
        ]

    def written(self) -> None:
        """Note that the changes are written."""
        for digest, entry in self.unwritten.items():
            if entry is None or not entry.is_awaited:
                self._places.discard(digest)
        for digest, place in self._new_places.items():
            self._places.put(digest, place)
        self._last_place += len(self._new_places)
        self._in_file.add(self.unwritten)
        self.unwritten.clear()


class Owners:
    """Form -> request of its owner, for the :data:`N_OWNERS` forms that were added last."""

    def __init__(self, file: SeenFile) -> None:
        self._file = file
        self._places: dict[bytes, int] = {}
        self._last_place = 0
        for place, digest in file.rows("SELECT place, digest FROM owners ORDER BY place"):
            self._put(place, digest)
        self.unwritten: dict[int, tuple[bytes, str]] = {}

    def add(self, digest: bytes, request: str) -> None:
        """Keep the request of a form's owner."""
        self._put(self._last_place + 1, digest)
        self.unwritten[self._last_place] = digest, request

    def get(self, digest: bytes) -> str | None:
        """Return the request of a form's owner, if it is kept."""
        place = self._places.get(digest)
        if place in self.unwritten:
            return self.unwritten[place][1]
        rows = [*self._file.rows("SELECT request FROM owners WHERE place = ?", (place,))] if place else []
        return rows[0].request if rows else None

    def _put(self, place: int, digest: bytes) -> None:
        self._places.pop(digest, None)
        self._places[digest] = self._last_place = place
        if len(self._places) > N_OWNERS:
            del self._places[next(iter(self._places))]

    def writes(self) -> Writes:
        """Return the additions; sometimes also the deletion of the oldest."""
        added = [(place, *pair) for place, pair in self.unwritten.items()]
        is_time = added and self._last_place // _N_FORGOTTEN > (added[0][0] - 1) // _N_FORGOTTEN
        return [
            ("DELETE FROM owners WHERE place <= ?", [(self._last_place - N_OWNERS,)] if is_time else []),
            ("INSERT OR REPLACE INTO owners VALUES (?, ?, ?)", added),
        ]

    def written(self) -> None:
        """Note that the changes are written."""
        self.unwritten.clear()


class Dropped:
    """Drops of unverified rules: code of the rules -> requests, each once."""

    def __init__(self, file: SeenFile) -> None:
        self._file = file
        self._kept: defaultdict[int, DigestTable] = defaultdict(DigestTable)  # rules -> digests of requests
        for digest, rules in file.rows("SELECT digest, rules FROM dropped"):
            self._kept[rules].put(digest, 1)
        self._forgotten: set[int] = set()
        self.unwritten: list[tuple[bytes, int, str]] = []

    def add(self, rules: int, request: str) -> None:
        """Keep a request that *rules* dropped."""
        digest, kept = form_digest(request), self._kept[rules]
        if kept.get(digest) is None:
            kept.put(digest, 1)
            self.unwritten.append((digest, rules, request))

    def forget(self, rules: Iterable[int] | None) -> None:
        """Forget the drops of *rules*; None: all drops."""
        forgotten = {*self._kept} if rules is None else {*rules} & {*self._kept}
        self._forgotten |= forgotten
        self.unwritten = [row for row in self.unwritten if row[1] not in forgotten]
        for each in forgotten:
            del self._kept[each]

    def requests(self) -> list[str]:
        """Return the kept requests, each once, the oldest first."""
        rows = self._file.rows("SELECT request FROM dropped ORDER BY place")
        return [*dict.fromkeys(request for (request,) in rows)]

    def writes(self) -> Writes:
        """Return the changes: deletions, then additions."""
        forgotten: Writes = [
            (f"DELETE FROM dropped WHERE rules IN {marks}", [codes])  # noqa: S608 - placeholders only
            for marks, codes in portions([*self._forgotten])
        ]
        return [*forgotten, ("INSERT INTO dropped (digest, rules, request) VALUES (?, ?, ?)", [*self.unwritten])]

    def written(self) -> None:
        """Note that the changes are written."""
        self._forgotten.clear()
        self.unwritten.clear()


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
