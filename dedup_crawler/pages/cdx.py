"""Pages out of the indexes of web archives: CDX (a line of columns) and CDXJ (key, time, JSON), with digests.

The first line of a CDX file names its columns by letters; without one, lines of 11, 9 (the classic columns) and 7 cells
(the answers of CDX servers) are known. https://iipc.github.io/warc-specifications/specifications/cdx-format/cdx-2015/

An index has no bodies, but equal digests are equal bodies. Skipped are revisits (what they repeat has its own line),
lines without a status, and what is neither http nor https nor asked for with GET.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from dedup_crawler.pages.compression import Gap
from dedup_crawler.pages.digests import body_digest
from dedup_crawler.pages.entry_reader import EntryReader
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.text_lines import bounded_lines
from dedup_crawler.pages.utf8 import as_utf8
from dedup_crawler.pages.warc_pages import redirect_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_MAX_LINE = 2**20
_LETTERS = {"b": "timestamp", "a": "url", "m": "mime", "s": "status", "k": "digest", "r": "redirect"}
_CLASSIC = {11: "N b a m s k r M S V g", 9: "N b a m s k r V g", 7: "N b a m s k S"}
_HEADER = re.compile(r".CDX(?:.[A-Za-z])+\s*", re.ASCII)
_CDXJ = re.compile(r"(\S+) (\d{1,17}) (\{.*)", re.ASCII | re.DOTALL)
_CDXJ_HEADER = ("!", "@")
_TIME = re.compile(r"\d{14}", re.ASCII)

Columns = tuple[str, tuple[str, ...]]
"""Separator, and the letter of each cell."""


class IndexReader(EntryReader):
    """Reads the lines of one index as pages."""

    def __init__(self, chunks: Iterable[bytes | Gap], on_damage: Callable[[int, str], None], start: int = 0) -> None:
        super().__init__(as_utf8(chunks), on_damage, start)
        self._columns: Columns | None = None

    def __iter__(self) -> Iterator[Page]:
        given = ""  # the captures of a URL stand together, and the first good one counts
        for offset, line in bounded_lines(self._chunks, _MAX_LINE):
            self.n_records += 1
            if line is None or isinstance(line, Gap):
                reason = line.reason if isinstance(line, Gap) else f"more than {_MAX_LINE} bytes"
                self._on_damage(offset, f"line {self.n_records}: {reason}")
                continue
            text = line.decode(errors="replace").rstrip("\r")
            if self.n_records == 1 and (columns := columns_of(text)) is not None:
                self._columns = columns
            elif self.n_records > self._start and text and not text.startswith(_CDXJ_HEADER):
                try:
                    page = _page(_fields(text, self._columns))
                except (ValueError, RecursionError) as error:
                    self._on_damage(offset, f"line {self.n_records}: {error}")
                else:
                    if page is not None and page.url != given:
                        given = page.url if page.status < 400 else ""
                        yield page


def columns_of(line: str) -> Columns | None:
    """What the cells of a CDX file are, if *line* is its header.

    >>> columns_of(" CDX N b a m s k r V g")[1][:3]
    ('N', 'b', 'a')
    """
    if not _HEADER.fullmatch(line):
        return None
    separator = line[0]
    return separator, tuple(line.rstrip()[1:].split(separator)[1:])


def is_index_line(line: str) -> bool:
    """Whether *line* is one of an index, or the header of one."""
    if columns_of(line) is not None or line.startswith(("!OpenWayback-CDXJ", "!meta {")):
        return True
    if (match := _CDXJ.fullmatch(line)) is not None:
        return '"url"' in match[3] or '"digest"' in match[3]
    cells = line.split(" ")
    return len(cells) in _CLASSIC and _TIME.fullmatch(cells[1]) is not None and "://" in cells[2]


def _fields(line: str, columns: Columns | None) -> Mapping[str, str]:
    """What a line says; ValueError if it is none of an index."""
    if (match := _CDXJ.fullmatch(line)) is not None:
        told = json.loads(match[3])
        return {"timestamp": match[2], **{str(name): str(value) for name, value in told.items()}}
    separator, letters = columns or (" ", ())
    cells = line.split(separator)
    letters = letters or tuple(_CLASSIC.get(len(cells), "").split())
    if len(cells) != len(letters):
        expected = str(len(letters)) if letters else "11, 9 or 7"
        raise ValueError(f"expected {expected} cells of a CDX line, or key, time and JSON; found {line[:60]!r}")
    return {_LETTERS[letter]: cell for letter, cell in zip(letters, cells, strict=True) if letter in _LETTERS}


def _page(fields: Mapping[str, str]) -> Page | None:
    url, mime, status = fields.get("url", ""), fields.get("mime", "-"), fields.get("status", "-")
    if not url:
        raise ValueError("there is no url")
    is_page = url.lower().startswith(("http://", "https://")) and fields.get("method", "GET") == "GET"
    if not is_page or mime == "warc/revisit" or not status.isdecimal() or not 100 <= int(status[:9]) <= 599:
        return None
    redirect = fields.get("redirect", "-")
    return Page(
        url=url,
        status=int(status),
        redirect_to=redirect_target(url, int(status), redirect if redirect != "-" else None),
        content_type=None if mime in ("-", "unk") else mime,
        fetched_at=_seconds(fields.get("timestamp", "")),
        digest=body_digest(fields.get("digest")),
    )


def _seconds(timestamp: str) -> float | None:
    try:
        return datetime.strptime(timestamp[:14], "%Y%m%d%H%M%S").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return None
