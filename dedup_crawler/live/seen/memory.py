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
    """Seen forms in a :class:`DigestTable`, awaited ones in a dict beside it.

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
        self._owners = DigestTable()
        self._awaited: dict[bytes, T | None] = {}  # form whose answer has not come -> its substitute
        self._n_substitutes = 0
        self._facts: dict[str, str] = {}

    async def open(self, *, queue_survives: bool = False, killed: str | None = None) -> list[str]:
        """Nothing is left of an earlier process."""
        return []

    async def claim(self, claims: Sequence[Claimant], invalid: Collection[int] = ()) -> list[Holder]:
        """What each claim found."""
        return [self._claim(claim, invalid) for claim in claims]

    def _claim(self, claim: Claimant, invalid: Collection[int]) -> Holder:
        own = pack(_THIS_RUN, claim.rules, claim.owner)
        value = self._owners.setdefault(claim.digest, own)
        if value is not None:
            run, rules, owner = unpack(value)
            if rules not in invalid:
                if run == _THIS_RUN and owner == claim.owner:
                    return Holder(Standing.OWN, rules)
                if claim.digest not in self._awaited:
                    return Holder(Standing.SEEN, rules)
                return Holder(Standing.AWAITED, rules, self._awaited[claim.digest] is not None)
            self._owners.put(claim.digest, own)
        self._awaited.setdefault(claim.digest, None)  # taken over from its owner, it keeps the substitute
        return NEW_HOLDER if claim.rules == 0 else Holder(Standing.NEW, claim.rules)

    async def wait(self, digest: bytes, substitute: T, owner: int = 0) -> bool:
        """Keep *substitute*, if there is room and none waits for the form."""
        if digest not in self._awaited:
            return self._owners.get(digest) is not None
        if self._awaited[digest] is None:
            if self._n_substitutes >= self._max_substitutes:
                return False
            self._awaited[digest] = substitute
            self._n_substitutes += 1
        return True

    async def is_awaited(self, digest: bytes) -> bool:
        """Whether the answer has not come."""
        return digest in self._awaited

    def answered(self, digest: bytes) -> None:
        """The form is seen."""
        self._forget_substitute(digest)

    def processed(self, digests: Iterable[bytes]) -> None:
        """The forms are seen."""
        for digest in digests:
            self._forget_substitute(digest)

    async def release(self, digest: bytes) -> T | None:
        """Free the form; gives its substitute."""
        self._owners.discard(digest)
        return self._forget_substitute(digest)

    async def abandoned(self, *, is_idle: bool = True) -> list[T | str]:
        """Free all awaited forms; gives their substitutes."""
        if not is_idle:
            return []
        substitutes: list[T | str] = [substitute for substitute in self._awaited.values() if substitute is not None]
        for digest in self._awaited:
            self._owners.discard(digest)
        self._awaited.clear()
        self._n_substitutes = 0
        return substitutes

    def restore(self, digest: bytes, owner: int, rules: int = 0) -> None:
        """The form is seen, unless somebody has it."""
        if self._owners.get(digest) is None:
            self._owners.put(digest, pack(_THIS_RUN, rules, owner))

    async def note(self, key: str, text: str) -> None:
        """Keep a fact."""
        self._facts[key] = text

    async def noted(self, key: str) -> str | None:
        """The fact kept under *key*."""
        return self._facts.get(key)

    async def clear(self) -> list[str]:
        """Forget all forms; their requests are lost with the process anyway."""
        self._owners = DigestTable()
        self._awaited.clear()
        self._n_substitutes = 0
        return []

    def __len__(self) -> int:
        return len(self._owners)

    async def close(self, *, is_clean: bool) -> None:
        """Nothing is to be done."""

    def _forget_substitute(self, digest: bytes) -> T | None:
        substitute = self._awaited.pop(digest, None)
        if substitute is not None:
            self._n_substitutes -= 1
        return substitute
