"""Which URL stands for each canonical form of a crawl.

The first URL of a form *owns* it. While its answer is awaited, one other URL of the form may wait as its *substitute*.
A good answer *confirms* the form and the substitute is forgotten; a failure *releases* it, and the substitute is to be
fetched in its place. Plain state: no clock, no network, no Scrapy.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import xxhash

T = TypeVar("T")

_TAGS = tuple(range(1 << 16))
"""Owners are told apart by 16 bits, and the integers are shared: a form costs its digest and a slot in a dict, not an
integer of its own. Two URLs of one form that have the same tag are both fetched: 1 pair in 65,536."""


class Ownership(Generic[T]):
    """Canonical form -> owner, for one crawl.

    Parameters
    ----------
    max_substitutes
        How many substitutes may wait at any time, over all forms. Where no more fit, :meth:`may_drop` says no:
        fetching a page twice costs less than losing it.
    """

    def __init__(self, *, max_substitutes: int = 10_000) -> None:
        self._max_substitutes = max_substitutes
        self._owners: dict[bytes, int] = {}
        self._awaited: dict[bytes, T | None] = {}  # unconfirmed form -> its substitute
        self._n_substitutes = 0

    def __len__(self) -> int:
        """Forms that have an owner."""
        return len(self._owners)

    def claim(self, form: str, url: str) -> bool:
        """Say that *url* is about to be fetched; True if it owns *form*, now or already."""
        digest = _digest(form)
        tag = _tag(url)
        owner = self._owners.get(digest)
        if owner is None:
            self._owners[digest] = tag
            self._awaited[digest] = None
            return True
        return owner == tag

    def restore(self, form: str, url: str) -> None:
        """Say that *url* was fetched by an earlier crawl."""
        self._owners.setdefault(_digest(form), _tag(url))

    def may_drop(self, form: str, substitute: T) -> bool:
        """Whether a URL that does not own *form* can be dropped without the risk of losing the page.

        While the form awaits its owner's answer, the first *substitute* is kept for it.
        """
        digest = _digest(form)
        if digest not in self._awaited or self._awaited[digest] is not None:
            return True
        if self._n_substitutes >= self._max_substitutes:
            return False
        self._awaited[digest] = substitute
        self._n_substitutes += 1
        return True

    def confirm(self, form: str, url: str) -> None:
        """Say that *form* was answered well, by *url*."""
        digest = _digest(form)
        self._forget_substitute(digest)
        self._owners.setdefault(digest, _tag(url))

    def release(self, form: str) -> T | None:
        """Say that the owner of *form* failed; gives the substitute to fetch.

        Nothing happens to a form that was confirmed or that nobody claimed.
        """
        digest = _digest(form)
        if digest not in self._awaited:
            return None
        del self._owners[digest]
        return self._forget_substitute(digest)

    def release_awaited(self) -> list[T]:
        """Release every form whose answer never came; gives all substitutes to fetch.

        For the moment when nothing is in flight any more: then some part of the crawl swallowed the owner.
        """
        substitutes = [substitute for substitute in self._awaited.values() if substitute is not None]
        for digest in [digest for digest, substitute in self._awaited.items() if substitute is not None]:
            del self._owners[digest]
            self._forget_substitute(digest)
        return substitutes

    def _forget_substitute(self, digest: bytes) -> T | None:
        substitute = self._awaited.pop(digest, None)
        if substitute is not None:
            self._n_substitutes -= 1
        return substitute


def _digest(form: str) -> bytes:
    return xxhash.xxh3_128_digest(form.encode("utf-8", "surrogatepass"))


def _tag(url: str) -> int:
    return _TAGS[xxhash.xxh3_64_intdigest(url.encode("utf-8", "surrogatepass")) & 0xFFFF]
