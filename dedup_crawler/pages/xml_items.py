"""Pages out of an XML feed of Scrapy: a root, an element an item, an element a field. No DTD, no entities."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from dedup_crawler.pages.compression import Gap
from dedup_crawler.pages.entry_reader import EntryReader
from dedup_crawler.pages.fields import PLAIN_NAMES, Names, page_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dedup_crawler.pages.records import Page

_MAX_ITEM = 2**28


class ElementReader(EntryReader):
    """Reads the elements below the root of one file as pages; *names* are those of the fields.

    What lies behind a :class:`Gap` is not read.
    """

    def __init__(
        self,
        chunks: Iterable[bytes | Gap],
        on_damage: Callable[[int, str], None],
        start: int = 0,
        names: Names = PLAIN_NAMES,
    ) -> None:
        super().__init__(chunks, on_damage, start)
        self._source = _Source(chunks)
        self._names = names

    def __iter__(self) -> Iterator[Page]:
        try:
            for fields in self._items():
                self.n_records += 1
                if self.n_records <= self._start:
                    continue
                try:
                    page = page_of(fields, self._names)
                except ValueError as error:
                    self._on_damage(self._source.n_read, f"item {self.n_records}: {error}")
                else:
                    yield page
        except (ParseError, DefusedXmlException, ValueError, LookupError) as error:  # LookupError: unknown encoding
            reason = self._source.gap or " ".join(str(error).split())
            self._on_damage(self._source.n_read, f"item {self.n_records + 1}: {reason}; the rest is not read")

    def _items(self) -> Iterator[dict[str, str]]:
        depth = 0
        root: Element | None = None
        for event, element in iterparse(self._source, ("start", "end"), forbid_dtd=True):
            depth += 1 if event == "start" else -1
            if root is None:
                root = element
            elif event == "end" and depth == 1:
                self._source.n_since = 0
                yield {field.tag.lower(): field.text or "" for field in element}
                root.clear()  # or the whole feed stays in memory


class _Source:
    """Chunks as a file, for the parser."""

    def __init__(self, chunks: Iterable[bytes | Gap]) -> None:
        self._chunks = iter(chunks)
        self.n_read = 0
        self.n_since = 0
        """Bytes since the last item."""
        self.gap = ""

    def read(self, _size: int = -1) -> bytes:
        chunk = next(self._chunks, b"")
        if isinstance(chunk, Gap):
            self.gap = chunk.reason
            raise ValueError(chunk.reason)
        self.n_read += len(chunk)
        self.n_since += len(chunk)
        if self.n_since > _MAX_ITEM:
            raise ValueError(f"an item of more than {_MAX_ITEM} bytes")
        return chunk
