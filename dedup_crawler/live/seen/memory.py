"""The seen set of a crawl that is not to be resumed: it lives and dies with the process."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from dedup_crawler.live.seen.protocol import NEW_HOLDER, Claimant, Holder, SeenSet, Standing
from dedup_crawler.live.seen.table import DigestTable
from dedup_crawler.live.seen.values import pack, unpack

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

T = TypeVar("T")

_THIS_RUN = 1


class MemorySeenSet(SeenSet[T]):
    """Seen forms in a :class:`DigestTable`; awaited ones in a dict, which is quicker: they are links, not pages.

    Parameters
    ----------
    max_substitutes
        How many substitutes may wait at any time, over all forms. Where no more fit, :meth:`wait` says no: fetching a
        page twice costs less than losing it.
    """

    is_durable = False
    is_local = True

    def __init__(self, *, max_substitutes: int = 10_000) -> None:
        self._max_substitutes = max_substitutes
        self._seen = DigestTable()
        self._awaited: dict[bytes, int] = {}
        self._substitutes: dict[bytes, T] = {}  # of awaited forms
        self._facts: dict[str, str] = {}

    async def open(self, *, queue_survives: bool = False, killed: str | None = None) -> list[str]:
        """Nothing is left of an earlier process."""
        return []

    async def claim(self, claims: Sequence[Claimant], invalid: Collection[int] = ()) -> list[Holder]:
        """What each claim found."""
        return [self._claim(claim, invalid) for claim in claims]

    def _claim(self, claim: Claimant, invalid: Collection[int]) -> Holder:
        digest = claim.digest
        value = self._awaited.get(digest)
        is_awaited = value is not None
        if value is None:
            value = self._seen.get(digest)
        if value is not None:
            run, rules, owner = unpack(value)
            if rules not in invalid:
                if run == _THIS_RUN and owner == claim.owner:
                    return Holder(Standing.OWN, rules)
                if not is_awaited:
                    return Holder(Standing.SEEN, rules)
                return Holder(Standing.AWAITED, rules, digest in self._substitutes)
            self._seen.discard(digest)
        # taken over from its owner, it keeps the substitute
        self._awaited[digest] = pack(_THIS_RUN, claim.rules, claim.owner)
        return NEW_HOLDER if claim.rules == 0 else Holder(Standing.NEW, claim.rules)

    async def wait(self, digest: bytes, substitute: T, owner: int = 0) -> bool:
        """Keep *substitute*, if there is room and none waits for the form."""
        if digest not in self._awaited:
            return self._seen.get(digest) is not None
        if digest not in self._substitutes:
            if len(self._substitutes) >= self._max_substitutes:
                return False
            self._substitutes[digest] = substitute
        return True

    async def is_awaited(self, digest: bytes) -> bool:
        """Whether the answer has not come."""
        return digest in self._awaited

    def answered(self, digest: bytes) -> None:
        """The form is seen."""
        if (value := self._awaited.pop(digest, None)) is not None:
            self._seen.put(digest, value)
            self._substitutes.pop(digest, None)

    def processed(self, digests: Iterable[bytes]) -> None:
        """The forms are seen."""
        for digest in digests:
            self.answered(digest)

    async def release(self, digest: bytes) -> T | None:
        """Free the form; gives its substitute."""
        self._seen.discard(digest)
        self._awaited.pop(digest, None)
        return self._substitutes.pop(digest, None)

    async def abandoned(self, *, is_idle: bool = True) -> list[T | str]:
        """Free all awaited forms; gives their substitutes."""
        if not is_idle:
            return []
        substitutes: list[T | str] = [*self._substitutes.values()]
        self._awaited.clear()
        self._substitutes.clear()
        return substitutes

    def restore(self, digest: bytes, owner: int, rules: int = 0) -> None:
        """The form is seen, unless somebody has it."""
        if digest not in self._awaited and self._seen.get(digest) is None:
            self._seen.put(digest, pack(_THIS_RUN, rules, owner))

    async def note(self, key: str, text: str) -> None:
        """Keep a fact."""
        self._facts[key] = text

    async def noted(self, key: str) -> str | None:
        """The fact kept under *key*."""
        return self._facts.get(key)

    async def clear(self) -> list[str]:
        """Forget all forms; their requests are lost with the process anyway."""
        self._seen = DigestTable()
        self._awaited.clear()
        self._substitutes.clear()
        return []

    def __len__(self) -> int:
        return len(self._seen) + len(self._awaited)

    async def close(self, *, is_clean: bool) -> None:
        """Nothing is to be done."""
