"""The seen set of a crawl that can be resumed: one SQLite file.

What changes is kept in memory until the page it belongs to was processed, and then written as one transaction. So a
process that dies at any moment leaves each form that it claimed *seen*, or *awaited* with its request, or the page
whose link it was in one of these states.

A form that is awaited in an earlier run is *left*: it is free, and its request stays in the file until somebody claims
the form. So do substitutes that were given: they are in the file until their own URL claims the form, or another URL
has brought its page.
"""

from __future__ import annotations

import contextlib
import logging
import time
from typing import TYPE_CHECKING

from dedup_crawler.errors import SeenError, SeenUnavailableError
from dedup_crawler.live.seen.protocol import NEW_HOLDER, Claimant, Cleared, Holder, SeenSet, Standing
from dedup_crawler.live.seen.sqlite_file import Entry, SeenFile
from dedup_crawler.live.seen.values import N_RUNS, OWNER_MASK, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path

logger = logging.getLogger(__name__)

_MAX_CHANGES = 2_000
_MAX_UNWRITTEN_TEXTS = 100_000
_N_GIVEN = 1_000
_FLUSH_S = 1.0
_RETRY_S = 30.0


class SQLiteSeenSet(SeenSet[str]):
    """Seen and awaited forms in the SQLite file *path*; one process at a time.

    Substitutes and kept drops lie on disk, so their number needs no other bound.
    """

    is_durable = True
    is_local = True

    def __init__(self, path: Path) -> None:
        self._path = path
        self._run = 0
        self._is_queue_kept = False
        self._n = 0
        self._changes: dict[bytes, Entry | None] = {}  # what the file does not say yet
        self._unseen: set[bytes] = set()
        self._met: dict[bytes, Entry] = {}  # by the last call of claim: most questions are about one of these
        self._facts: dict[str, str] = {}
        self._answered: set[bytes] = set()  # whose page is not processed yet
        self._is_failing = False
        self._next_flush = 0.0

    async def open(self, *, queue_survives: bool = False, killed: str | None = None) -> list[str]:
        """Open the file; gives what an earlier process left unanswered."""
        self._file = SeenFile(self._path)
        try:
            facts = self._file.facts()
            run = facts.get("run", "0")
            self._run = int(run) % N_RUNS + 1 if run.isdecimal() else 1
            self._is_queue_kept = queue_survives and facts.get("is_clean") == "1"
            self._n = self._file.n_seen()
            self._file.write({}, (), {"run": str(self._run), "is_clean": "0"})
            left = [] if self._is_queue_kept else self._left()
            # an owner that is left is to be asked first: it was given, or is in the queue
            free = self._file.substitutes.give_each(lambda digest: not self._file.is_awaited(digest))
            return [*left, *free, *self._file.dropped.requests()]
        except BaseException:
            self._file.close()
            raise

    async def claim(self, claims: Sequence[Claimant], invalid: Collection[int] = ()) -> list[Holder]:
        """What each claim found."""
        if len(self._changes) >= _MAX_CHANGES or time.monotonic() >= self._next_flush:
            self.flush()
        self._met = entries = self._entries([claim.digest for claim in claims])
        return [self._claim(claim, entries, invalid) for claim in claims]

    def _claim(self, claim: Claimant, entries: dict[bytes, Entry], invalid: Collection[int]) -> Holder:
        digest = claim.digest
        entry = entries.get(digest)
        if entry is not None:
            run, rules, owner = unpack(entry.value)
            if rules not in invalid and not self._is_left(entry, claim.owner):
                if run == self._run and owner == claim.owner & OWNER_MASK:
                    return Holder(Standing.OWN, rules)
                if not entry.is_awaited or digest in self._answered:
                    return Holder(Standing.SEEN, rules)
                return Holder(Standing.AWAITED, rules)
            if entry.request is not None and entry.tag != claim.owner:
                # it may be on its way: it waits until its own URL claims the form; or the rules of the claim drop it
                self._file.substitutes.add(digest, entry.tag, entry.request)
                self.keep_dropped(claim.rules, entry.request)
        self._file.substitutes.remove(digest, claim.owner)
        request = claim.text() if self._keeps_texts() else None
        taken = Entry(pack(self._run, claim.rules, claim.owner), True, claim.owner, request)
        if entry is None:  # as most: nothing is known of such a form that would have to be forgotten
            self._changes[digest] = taken
            self._n += 1
        else:
            self._change(digest, entry, taken)
        self._answered.discard(digest)
        entries[digest] = taken
        return NEW_HOLDER if claim.rules == 0 else Holder(Standing.NEW, claim.rules)

    def _is_left(self, entry: Entry, owner: int | None) -> bool:
        """Whether an awaited form is free for *owner*, because whoever claimed it runs no more."""
        run, _, earlier_owner = unpack(entry.value)
        if not entry.is_awaited or run == self._run:
            return False
        # the requests of a queue that outlived its process come back, each with its owner's tag
        return not self._is_queue_kept or (owner is not None and earlier_owner == owner & OWNER_MASK)

    async def wait(self, digest: bytes, substitute: str, owner: int) -> bool:
        """Keep *substitute*."""
        entry = self._entry(digest)
        if entry is None or self._is_left(entry, None):
            return False
        if entry.is_awaited and digest not in self._answered:
            if not self._keeps_texts():
                return False
            self._file.substitutes.add(digest, owner, substitute)
        return True

    async def is_awaited(self, digest: bytes) -> bool:
        """Whether the answer has not come."""
        entry = self._entry(digest)
        return entry is not None and entry.is_awaited and digest not in self._answered

    def answered(self, digest: bytes) -> None:
        """The form is seen for this process; in the file when its page is processed."""
        self._answered.add(digest)

    def processed(self, digests: Iterable[bytes]) -> None:
        """The forms are seen; writes everything."""
        digests = list(digests)
        try:
            for digest, entry in self._entries(digests).items():
                if entry.is_awaited:
                    self._change(digest, entry, Entry(entry.value))
                    self._file.substitutes.forget(digest)
                    if entry.request is not None:
                        self._file.owners.add(digest, entry.request)
        except SeenUnavailableError as error:
            logger.warning("%s; pages are not noted as seen", error)
        self.flush()
        self._answered.difference_update(digests)

    async def release(self, digest: bytes) -> str | None:
        """Free the form; gives its oldest substitute, and keeps it until it is claimed."""
        entry = self._entry(digest)
        if entry is None:
            return None
        with _unavailable():
            substitute = self._file.substitutes.give(digest)
        self._answered.discard(digest)
        self._change(digest, entry, None)
        return substitute

    async def abandoned(self, *, is_idle: bool = True) -> list[str]:
        """Free all awaited forms; gives the oldest substitute of each free form."""
        if not is_idle:
            return []
        with _unavailable():
            for digest in self._awaited():
                entry = self._entry(digest)
                if entry is None or digest in self._answered:
                    continue
                if entry.request is not None and unpack(entry.value)[0] != self._run:
                    # neither the queue nor whoever was given it has brought it
                    self._file.substitutes.add(digest, entry.tag, entry.request)
                self._change(digest, entry, None)
            self.flush()
            return self._file.substitutes.give_each(lambda digest: digest not in self._answered, _N_GIVEN)

    def restore(self, digest: bytes, owner: int, rules: int = 0) -> None:
        """The form is seen, unless somebody has it."""
        if self._entry(digest) is None:
            self._change(digest, None, Entry(pack(self._run, rules, owner)))
            if len(self._changes) >= _MAX_CHANGES:
                self.flush()

    async def note(self, key: str, text: str) -> None:
        """Keep a fact."""
        self._facts[f"note {key}"] = text
        self.flush()

    async def noted(self, key: str) -> str | None:
        """The fact kept under *key*."""
        return {**self._file.facts(), **self._facts}.get(f"note {key}")

    async def owner(self, digest: bytes) -> str | None:
        """The request that owns a seen form, if it is kept."""
        entry = self._entry(digest)
        if entry is None or (entry.is_awaited and digest not in self._answered):
            return None
        with _unavailable():
            return entry.request if entry.is_awaited else self._file.owners.get(digest)

    def keep_dropped(self, rules: int, text: str) -> None:
        """Keep a drop, unless the disk is full and too much waits for it already."""
        if self._keeps_texts():
            self._file.dropped.add(rules, text)

    def forget_dropped(self, rules: Collection[int] | None = None) -> None:
        """Let go of kept drops, of all processes."""
        self._file.dropped.forget(rules)

    async def clear(self) -> Cleared:
        """Forget all forms; gives the requests that were awaited, and the substitutes that waited."""
        self.flush()
        with _unavailable():
            requests = {digest: entry.request for digest, entry in self._file.awaited()}
            requests.update((digest, entry and entry.request) for digest, entry in self._changes.items())
            awaited = {text: None for text in requests.values() if text is not None}
            waiting: dict[str, None] = {}
            for each, is_given in self._file.substitutes.all():
                if each.digest not in self._answered:
                    (awaited if is_given else waiting)[each.request] = None
            self._file.clear()
        self._changes.clear()
        self._unseen.clear()
        self._met.clear()
        self._answered.clear()
        self._n = 0
        return Cleared([*awaited], [text for text in waiting if text not in awaited])

    def __len__(self) -> int:
        return self._n

    def flush(self) -> None:
        """Write what is not written yet, unless the disk refused a moment ago."""
        now = time.monotonic()
        if not (self._changes or self._facts or self._file.has_news) or (self._is_failing and now < self._next_flush):
            return
        try:
            self._file.write(self._changes, self._unseen, self._facts)
        except SeenError as error:
            self._next_flush = now + _RETRY_S
            if not self._is_failing:
                self._is_failing = True
                logger.warning("%s; what the crawl sees is kept in memory until it can be written", error)
            return
        self._changes.clear()
        self._unseen.clear()
        self._facts.clear()
        self._next_flush = now + _FLUSH_S
        if self._is_failing:
            self._is_failing = False
            logger.info("%s can be written again", self._path)

    async def close(self, *, is_clean: bool) -> None:
        """Write what is left, and how the crawl ended."""
        self._next_flush = 0.0
        if is_clean:
            self._facts["is_clean"] = "1"  # in one transaction with all that is left
        self.flush()
        self._file.close()

    def _left(self) -> list[str]:
        """Requests of earlier processes; forms whose request could not be written down are freed."""
        texts = []
        for digest, entry in self._file.awaited():
            if entry.request is None:
                self._change(digest, entry, None)
            else:
                texts.append(entry.request)
        self.flush()
        return texts

    def _awaited(self) -> list[bytes]:
        self.flush()
        written = [digest for digest, _ in self._file.awaited() if digest not in self._changes]
        return written + [digest for digest, entry in self._changes.items() if entry is not None and entry.is_awaited]

    def _entry(self, digest: bytes) -> Entry | None:
        if digest not in self._changes and digest in self._met:
            return self._met[digest]
        return self._entries([digest]).get(digest)

    def _entries(self, digests: Sequence[bytes]) -> dict[bytes, Entry]:
        unknown = [digest for digest in dict.fromkeys(digests) if digest not in self._changes]
        with _unavailable():
            entries = self._file.look_up(unknown) if unknown else {}
        changed = {digest: self._changes.get(digest) for digest in digests}
        return entries | {digest: entry for digest, entry in changed.items() if entry is not None}

    def _change(self, digest: bytes, old: Entry | None, new: Entry | None) -> None:
        self._n += self._counts(new) - self._counts(old)
        if new is None or not new.is_awaited:
            self._unseen.discard(digest)
        elif old is not None and not old.is_awaited:
            self._unseen.add(digest)
        self._changes[digest] = new
        self._met.pop(digest, None)

    def _counts(self, entry: Entry | None) -> bool:
        return entry is not None and (not entry.is_awaited or unpack(entry.value)[0] == self._run)

    def _keeps_texts(self) -> bool:
        if not self._is_failing:
            return True
        n_unwritten = len(self._changes) + self._file.substitutes.n_added + self._file.dropped.n_added
        return n_unwritten < _MAX_UNWRITTEN_TEXTS


@contextlib.contextmanager
def _unavailable() -> Iterator[None]:
    """A file that cannot be read while the crawl runs."""
    try:
        yield
    except SeenError as error:
        raise SeenUnavailableError(str(error)) from error
