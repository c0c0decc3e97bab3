"""Pages out of tables: the CSV feeds of Scrapy, and the internal tab of Screaming Frog SEO Spider.

The first row that names a URL is the header (old exports have a title above it); cells are separated by what makes it
one: comma, semicolon or tab. A page that Screaming Frog did not fetch (status 0: robots.txt, no answer) is skipped.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from dedup_crawler.pages.compression import Gap
from dedup_crawler.pages.entry_reader import EntryReader
from dedup_crawler.pages.fields import PLAIN_NAMES, SCREAMING_FROG_NAMES, Names, has_field, page_of, with_given
from dedup_crawler.pages.text_lines import bounded_lines
from dedup_crawler.pages.utf8 import as_utf8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from dedup_crawler.pages.records import Page

_MAX_CELL = 2**26  # bytes; an open quote would take in the rest of the file
_TITLE_ROWS = 3
_SEPARATORS = ",;\t"
_TOLD = ("content", "text", "digest", "status", "redirect_to", "canonical_link", "referrer")


class TableReader(EntryReader):
    """Reads the rows of one file as pages, but for the header; *given* is what the user calls the fields.

    Rows behind a :class:`Gap` are not read, because nobody knows whether a quote is open there.
    """

    def __init__(
        self,
        chunks: Iterable[bytes | Gap],
        on_damage: Callable[[int, str], None],
        start: int = 0,
        given: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(as_utf8(chunks), on_damage, start)
        self._lines = bounded_lines(self._chunks, _MAX_CELL)
        self._given = given or {}
        self._offset = 0

    def __iter__(self) -> Iterator[Page]:
        limit = csv.field_size_limit(_MAX_CELL)
        try:
            yield from self._pages()
        except csv.Error as error:
            self._on_damage(self._offset, f"row {self.n_records + 1}: {error}; the rest is not read")
        finally:
            csv.field_size_limit(limit)

    def _pages(self) -> Iterator[Page]:
        found = self._header()
        if found is None:
            self._on_damage(0, "no row names a URL")
            return
        columns, names, separator = found
        for cells in csv.reader(self._texts(), delimiter=separator):
            self.n_records += 1
            if self.n_records <= self._start or not any(cells):
                continue
            fields = dict(zip(columns, cells, strict=False))
            if names["url"] == SCREAMING_FROG_NAMES["url"] and fields.get("status code", "0") in ("0", ""):
                continue
            try:
                if len(cells) != len(columns):
                    raise ValueError(f"{len(cells)} cells below {len(columns)} columns")
                page = page_of(fields, names)
            except ValueError as error:
                self._on_damage(self._offset, f"row {self.n_records}: {error}")
            else:
                yield page

    def _header(self) -> tuple[list[str], Names, str] | None:
        for _, line in zip(range(_TITLE_ROWS), self._texts(), strict=False):
            if (found := columns_of(line, self._given)) is not None:
                return found
        return None

    def _texts(self) -> Iterator[str]:
        """Lines with their ends, until one is missing."""
        for offset, line in self._lines:
            self._offset = offset
            if line is None or isinstance(line, Gap):
                reason = line.reason if isinstance(line, Gap) else f"a line of more than {_MAX_CELL} bytes"
                self._on_damage(offset, f"row {self.n_records + 1}: {reason}; the rest is not read")
                return
            yield line.decode(errors="replace") + "\n"


def columns_of(line: str, given: Mapping[str, str] | None = None) -> tuple[list[str], Names, str] | None:
    """Columns (in lower case), what the fields are called, and the separator, if *line* is such a header."""
    if line.count('"') % 2:
        return None
    for separator in _SEPARATORS:
        columns = [name.strip().lower() for name in next(csv.reader([line], delimiter=separator), [])]
        for plain in (PLAIN_NAMES, SCREAMING_FROG_NAMES):
            names = with_given(plain, given or {})
            if has_field(columns, "url", names) and any(has_field(columns, each, names) for each in _TOLD):
                return columns, names, separator
    return None
