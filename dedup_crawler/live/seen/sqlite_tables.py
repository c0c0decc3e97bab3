"""The tables of a durable seen set.

Memory holds the place of each awaited form, so most forms need no look-up and no deletion.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple

from dedup_crawler.live.seen.protocol import form_digest
from dedup_crawler.live.seen.sqlite_file import SeenFile, portions
from dedup_crawler.live.seen.table import BloomFilter, DigestTable

N_OWNERS = 20_000
_N_FORGOTTEN = 1_000  # owners deleted at once


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
        self._in_file = BloomFilter()
        self._in_file.add(digest for (digest,) in file.rows("SELECT digest FROM seen"))
        self._places = DigestTable()  # places of awaited forms
        self._last_place = 0
        for place, digest in file.rows("SELECT place, digest FROM awaited ORDER BY place"):
            self._in_file.add([digest])
            self._places.put(digest, place)
            self._last_place = place
        self._last_earlier = self._last_place
        self.n_known: int = next(file.rows("SELECT count(*) FROM seen"))[0]
        """Number of forms that are seen, or awaited in this run."""

    def find(self, digests: Sequence[bytes]) -> dict[bytes, Entry]:
        """Return the entries of *digests*."""
        entries: dict[bytes, Entry] = {}
        seen, places = [], []
        for digest in self._in_file.among(digests):
            place = self._places.get(digest)
            if place is None:
                seen.append(digest)
            else:
                places.append(place)
        query = "SELECT digest, value, 1, tag, request FROM awaited WHERE place IN"
        for digest, *values in self._file.rows_of(query, places):
            entries[digest] = Entry(*values)
        for digest, value in self._file.rows_of("SELECT digest, value FROM seen WHERE digest IN", seen):
            entries[digest] = Entry(value)
        return entries

    def get(self, digest: bytes) -> Entry | None:
        """Return the entry of a form."""
        return self.find([digest]).get(digest)

    def put(self, digest: bytes, old: Entry | None, new: Entry | None) -> None:
        """Replace the entry of a form; None: the form is free."""
        if old is not None:
            self.n_known -= self._counts(old)
            if new is None or new.is_awaited != old.is_awaited:
                self._remove(digest, old)
        if new is None:
            return
        self.n_known += self._counts(new)
        self._in_file.add([digest])
        if new.is_awaited:
            place = self._places.get(digest)
            if place is None:
                place = self._last_place = self._last_place + 1
                self._places.put(digest, place)
            row = place, digest, new.value, new.tag, new.request
            self._file.change("INSERT OR REPLACE INTO awaited VALUES (?, ?, ?, ?, ?)", row)
        else:
            self._file.change("INSERT OR REPLACE INTO seen VALUES (?, ?)", (digest, new.value))

    def awaited(self) -> Iterator[tuple[bytes, Entry]]:
        """Yield all awaited forms, the earliest first; they may be changed meanwhile."""
        for digest, *values in self._file.rows("SELECT digest, value, 1, tag, request FROM awaited ORDER BY place"):
            yield digest, Entry(*values)

    def is_awaited(self, digest: bytes) -> bool:
        """Return True if a form is awaited, in this run or an earlier one."""
        return self._places.get(digest) is not None

    def is_new(self, digest: bytes) -> bool:
        """Return True if a form is awaited that was first claimed in this run."""
        return (self._places.get(digest) or 0) > self._last_earlier

    def _remove(self, digest: bytes, entry: Entry) -> None:
        if entry.is_awaited:
            self._file.change("DELETE FROM awaited WHERE place = ?", (self._places.get(digest),))
            self._places.discard(digest)
        else:
            self._file.change("DELETE FROM seen WHERE digest = ?", (digest,))

    def _counts(self, entry: Entry) -> bool:
        return not entry.is_awaited or entry.value >> 32 == self._run


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
        self._forms = DigestTable()  # forms that may have some
        for (digest,) in file.rows("SELECT DISTINCT digest FROM substitutes"):
            self._forms.put(digest, 1)
        self._given: set[tuple[bytes, int]] = set()  # form, tag

    def add(self, digest: bytes, tag: int, request: str) -> None:
        """Add *request*; one that was given and is added again comes last."""
        if (digest, tag) in self._given:
            self.remove(digest, tag)
        self._forms.put(digest, 1)
        self._file.change(
            "INSERT OR IGNORE INTO substitutes (digest, tag, request) VALUES (?, ?, ?)", (digest, tag, request)
        )

    def remove(self, digest: bytes, tag: int) -> None:
        """Forget a substitute, if there is one: its own URL claims the form."""
        if self._forms.get(digest) is not None:
            self._file.change("DELETE FROM substitutes WHERE digest = ? AND tag = ?", (digest, tag))
            self._given.discard((digest, tag))

    def forget(self, digest: bytes) -> None:
        """Forget all substitutes of a form: its page has come."""
        if self._forms.get(digest) is not None:
            self._forms.discard(digest)
            self._file.change("DELETE FROM substitutes WHERE digest = ?", (digest,))

    def give(self, digest: bytes) -> str | None:
        """Give the oldest substitute of a form that was not given yet."""
        if self._forms.get(digest) is not None:
            for each, is_given in self.all(digest):
                if not is_given:
                    self._given.add((digest, each.tag))
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
        self._given.update((each.digest, each.tag) for each in given.values())
        return [each.request for each in given.values()]

    def all(self, digest: bytes | None = None) -> Iterator[tuple[Substitute, bool]]:
        """Yield the substitutes of a form, or of all forms, oldest first, each with True if it was given."""
        where, parameters = ("", ()) if digest is None else ("WHERE digest = ?", (digest,))
        query = f"SELECT digest, tag, request FROM substitutes {where} ORDER BY place"  # noqa: S608 - constants
        for each in map(Substitute._make, self._file.rows(query, parameters)):
            yield each, (each.digest, each.tag) in self._given


class Owners:
    """Form -> request of its owner, for the :data:`N_OWNERS` forms that were added last."""

    def __init__(self, file: SeenFile) -> None:
        self._file = file
        self._last_place: int = next(file.rows("SELECT ifnull(max(place), 0) FROM owners"))[0]

    def add(self, digest: bytes, request: str) -> None:
        """Keep the request of a form's owner."""
        self._last_place += 1
        self._file.change("INSERT OR REPLACE INTO owners VALUES (?, ?, ?)", (self._last_place, digest, request))
        if self._last_place % _N_FORGOTTEN == 0:
            self._file.change("DELETE FROM owners WHERE place <= ?", (self._last_place - N_OWNERS,))

    def get(self, digest: bytes) -> str | None:
        """Return the request of a form's owner, if it is kept."""
        # without an index, which would slow down every page: this takes milliseconds, and few pages are asked for
        query = "SELECT request FROM owners WHERE digest = ? ORDER BY place DESC LIMIT 1"
        return next((request for (request,) in self._file.rows(query, (digest,))), None)


class Dropped:
    """Drops of unverified rules: code of the rules -> requests, each once."""

    def __init__(self, file: SeenFile) -> None:
        self._file = file
        self._kept: defaultdict[int, DigestTable] = defaultdict(DigestTable)  # rules -> digests of requests
        for digest, rules in file.rows("SELECT digest, rules FROM dropped"):
            self._kept[rules].put(digest, 1)

    def add(self, rules: int, request: str) -> None:
        """Keep a request that *rules* dropped."""
        digest, kept = form_digest(request), self._kept[rules]
        if kept.get(digest) is None:
            kept.put(digest, 1)
            row = digest, rules, request
            self._file.change("INSERT INTO dropped (digest, rules, request) VALUES (?, ?, ?)", row)

    def forget(self, rules: Collection[int] | None) -> None:
        """Forget the drops of *rules*; None: all drops."""
        forgotten = [*self._kept] if rules is None else [*({*self._kept} & {*rules})]
        for marks, codes in portions(forgotten):
            self._file.change(f"DELETE FROM dropped WHERE rules IN {marks}", codes)  # noqa: S608 - placeholders only
        for each in forgotten:
            del self._kept[each]

    def requests(self) -> list[str]:
        """Return the kept requests, each once, the oldest first."""
        rows = self._file.rows("SELECT request FROM dropped ORDER BY place")
        return [*dict.fromkeys(request for (request,) in rows)]
