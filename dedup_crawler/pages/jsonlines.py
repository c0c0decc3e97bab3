"""Pages out of JSON lines: one object a line, as crawlers and data sets write them (:mod:`.fields` has the names)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dedup_crawler.pages.compression import Gap
from dedup_crawler.pages.entry_reader import EntryReader
from dedup_crawler.pages.fields import PLAIN_NAMES, Names, page_of
from dedup_crawler.pages.text_lines import bounded_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dedup_crawler.pages.records import Page

_MAX_LINE = 2**28


class LineReader(EntryReader):
    """Reads the lines of one file as pages; *names* are those of the fields."""

    def __init__(
        self,
        chunks: Iterable[bytes | Gap],
        on_damage: Callable[[int, str], None],
        start: int = 0,
        names: Names = PLAIN_NAMES,
    ) -> None:
        super().__init__(chunks, on_damage, start)
        self._names = names

    def __iter__(self) -> Iterator[Page]:
        for offset, line in bounded_lines(self._chunks, _MAX_LINE):
            self.n_records += 1
            if isinstance(line, Gap):
                self._on_damage(offset, f"line {self.n_records}: {line.reason}")
                continue
            if self.n_records <= self._start or line in (b"", b"\r"):
                continue
            try:
                if line is None:
                    raise ValueError(f"more than {_MAX_LINE} bytes")
                page = page_of(json.loads(line.decode("utf-8-sig")), self._names)
            except (ValueError, OverflowError, RecursionError) as error:
                self._on_damage(offset, f"line {self.n_records}: {error}")
            else:
                yield page
