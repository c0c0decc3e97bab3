"""Requests dropped after the owner of their form was answered, which can be fetched in the owner's place.

A seen set keeps substitutes only until the owner is answered. But a good answer may later turn out to be a log-in page,
when many other URLs get the same answer.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_ALL = 20_000
"""Maximum of kept requests over all forms; the forms with the least recent drops lose theirs first."""


class Alternatives(Generic[T]):
    """Form -> dropped duplicates by URL, oldest first.

    Parameters
    ----------
    max_all
        Maximum of kept requests over all forms, 1 or more.
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
        """Keep a dropped request, unless its URL is kept already."""
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
        """Remove and return the oldest dropped request of a form."""
        kept = self._of.get(form)
        if not kept:
            return None
        taken = kept.pop(next(iter(kept)))
        self._n -= 1
        if not kept:
            del self._of[form]
        return taken

    def forget(self, form: bytes, url: str) -> None:
        """Remove the request for *url*: it has been sent."""
        kept = self._of.get(form)
        if kept is not None and kept.pop(url, None) is not None:
            self._n -= 1
            if not kept:
                del self._of[form]
