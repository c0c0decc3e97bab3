"""Pages out of a JSON array of objects, the ``json`` feed of Scrapy: read an object at a time, however long the array.

Only brackets and quotes are looked at to find where an object ends; what lies between is then read by the JSON parser.
So an object that is no JSON costs itself alone.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from dedup_crawler.pages.compression import Gap
from dedup_crawler.pages.entry_reader import EntryReader
from dedup_crawler.pages.fields import PLAIN_NAMES, Names, page_of
from dedup_crawler.pages.utf8 import as_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dedup_crawler.pages.records import Page

_MAX_ITEM = 2**28
_MARK = re.compile(rb'["{}\[\]]')
_IN_STRING = re.compile(rb'["\\]')


class ItemReader(EntryReader):
    """Reads the objects of one file as pages; *names* are those of the fields.

    What lies behind a :class:`Gap` is not read, because nobody knows whether a string is open there.
    """

    def __init__(
        self,
        chunks: Iterable[bytes | Gap],
        on_damage: Callable[[int, str], None],
        start: int = 0,
        names: Names = PLAIN_NAMES,
    ) -> None:
        super().__init__(as_utf8(chunks), on_damage, start)
        self._names = names

    def __iter__(self) -> Iterator[Page]:
        cutter = _Cutter()
        for chunk in self._chunks:
            if isinstance(chunk, Gap):
                self._on_damage(cutter.offset, f"item {self.n_records + 1}: {chunk.reason}; the rest is not read")
                return
            for offset, item in cutter.items(chunk):
                self.n_records += 1
                if self.n_records <= self._start:
                    continue
                try:
                    if item is None:
                        raise ValueError(f"more than {_MAX_ITEM} bytes")
                    page = page_of(json.loads(item), self._names)
                except (ValueError, OverflowError, RecursionError) as error:
                    self._on_damage(offset, f"item {self.n_records}: {error}")
                else:
                    yield page
        if not cutter.is_closed:
            self._on_damage(cutter.offset, f"item {self.n_records + 1}: the file is cut off")


class _Cutter:
    """Cuts the bytes of an array into its objects."""

    def __init__(self) -> None:
        self.offset = 0
        """Of the next byte."""
        self._depth = 0
        self._in_string = self._is_escaped = False
        self._parts: list[bytes] = []
        self._n_bytes = 0

    @property
    def is_closed(self) -> bool:
        """Whether the array has ended."""
        return self._depth <= 0

    def items(self, chunk: bytes) -> Iterator[tuple[int, bytes | None]]:
        """Offset and bytes of each object that ends in *chunk*; None for one that is too large."""
        if not chunk:
            return
        start, place = 0, int(self._is_escaped)
        self._is_escaped = False
        while True:
            mark = (_IN_STRING if self._in_string else _MARK).search(chunk, place)
            if mark is None:
                break
            place = mark.end()
            character = mark[0]
            if character == b"\\":
                self._is_escaped = place >= len(chunk)
                place += 1
            elif character == b'"':
                self._in_string = not self._in_string
            elif character in b"[{":
                self._depth += 1
                if self._depth == 2:
                    start = mark.start()
            else:
                self._depth -= 1
                if self._depth == 1:
                    self._keep(chunk[start:place])
                    item = b"".join(self._parts) if self._n_bytes <= _MAX_ITEM else None
                    yield self.offset + place - self._n_bytes, item
                    self._parts, self._n_bytes = [], 0
        if self._depth > 1:
            self._keep(chunk[start:])
        self.offset += len(chunk)

    def _keep(self, part: bytes) -> None:
        self._n_bytes += len(part)
        if self._n_bytes <= _MAX_ITEM:
            self._parts.append(part)
        else:
            self._parts = []
