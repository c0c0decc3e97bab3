"""The other URLs of a form that were dropped after its owner was answered, to be fetched in the owner's place.

A seen set keeps them only until the owner is answered. But a good answer may turn out to be a log-in page when many
others have got the same.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_ALL = 20_000
"""Requests that are kept, of all forms together; forms whose requests were dropped longest ago lose theirs first."""


class Alternatives(Generic[T]):
    """Form -> what was dropped as its duplicate, by URL, oldest first.

    Parameters
    ----------
    max_all
        Bound, 1 or more, on what is kept for all forms together.
    """

    def __init__(self, max_all: int = MAX_ALL) -> None:
        self._max_all = max_all
        self._of: OrderedDict[bytes, dict[str, T]] = OrderedDict()
        self._n = 0

    def __len__(self) -> int:
        return self._n

    def __contains__(self, form: bytes) -> bool:
        return form in self._of

    def add(self, form: bytes, url: str, dropped: T) -> None:
        """Keep a drop, unless this URL is kept already."""
        kept = self._of.get(form)
        if kept is None:
            kept = self._of[form] = {}
        else:
            self._of.move_to_end(form)
        if url not in kept:
            kept[url] = dropped
            self._n += 1
        while self._n > self._max_all:
            if len(self._of) > 1:
                self._n -= len(self._of.popitem(last=False)[1])
            else:
                del kept[next(iter(kept))]
                self._n -= 1

    def take(self, form: bytes) -> T | None:
        """Give the oldest one, and keep it no longer."""
        kept = self._of.get(form)
        if not kept:
            return None
        taken = kept.pop(next(iter(kept)))
        self._n -= 1
        if not kept:
            del self._of[form]
        return taken

    def forget(self, form: bytes, url: str) -> None:
        """Keep the request for *url* no longer: it is on its way."""
        kept = self._of.get(form)
        if kept is not None and kept.pop(url, None) is not None:
            self._n -= 1
            if not kept:
                del self._of[form]
