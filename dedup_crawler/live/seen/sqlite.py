"""The seen set of a crawl that can be resumed: one SQLite file.

What changes is kept in memory until the page it belongs to was processed, and then written as one transaction. So a
process that dies at any moment leaves each form that it claimed *seen*, or *awaited* with its request, or the page
whose link it was in one of these states.

A form that is awaited in an earlier run, or whose substitute was handed out, is *left*: it is free, and its request
stays in the file until somebody claims the form.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from dedup_crawler.errors import SeenError, SeenUnavailableError
from dedup_crawler.live.seen.protocol import NEW_HOLDER, Claimant, Holder, SeenSet, Standing
from dedup_crawler.live.seen.sqlite_file import Entry, SeenFile
from dedup_crawler.live.seen.values import EARLIER, N_RUNS, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

logger = logging.getLogger(__name__)

_MAX_CHANGES = 2_000
_MAX_UNWRITTEN_TEXTS = 100_000
_N_GIVEN = 1_000
_FLUSH_S = 1.0
_RETRY_S = 30.0


class SQLiteSeenSet(SeenSet[str]):
    """Seen and awaited forms in the SQLite file *path*; one process at a time.

    Substitutes lie on disk with the awaited forms, one a form, so their number needs no other bound.
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
            return [] if self._is_queue_kept else self._give_left()
        except BaseException:
            self._file.close()
            raise

    async def claim(self, claims: Sequence[Claimant], invalid: Collection[int] = ()) -> list[Holder]:
        """What each claim found."""
        if len(self._changes) >= _MAX_CHANGES or time.monotonic() >= self._next_flush:
            self.flush()
        entries = self._entries([claim.digest for claim in claims])
        return [self._claim(claim, entries, invalid) for claim in claims]

    def _claim(self, claim: Claimant, entries: dict[bytes, Entry], invalid: Collection[int]) -> Holder:
        entry = entries.get(claim.digest)
        substitute = None
        if entry is not None:
            run, rules, owner = unpack(entry.value)
            if rules not in invalid and not self._is_left(entry, claim.owner):
                if run == self._run and owner == claim.owner:
                    return Holder(Standing.OWN, rules)
                if not entry.is_awaited or claim.digest in self._answered:
                    return Holder(Standing.SEEN, rules)
                return Holder(Standing.AWAITED, rules, entry.substitute is not None)
            # the substitute waits on, unless it is the very URL that claims; else the earlier request does, which may
            # be on its way too, until it is claimed itself
            earlier = f"{owner} {entry.request}" if entry.request is not None and owner else None
            waiting = (text for text in (entry.substitute, earlier) if text is not None)
            substitute = next((text for text in waiting if _tag_of(text) != claim.owner), None)
        request = claim.text() if self._keeps_texts() else None
        taken = Entry(pack(self._run, claim.rules, claim.owner), True, request, substitute)
        if entry is None:  # as most: nothing is known of such a form that would have to be forgotten
            self._changes[claim.digest] = taken
            self._n += 1
        else:
            self._change(claim.digest, entry, taken)
        self._answered.discard(claim.digest)
        entries[claim.digest] = taken
        return NEW_HOLDER if claim.rules == 0 else Holder(Standing.NEW, claim.rules)

    def _is_left(self, entry: Entry, owner: int) -> bool:
        """Whether an awaited form is free for *owner*, because whoever claimed it runs no more."""
        run, _, earlier_owner = unpack(entry.value)
        if not entry.is_awaited or run == self._run:
            return False
        # the requests of a queue that outlived its process come back, each with its owner's tag
        return run == EARLIER or not self._is_queue_kept or earlier_owner == owner

    async def wait(self, digest: bytes, substitute: str, owner: int = 0) -> bool:
        """Keep *substitute*, if none waits for the form."""
        entry = self._entry(digest)
        if entry is None or self._is_left(entry, -1):
            return False
        if entry.is_awaited and digest not in self._answered and entry.substitute is None:
            if not self._keeps_texts():
                return False
            self._change(digest, entry, entry._replace(substitute=f"{owner} {substitute}"))
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
        except SeenUnavailableError as error:
            logger.warning("%s; pages are not noted as seen", error)
        self.flush()
        self._answered.difference_update(digests)

    async def release(self, digest: bytes) -> str | None:
        """Free the form; gives its substitute, and keeps it until it is claimed."""
        entry = self._entry(digest)
        if entry is None or _is_handed_out(entry):
            return None
        return self._free(digest, entry)

    async def abandoned(self, *, is_idle: bool = True) -> list[str]:
        """Free all awaited forms; gives their substitutes."""
        texts: list[str] = []
        for digest in self._awaited() if is_idle else ():
            entry = self._entry(digest)
            if entry is None or digest in self._answered or _is_handed_out(entry):
                continue
            if (text := self._free(digest, entry)) is not None:
                texts.append(text)
                if len(texts) == _N_GIVEN:
                    break
        self.flush()
        return texts

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

    async def clear(self) -> list[str]:
        """Forget all forms; gives the requests that were awaited."""
        self.flush()
        requests = {digest: entry.request for digest, entry in self._file.awaited()}
        requests.update((digest, entry and entry.request) for digest, entry in self._changes.items())
        self._file.clear()
        self._changes.clear()
        self._unseen.clear()
        self._answered.clear()
        self._n = 0
        return [text for text in requests.values() if text is not None]

    def __len__(self) -> int:
        return self._n

    def flush(self) -> None:
        """Write what is not written yet, unless the disk refused a moment ago."""
        now = time.monotonic()
        if not (self._changes or self._facts) or (self._is_failing and now < self._next_flush):
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

    def _free(self, digest: bytes, entry: Entry) -> str | None:
        """Hand out the substitute of a form, and keep it where requests are kept."""
        self._answered.discard(digest)
        self._change(digest, entry, None if entry.substitute is None else _handed_out(entry.substitute))
        return None if entry.substitute is None else _text_of(entry.substitute)

    def _give_left(self) -> list[str]:
        """Requests and substitutes of earlier processes."""
        texts = []
        for digest, entry in self._file.awaited():
            text = entry.request
            if text is None:
                text = entry.substitute
                self._change(digest, entry, None if text is None else _handed_out(text))
                text = None if text is None else _text_of(text)
            if text is not None:
                texts.append(text)
        self.flush()
        return texts

    def _awaited(self) -> list[bytes]:
        self.flush()
        written = [digest for digest, _ in self._file.awaited() if digest not in self._changes]
        return written + [digest for digest, entry in self._changes.items() if entry is not None and entry.is_awaited]

    def _entry(self, digest: bytes) -> Entry | None:
        return self._entries([digest]).get(digest)

    def _entries(self, digests: Sequence[bytes]) -> dict[bytes, Entry]:
        unknown = [digest for digest in dict.fromkeys(digests) if digest not in self._changes]
        try:
            entries = self._file.look_up(unknown) if unknown else {}
        except SeenError as error:
            raise SeenUnavailableError(str(error)) from error
        changed = {digest: self._changes.get(digest) for digest in digests}
        return entries | {digest: entry for digest, entry in changed.items() if entry is not None}

    def _change(self, digest: bytes, old: Entry | None, new: Entry | None) -> None:
        self._n += self._counts(new) - self._counts(old)
        if new is None or not new.is_awaited:
            self._unseen.discard(digest)
        elif old is not None and not old.is_awaited:
            self._unseen.add(digest)
        self._changes[digest] = new

    def _counts(self, entry: Entry | None) -> bool:
        return entry is not None and (not entry.is_awaited or unpack(entry.value)[0] == self._run)

    def _keeps_texts(self) -> bool:
        return not self._is_failing or len(self._changes) < _MAX_UNWRITTEN_TEXTS


def _handed_out(substitute: str) -> Entry:
    owner, _, text = substitute.partition(" ")
    return Entry(pack(EARLIER, 0, int(owner)), is_awaited=True, request=text)


def _tag_of(substitute: str) -> int:
    return int(substitute.partition(" ")[0])


def _text_of(substitute: str) -> str:
    """The request of a substitute, which is kept behind the tag of its URL."""
    return substitute.partition(" ")[2]


def _is_handed_out(entry: Entry) -> bool:
    return entry.is_awaited and unpack(entry.value)[0] == EARLIER
