"""Explored duplicates that wait for the owner's page, to be compared with it."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from dedup_crawler.live.comparing.owner_pages import FetchedPage

MAX_BYTES = 16 * 2**20
_OVERHEAD = 500


class Duplicate(NamedTuple):
    """The page of an explored duplicate."""

    rules: tuple[str, ...]
    page: FetchedPage


class AwaitedOwners:
    """Form -> its waiting duplicates; when memory is full, those of the longest waiting form are given up."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._of: OrderedDict[bytes, list[Duplicate]] = OrderedDict()
        self._n_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._of)

    def add(self, form: bytes, duplicate: Duplicate) -> list[Duplicate]:
        """Keep a page until the owner of *form* comes; return the pages given up for lack of room."""
        self._of.setdefault(form, []).append(duplicate)
        self._n_bytes += _size(duplicate)
        given_up: list[Duplicate] = []
        while self._n_bytes > self._max_bytes:
            given_up += self.take(next(iter(self._of)))
        return given_up

    def take(self, form: bytes) -> list[Duplicate]:
        """Remove and return the duplicates of *form*."""
        taken = self._of.pop(form, [])
        self._n_bytes -= sum(map(_size, taken))
        return taken

    def take_all(self) -> list[Duplicate]:
        """Remove and return all duplicates: no owner will come any more."""
        taken = [duplicate for each in self._of.values() for duplicate in each]
        self._of.clear()
        self._n_bytes = 0
        return taken


def _size(duplicate: Duplicate) -> int:
    return len(duplicate.page.packed) + _OVERHEAD
