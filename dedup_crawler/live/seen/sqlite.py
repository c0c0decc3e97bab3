"""Seen set of a crawl that can be resumed, in one SQLite file.

Changes are written when their page is processed, in one transaction. So a process that dies
at any moment leaves each claimed form *seen*, or *awaited* with its request, or leaves the page with the link in one of
these states.

An awaited form of an earlier run is *left*: it is free, and its request stays in the file until the form is claimed.
Returned substitutes stay in the file until their own URL claims the form, or the page of the form has come.

Memory holds the place of each awaited form in the file, and which forms may have substitutes, so most forms need no
deletion.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dedup_crawler.errors import SeenError, SeenUnavailableError
from dedup_crawler.live.seen.protocol import OWNER_MASK, Claim, Cleared, Holder, SeenSet, Standing, form_digest
from dedup_crawler.live.seen.sqlite_file import N_RUNS, SeenFile, portions

logger = logging.getLogger(__name__)

_MAX_UNWRITTEN = 2_000
_MAX_UNWRITTEN_ALL = 100_000
_N_GIVEN = 1_000
_N_OWNERS = 20_000
_N_FORGOTTEN = 1_000  # owners deleted at once
_FLUSH_S = 1.0
_RETRY_S = 30.0
_FORGET = "DELETE FROM seen", "DELETE FROM awaited", "DELETE FROM substitutes", "DELETE FROM owners"


class _Form(NamedTuple):
    """Owner of a seen or awaited form."""

    value: int
    """Run << 32 | code of its rules << 16 | its tag under :data:`OWNER_MASK`."""
    is_awaited: bool = False
    tag: int = 0
    """Its 32-bit tag, while the form is awaited."""
    request: str | None = None
    """Its request, while the form is awaited, if that can be written."""


class SQLiteSeenSet(SeenSet):
    """Seen and awaited forms in the SQLite file *path*; one process at a time.

    Substitutes and kept drops are on disk, so only the disk limits their number.
    """

    is_durable = True
    is_local = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_failing = False
        self._next_flush = 0.0

    async def open(self, *, queue_survives: bool = False, killed: str | None = None) -> list[str]:
        """Open the file; return the requests that an earlier process left unanswered."""
        self._file = SeenFile(self._path)
        try:
            facts = self._file.facts()
            run = facts.get("run", "0")
            self._run = int(run) % N_RUNS + 1 if run.isdecimal() else 1
            self._is_queue_kept = queue_survives and facts.get("is_clean") == "1"
            self._read()
            self._drops: defaultdict[int, set[bytes]] = defaultdict(set)  # rules -> digests of the requests
            for digest, rules in self._file.rows("SELECT digest, rules FROM dropped"):
                self._drops[rules].add(digest)
            self._note("run", str(self._run))
            self._note("is_clean", "0")
            self._file.commit()
            left = []
            for digest, form in () if self._is_queue_kept else self._awaited():
                if form.request is not None:
                    left.append(form.request)
                else:
                    self._put(digest, form, None)
            self.flush()
            # a left owner comes first: it was returned, or is in the queue
            free = self._give(lambda digest: digest not in self._left)
            drops = self._file.rows("SELECT request FROM dropped ORDER BY place")
            return [*left, *free, *dict.fromkeys(request for (request,) in drops)]
        except BaseException:
            self._file.close()
            raise

    def _read(self) -> None:
        """Read what memory holds of the forms in the file."""
        rows = self._file.rows
        self._left: dict[bytes, int] = {}  # awaited form of an earlier process -> its place in the file
        self._own: dict[bytes, int] = {}  # awaited form of this process -> its place in the file
        self._last_place = 0
        for place, digest in rows("SELECT place, digest FROM awaited ORDER BY place"):
            self._left[digest] = self._last_place = place
        self._answered: set[bytes] = set()  # answered forms whose page is not processed yet
        self._n_seen: int = next(rows("SELECT count(*) FROM seen"))[0]
        self._waited_for = {digest for (digest,) in rows("SELECT DISTINCT digest FROM substitutes")}
        self._given: set[tuple[bytes, int]] = set()  # form, tag of a substitute that is not to be given again
        self._last_owner: int = next(rows("SELECT ifnull(max(place), 0) FROM owners"))[0]

    # Forms

    def _find(self, digests: Iterable[bytes]) -> dict[bytes, _Form]:
        """Return those of the forms that are seen or awaited."""
        places, others = [], []
        for digest in digests:
            place = self._own.get(digest) or self._left.get(digest)
            if place is None:
                others.append(digest)
            else:
                places.append(place)
        query = "SELECT digest, value, 1, tag, request FROM awaited WHERE place IN"
        forms = {digest: _Form(*values) for digest, *values in self._file.rows_of(query, places)}
        for digest, value in self._file.rows_of("SELECT digest, value FROM seen WHERE digest IN", others):
            forms[digest] = _Form(value)
        return forms

    def _awaited(self) -> Iterator[tuple[bytes, _Form]]:
        """Yield all awaited forms, the earliest first; they may be changed meanwhile."""
        for digest, *values in self._file.rows("SELECT digest, value, 1, tag, request FROM awaited ORDER BY place"):
            yield digest, _Form(*values)

    def _put(self, digest: bytes, old: _Form | None, new: _Form | None) -> None:
        """Replace a form; None: it is free."""
        if old is not None and old.is_awaited:
            place = self._own.pop(digest, None) or self._left.pop(digest, None)
            self._file.change("DELETE FROM awaited WHERE place = ?", (place,))
        elif old is not None:
            self._n_seen -= 1
            self._file.change("DELETE FROM seen WHERE digest = ?", (digest,))
        if new is None:
            return
        if new.is_awaited:
            self._last_place += 1
            self._own[digest] = self._last_place
            row = self._last_place, digest, new.value, new.tag, new.request
            self._file.change("INSERT OR REPLACE INTO awaited VALUES (?, ?, ?, ?, ?)", row)
        else:
            self._n_seen += 1
            self._file.change("INSERT OR REPLACE INTO seen VALUES (?, ?)", (digest, new.value))

    def _pack(self, rules: int, owner: int) -> int:
        return self._run << 32 | rules << 16 | owner & OWNER_MASK

    async def claim(self, claims: Sequence[Claim], invalid: Collection[int] = ()) -> list[Holder]:
        """Return the finding of each claim."""
        if self._file.n_changes >= _MAX_UNWRITTEN or time.monotonic() >= self._next_flush:
            self.flush()
        forms = self._find({claim.digest for claim in claims})
        return [self._claim(claim, forms, invalid) for claim in claims]

    def _claim(self, claim: Claim, forms: dict[bytes, _Form], invalid: Collection[int]) -> Holder:
        digest = claim.digest
        form = forms.get(digest)
        if form is not None:
            run, rules, owner = form.value >> 32, form.value >> 16 & 0xFFFF, form.value & OWNER_MASK
            is_same = owner == claim.owner & OWNER_MASK
            # requests of a queue that survived come back, each with its owner's tag
            is_free = rules in invalid or (digest in self._left and (is_same or not self._is_queue_kept))
            if not is_free:
                is_awaited = form.is_awaited and digest not in self._answered
                if run == self._run and is_same:
                    return Holder(Standing.OWN if is_awaited else Standing.OWN_SEEN, rules)
                return Holder(Standing.AWAITED if is_awaited else Standing.SEEN, rules)
            if form.request is not None and form.tag != claim.owner:
                # it may be in flight: keep it as a substitute, and as a drop by the rules of the claim
                self._add_substitute(digest, form.tag, form.request)
                self.keep_dropped(claim.rules, form.request)
        self._remove_substitute(digest, claim.owner)
        request = claim.text() if self._keeps_texts() else None
        forms[digest] = _Form(self._pack(claim.rules, claim.owner), True, claim.owner, request)
        self._put(digest, form, forms[digest])
        self._answered.discard(digest)
        return Holder(Standing.NEW, claim.rules)

    def _keeps_texts(self) -> bool:
        """Return True if there is room: while the disk is full, changes stay in memory."""
        return not self._is_failing or self._file.n_changes < _MAX_UNWRITTEN_ALL

    async def wait(self, digest: bytes, substitute: str, owner: int) -> bool:
        """Keep *substitute*."""
        if digest not in self._own and not (self._is_queue_kept and digest in self._left):
            return digest not in self._left and bool(self._find([digest]))
        if digest not in self._answered:
            if not self._keeps_texts():
                return False
            self._add_substitute(digest, owner, substitute)
        return True

    def answered(self, digest: bytes) -> None:
        """Note that the form is seen for this process; in the file when its page is processed."""
        self._answered.add(digest)

    def processed(self, digests: Iterable[bytes]) -> None:
        """Note that the forms are seen; write all changes."""
        digests = list(digests)
        try:
            for digest, form in self._find(digests).items():
                if form.is_awaited:
                    self._put(digest, form, _Form(form.value))
                    if digest in self._waited_for:
                        self._waited_for.discard(digest)
                        self._file.change("DELETE FROM substitutes WHERE digest = ?", (digest,))
                    if form.request is not None:
                        self._last_owner += 1
                        row = self._last_owner, digest, form.request
                        self._file.change("INSERT OR REPLACE INTO owners VALUES (?, ?, ?)", row)
                        if self._last_owner % _N_FORGOTTEN == 0:
                            self._file.change("DELETE FROM owners WHERE place <= ?", (self._last_owner - _N_OWNERS,))
        except SeenUnavailableError as error:
            logger.warning("%s; pages are not noted as seen", error)
        self.flush()
        self._answered.difference_update(digests)

    async def release(self, digest: bytes) -> str | None:
        """Free the form; return its oldest substitute, which the file keeps until it is claimed."""
        form = self._find([digest]).get(digest)
        if form is None:
            return None
        given = self._give(lambda digest: True, digest) if digest in self._waited_for else []
        self._answered.discard(digest)
        self._put(digest, form, None)
        return next(iter(given), None)

    async def abandoned(self, *, is_idle: bool = True) -> list[str]:
        """Free all awaited forms; return the oldest substitute of each free form."""
        if not is_idle:
            return []
        for digest, form in self._awaited():
            if digest in self._answered:
                continue
            if form.request is not None and digest in self._left:
                # it was neither in the queue nor claimed after it was returned
                self._add_substitute(digest, form.tag, form.request)
            self._put(digest, form, None)
        self.flush()
        return self._give(lambda digest: digest not in self._answered, n_at_most=_N_GIVEN)

    def restore(self, claims: Sequence[Claim]) -> None:
        """Mark the forms as seen, unless they are claimed."""
        forms = self._find({claim.digest for claim in claims})
        for claim in claims:
            if claim.digest not in forms:
                forms[claim.digest] = _Form(self._pack(claim.rules, claim.owner))
                self._put(claim.digest, None, forms[claim.digest])
        if self._file.n_changes >= _MAX_UNWRITTEN:
            self.flush()

    # Substitutes: each URL once. One that was given stays in the file, to outlive this process.

    def _add_substitute(self, digest: bytes, tag: int, request: str) -> None:
        """Add *request*; one that was given and is added again comes last."""
        if (digest, tag) in self._given:
            self._remove_substitute(digest, tag)
        self._waited_for.add(digest)
        self._file.change(
            "INSERT OR IGNORE INTO substitutes (digest, tag, request) VALUES (?, ?, ?)", (digest, tag, request)
        )

    def _remove_substitute(self, digest: bytes, tag: int) -> None:
        """Forget a substitute, if there is one: its own URL claims the form."""
        if digest in self._waited_for:
            self._file.change("DELETE FROM substitutes WHERE digest = ? AND tag = ?", (digest, tag))
            self._given.discard((digest, tag))

    def _substitutes(self, digest: bytes | None = None) -> Iterator[tuple[bytes, int, str]]:
        """Yield form, tag and request of the substitutes of one form, or of all forms, oldest first."""
        where, parameters = ("", ()) if digest is None else ("WHERE digest = ?", (digest,))
        query = f"SELECT digest, tag, request FROM substitutes {where} ORDER BY place"  # noqa: S608 - constants
        yield from self._file.rows(query, parameters)

    def _give(
        self, is_free: Callable[[bytes], bool], only: bytes | None = None, n_at_most: int | None = None
    ) -> list[str]:
        """Give the oldest request, not given yet, of the *only* form, or of each form that *is_free*."""
        given: dict[bytes, tuple[int, str]] = {}
        for digest, tag, request in self._substitutes(only):
            if (digest, tag) not in self._given and digest not in given and is_free(digest):
                given[digest] = tag, request
                if len(given) == n_at_most:
                    break
        self._given.update((digest, tag) for digest, (tag, _) in given.items())
        return [request for _, request in given.values()]

    # Owners, facts and drops

    async def owner(self, digest: bytes) -> str | None:
        """Return the request that owns a seen form, if it is kept."""
        form = self._find([digest]).get(digest)
        if form is None or (form.is_awaited and digest not in self._answered):
            return None
        if form.is_awaited:
            return form.request
        # without an index, which would slow down every page: this takes milliseconds, and few pages are asked for
        query = "SELECT request FROM owners WHERE digest = ? ORDER BY place DESC LIMIT 1"
        return next((request for (request,) in self._file.rows(query, (digest,))), None)

    async def note(self, key: str, text: str) -> None:
        """Keep a fact."""
        self._note(f"note {key}", text)
        self.flush()

    def _note(self, key: str, text: str) -> None:
        self._file.change("INSERT OR REPLACE INTO facts VALUES (?, ?)", (key, text))

    async def noted(self, key: str) -> str | None:
        """Return the fact kept under *key*."""
        return self._file.facts().get(f"note {key}")

    def keep_dropped(self, rules: int, text: str) -> None:
        """Keep a drop, unless the disk is full and too many rows are unwritten."""
        digest, kept = form_digest(text), self._drops[rules]
        if digest not in kept and self._keeps_texts():
            kept.add(digest)
            self._file.change("INSERT INTO dropped (digest, rules, request) VALUES (?, ?, ?)", (digest, rules, text))

    def forget_dropped(self, rules: Collection[int] | None = None) -> None:
        """Forget kept drops of all processes."""
        forgotten = [*self._drops] if rules is None else [*self._drops.keys() & {*rules}]
        for marks, codes in portions(forgotten):
            self._file.change(f"DELETE FROM dropped WHERE rules IN {marks}", codes)  # noqa: S608 - placeholders only
        for each in forgotten:
            del self._drops[each]

    async def clear(self) -> Cleared:
        """Forget all forms; return the awaited requests and the substitutes."""
        self.flush()
        awaited = dict.fromkeys(form.request for _, form in self._awaited() if form.request is not None)
        waiting: dict[str, None] = {}
        for digest, tag, request in self._substitutes():
            if digest not in self._answered:
                (awaited if (digest, tag) in self._given else waiting)[request] = None
        self._file.commit(*_FORGET)
        self._read()
        return Cleared([*awaited], [text for text in waiting if text not in awaited])

    def __len__(self) -> int:
        return self._n_seen + len(self._own)

    def flush(self) -> None:
        """Write pending changes, unless a write failed a moment ago."""
        now = time.monotonic()
        if self._is_failing and now < self._next_flush:
            return
        try:
            self._file.commit()
        except SeenError as error:
            self._next_flush = now + _RETRY_S
            if not self._is_failing:
                self._is_failing = True
                logger.warning("%s; seen forms are kept in memory until they can be written", error)
            return
        self._next_flush = now + _FLUSH_S
        if self._is_failing:
            self._is_failing = False
            logger.info("%s can be written again", self._path)

    async def close(self, *, is_clean: bool) -> None:
        """Write pending changes, and note how the crawl ended."""
        self._next_flush = 0.0
        if is_clean:
            self._note("is_clean", "1")  # in the same transaction as the other changes
        self.flush()
        self._file.close()
