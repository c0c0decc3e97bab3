"""Seen set of a crawl that can be resumed, in one SQLite file.

Changes are written when their page is processed, in one transaction. So a process that dies
at any moment leaves each claimed form *seen*, or *awaited* with its request, or leaves the page with the link in one of
these states.

An awaited form of an earlier run is *left*: it is free, and its request stays in the file until the form is claimed.
Returned substitutes stay in the file until their own URL claims the form, or the page of the form has come.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from dedup_crawler.errors import SeenError, SeenUnavailableError
from dedup_crawler.live.seen.protocol import Claim, Cleared, Holder, SeenSet, Standing
from dedup_crawler.live.seen.sqlite_file import SeenFile
from dedup_crawler.live.seen.sqlite_tables import Dropped, Entry, Forms, Owners, Substitutes
from dedup_crawler.live.seen.table import N_RUNS, OWNER_MASK, pack, unpack

logger = logging.getLogger(__name__)

_MAX_UNWRITTEN = 2_000
_MAX_UNWRITTEN_ALL = 100_000
_N_GIVEN = 1_000
_FLUSH_S = 1.0
_RETRY_S = 30.0
_FORGET = "DELETE FROM seen", "DELETE FROM awaited", "DELETE FROM substitutes", "DELETE FROM owners"


class SQLiteSeenSet(SeenSet):
    """Seen and awaited forms in the SQLite file *path*; one process at a time.

    Substitutes and kept drops are on disk, so only the disk limits their number.
    """

    is_durable = True
    is_local = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._run = 0
        self._is_queue_kept = False
        self._answered: set[bytes] = set()  # answered forms whose page is not processed yet
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
            self._read_forms()
            self._dropped = Dropped(self._file)
            self._note("run", str(self._run))
            self._note("is_clean", "0")
            self._file.commit()
            left = [] if self._is_queue_kept else self._left()
            # a left owner comes first: it was returned, or is in the queue
            free = self._substitutes.give_each(lambda digest: not self._forms.is_awaited(digest))
            return [*left, *free, *self._dropped.requests()]
        except BaseException:
            self._file.close()
            raise

    def _read_forms(self) -> None:
        self._forms = Forms(self._file, self._run)
        self._substitutes = Substitutes(self._file)
        self._owners = Owners(self._file)

    def _left(self) -> list[str]:
        """Return requests of earlier processes; free forms without a written request."""
        texts = []
        for digest, entry in self._forms.awaited():
            if entry.request is None:
                self._forms.put(digest, entry, None)
            else:
                texts.append(entry.request)
        self.flush()
        return texts

    async def claim(self, claims: Sequence[Claim], invalid: Collection[int] = ()) -> list[Holder]:
        """Return the finding of each claim."""
        if self._file.n_changes >= _MAX_UNWRITTEN or time.monotonic() >= self._next_flush:
            self.flush()
        entries = self._forms.find([claim.digest for claim in claims])
        return [self._claim(claim, entries, invalid) for claim in claims]

    def _claim(self, claim: Claim, entries: dict[bytes, Entry], invalid: Collection[int]) -> Holder:
        digest = claim.digest
        entry = entries.get(digest)
        if entry is not None:
            run, rules, owner = unpack(entry.value)
            if rules not in invalid and not self._is_left(entry, claim.owner):
                is_awaited = self._is_unanswered(digest, entry)
                if run == self._run and owner == claim.owner & OWNER_MASK:
                    return Holder(Standing.OWN if is_awaited else Standing.OWN_SEEN, rules)
                return Holder(Standing.AWAITED if is_awaited else Standing.SEEN, rules)
            if entry.request is not None and entry.tag != claim.owner:
                # it may be in flight: keep it as a substitute, and as a drop by the rules of the claim
                self._substitutes.add(digest, entry.tag, entry.request)
                self.keep_dropped(claim.rules, entry.request)
        self._substitutes.remove(digest, claim.owner)
        request = claim.text() if self._keeps_texts() else None
        taken = Entry(pack(self._run, claim.rules, claim.owner), True, claim.owner, request)
        self._forms.put(digest, entry, taken)
        self._answered.discard(digest)
        entries[digest] = taken
        return Holder(Standing.NEW, claim.rules)

    def _is_left(self, entry: Entry, owner: int | None) -> bool:
        """Return True if an awaited form is free for *owner*, because its process has ended."""
        run, _, earlier_owner = unpack(entry.value)
        if not entry.is_awaited or run == self._run:
            return False
        # requests of a queue that survived come back, each with its owner's tag
        return not self._is_queue_kept or (owner is not None and earlier_owner == owner & OWNER_MASK)

    def _is_unanswered(self, digest: bytes, entry: Entry) -> bool:
        return entry.is_awaited and digest not in self._answered

    def _keeps_texts(self) -> bool:
        """Return True if there is room: while the disk is full, changes stay in memory."""
        return not self._is_failing or self._file.n_changes < _MAX_UNWRITTEN_ALL

    async def wait(self, digest: bytes, substitute: str, owner: int) -> bool:
        """Keep *substitute*."""
        is_awaited = self._forms.is_new(digest)  # as most are: this spares a look-up in the file
        if not is_awaited:
            entry = self._forms.get(digest)
            if entry is None or self._is_left(entry, None):
                return False
            is_awaited = entry.is_awaited
        if is_awaited and digest not in self._answered:
            if not self._keeps_texts():
                return False
            self._substitutes.add(digest, owner, substitute)
        return True

    def answered(self, digest: bytes) -> None:
        """Note that the form is seen for this process; in the file when its page is processed."""
        self._answered.add(digest)

    def processed(self, digests: Iterable[bytes]) -> None:
        """Note that the forms are seen; write all changes."""
        digests = list(digests)
        try:
            for digest, entry in [*self._forms.find(digests).items()]:
                if entry.is_awaited:
                    self._forms.put(digest, entry, Entry(entry.value))
                    self._substitutes.forget(digest)
                    if entry.request is not None:
                        self._owners.add(digest, entry.request)
        except SeenUnavailableError as error:
            logger.warning("%s; pages are not noted as seen", error)
        self.flush()
        self._answered.difference_update(digests)

    async def release(self, digest: bytes) -> str | None:
        """Free the form; return its oldest substitute, which the file keeps until it is claimed."""
        entry = self._forms.get(digest)
        if entry is None:
            return None
        substitute = self._substitutes.give(digest)
        self._answered.discard(digest)
        self._forms.put(digest, entry, None)
        return substitute

    async def abandoned(self, *, is_idle: bool = True) -> list[str]:
        """Free all awaited forms; return the oldest substitute of each free form."""
        if not is_idle:
            return []
        for digest, entry in self._forms.awaited():
            if digest in self._answered:
                continue
            if entry.request is not None and unpack(entry.value)[0] != self._run:
                # it was neither in the queue nor claimed after it was returned
                self._substitutes.add(digest, entry.tag, entry.request)
            self._forms.put(digest, entry, None)
        self.flush()
        return self._substitutes.give_each(lambda digest: digest not in self._answered, _N_GIVEN)

    def restore(self, digest: bytes, owner: int, rules: int = 0) -> None:
        """Mark the form as seen, unless it is claimed."""
        if self._forms.get(digest) is None:
            self._forms.put(digest, None, Entry(pack(self._run, rules, owner)))
            if self._file.n_changes >= _MAX_UNWRITTEN:
                self.flush()

    async def note(self, key: str, text: str) -> None:
        """Keep a fact."""
        self._note(f"note {key}", text)
        self.flush()

    def _note(self, key: str, text: str) -> None:
        self._file.change("INSERT OR REPLACE INTO facts VALUES (?, ?)", (key, text))

    async def noted(self, key: str) -> str | None:
        """Return the fact kept under *key*."""
        return self._file.facts().get(f"note {key}")

    async def owner(self, digest: bytes) -> str | None:
        """Return the request that owns a seen form, if it is kept."""
        entry = self._forms.get(digest)
        if entry is None or self._is_unanswered(digest, entry):
            return None
        return entry.request if entry.is_awaited else self._owners.get(digest)

    def keep_dropped(self, rules: int, text: str) -> None:
        """Keep a drop, unless the disk is full and too many rows are unwritten."""
        if self._keeps_texts():
            self._dropped.add(rules, text)

    def forget_dropped(self, rules: Collection[int] | None = None) -> None:
        """Forget kept drops of all processes."""
        self._dropped.forget(rules)

    async def clear(self) -> Cleared:
        """Forget all forms; return the awaited requests and the substitutes."""
        self.flush()
        awaited = dict.fromkeys(entry.request for _, entry in self._forms.awaited() if entry.request is not None)
        waiting: dict[str, None] = {}
        for each, is_given in self._substitutes.all():
            if each.digest not in self._answered:
                (awaited if is_given else waiting)[each.request] = None
        self._file.commit(*_FORGET)
        self._read_forms()
        self._answered.clear()
        return Cleared([*awaited], [text for text in waiting if text not in awaited])

    def __len__(self) -> int:
        return self._forms.n_known

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
