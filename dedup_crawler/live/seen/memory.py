"""Seen set in memory, for a crawl that is not resumed; choice of the set of a crawl."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from dedup_crawler.errors import BadInputError
from dedup_crawler.live.seen.protocol import DIGEST_SIZE, OWNER_MASK, Claim, Cleared, Holder, SeenSet, Standing

MAX_SUBSTITUTES = 200_000
"""Maximum of waiting substitutes over all forms; the next one is fetched, because losing a page costs more."""
_VALUE_SIZE = 4
_SIZE = DIGEST_SIZE + _VALUE_SIZE
_N_BUCKETS = 1 << 14


class PackedOwners:
    """Form -> code of the owner's rules, and its tag under OWNER_MASK: 20 bytes an entry, where a dict takes 140.

    Entries lie behind each other in buckets. Python's keyed hash chooses the bucket, so no site can fill one of them.
    """

    def __init__(self) -> None:
        self._buckets: dict[int, bytearray] = {}
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def get(self, digest: bytes) -> int | None:
        """Return the value of a form, if it has one."""
        bucket, place = self._found(digest)
        return None if place < 0 else int.from_bytes(bucket[place + DIGEST_SIZE : place + _SIZE], "little")

    def put(self, digest: bytes, value: int) -> None:
        """Set the value of a form."""
        self.discard(digest)
        bucket = self._buckets.setdefault(hash(digest) % _N_BUCKETS, bytearray())
        bucket += digest + value.to_bytes(_VALUE_SIZE, "little")
        self._n += 1

    def discard(self, digest: bytes) -> bool:
        """Remove a form; return True if it was there."""
        bucket, place = self._found(digest)
        if place >= 0:
            del bucket[place : place + _SIZE]
            self._n -= 1
        return place >= 0

    def _found(self, digest: bytes) -> tuple[bytearray, int]:
        """Return the bucket of a form, and the place of its entry there; -1 if there is none."""
        bucket = self._buckets.get(hash(digest) % _N_BUCKETS, bytearray())
        place = bucket.find(digest)
        while place > 0 and place % _SIZE:  # the same bytes across two entries
            place = bucket.find(digest, place + 1)
        return bucket, place


class MemorySeenSet(SeenSet):
    """Owners of seen and awaited forms, packed."""

    is_durable = False
    is_local = True

    def __init__(self) -> None:
        self._owners = PackedOwners()
        self._awaited: set[bytes] = set()
        self._substitutes: dict[bytes, dict[int, Any]] = {}  # awaited or free form -> tag of the URL -> request
        self._n_substitutes = 0
        self._facts: dict[str, str] = {}

    async def open(self, *, queue_survives: bool = False, killed: str | None = None) -> list[str]:
        """Return nothing: no earlier process left anything."""
        return []

    async def claim(self, claims: Sequence[Claim], invalid: Collection[int] = ()) -> list[Holder]:
        """Return the finding of each claim."""
        return [self._claim(claim, invalid) for claim in claims]

    def _claim(self, claim: Claim, invalid: Collection[int]) -> Holder:
        digest = claim.digest
        value = self._owners.get(digest)
        if value is not None and (rules := value >> 16) not in invalid:
            is_awaited = digest in self._awaited
            if value & OWNER_MASK == claim.owner & OWNER_MASK:
                return Holder(Standing.OWN if is_awaited else Standing.OWN_SEEN, rules)
            return Holder(Standing.AWAITED if is_awaited else Standing.SEEN, rules)
        if claim.owner in self._substitutes.get(digest, ()):
            self._take(digest, claim.owner)  # the other substitutes go on waiting
        self._owners.put(digest, _value(claim))
        self._awaited.add(digest)
        return Holder(Standing.NEW, claim.rules)

    async def wait(self, digest: bytes, substitute: Any, owner: int) -> bool:
        """Keep *substitute*, if there is room."""
        if digest not in self._awaited:
            return self._owners.get(digest) is not None
        waiting = self._substitutes.get(digest, {})
        if owner not in waiting:
            if self._n_substitutes >= MAX_SUBSTITUTES:
                return False
            waiting[owner] = substitute
            self._substitutes[digest] = waiting
            self._n_substitutes += 1
        return True

    def answered(self, digest: bytes) -> None:
        """Note that the form is seen."""
        if digest in self._awaited:
            self._awaited.discard(digest)
            self._n_substitutes -= len(self._substitutes.pop(digest, ()))

    def processed(self, digests: Iterable[bytes]) -> None:
        """Note that the forms are seen."""
        for digest in digests:
            self.answered(digest)

    async def release(self, digest: bytes) -> Any:
        """Free the form; return its oldest substitute."""
        is_taken = self._owners.discard(digest)
        self._awaited.discard(digest)
        return self._take(digest) if is_taken and digest in self._substitutes else None

    async def abandoned(self, *, is_idle: bool = True) -> list[Any]:
        """Free all awaited forms; return the oldest substitute of each form that has any."""
        if not is_idle:
            return []
        for digest in self._awaited:
            self._owners.discard(digest)
        self._awaited.clear()
        return [self._take(digest) for digest in [*self._substitutes]]

    def _take(self, digest: bytes, tag: int | None = None) -> Any:
        """Remove and return the substitute whose URL has *tag*, or the oldest one."""
        waiting = self._substitutes[digest]
        self._n_substitutes -= 1
        substitute = waiting.pop(next(iter(waiting)) if tag is None else tag)
        if not waiting:
            del self._substitutes[digest]
        return substitute

    def restore(self, claims: Sequence[Claim]) -> None:
        """Mark the forms as seen, unless they are claimed."""
        for claim in claims:
            if self._owners.get(claim.digest) is None:
                self._owners.put(claim.digest, _value(claim))

    async def note(self, key: str, text: str) -> None:
        """Keep a fact."""
        self._facts[key] = text

    async def noted(self, key: str) -> str | None:
        """Return the fact kept under *key*."""
        return self._facts.get(key)

    async def clear(self) -> Cleared:
        """Forget all forms; return the waiting substitutes."""
        waiting = [each for substitutes in self._substitutes.values() for each in substitutes.values()]
        self._owners = PackedOwners()
        self._awaited.clear()
        self._substitutes.clear()
        self._n_substitutes = 0
        return Cleared([], waiting)

    def __len__(self) -> int:
        return len(self._owners)

    async def close(self, *, is_clean: bool) -> None:
        """Do nothing."""


def _value(claim: Claim) -> int:
    return claim.rules << 16 | claim.owner & OWNER_MASK


def open_seen(setting: str | None, job_dir: Path | None) -> SeenSet:
    """Return the seen set that *setting* names, not opened yet.

    It is ``memory``; a path, or ``sqlite:///PATH`` (with four slashes the path is absolute); or
    ``redis://HOST:PORT/DB?name=NAME``. None: ``dedup.seen`` in *job_dir*, the folder of a crawl that can be resumed, or
    memory without one.

    BadInputError if *setting* is none of these. MissingExtraError if it is in Redis and the package ``redis`` is not
    installed.
    """
    if setting is None:
        return MemorySeenSet() if job_dir is None else _sqlite(job_dir / "dedup.seen")
    if setting == "memory":
        return MemorySeenSet()
    scheme, separator, rest = setting.partition("://")
    if not separator and ("/" in setting or "." in setting):  # so that a misspelt word does not count as a path
        return _sqlite(Path(setting))
    if scheme == "sqlite" and len(rest) > 1 and rest.startswith("/"):
        return _sqlite(Path(rest[1:]))
    if scheme in ("redis", "rediss", "unix"):
        from dedup_crawler.live.seen.redis import RedisSeenSet

        return RedisSeenSet(setting)
    raise BadInputError(
        f"{scheme + separator!r} is no place for seen forms: give 'memory', the path of a file (with a / or a dot), or "
        "redis://HOST:PORT/DB?name=NAME"
    )


def _sqlite(path: Path) -> SeenSet:
    from dedup_crawler.live.seen.sqlite import SQLiteSeenSet  # other crawls need not load SQLAlchemy

    return SQLiteSeenSet(path)
