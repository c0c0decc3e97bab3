"""Records of a WARC file (ISO 28500), in order, past any damage.

A record is believed when its header parses and its Content-Length leads to the end of a record: an empty line, the
next record, or the end of the file. Anything else is reported with its offset in the uncompressed file, and reading
goes on at the next line ``WARC/1.x``: behind the header of the record that was not believed, for a wrong
Content-Length may have swallowed good records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedup_crawler.pages.compression import Gap
from dedup_crawler.pages.http import parse_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_MAX_HEADER = 2**20
_MAX_RECORD = 2**27  # more is an archive in the archive, or a damaged number
_MARK = re.compile(rb"WARC/[01]\.\d+\r?\n")
_MAX_MARK = 16
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_LINE_ENDS = re.compile(rb"[\r\n]*")
_RECORD_END = re.compile(rb"(?:\r?\n){0,3}(?:\Z|WARC/[01]\.)|\r?\n\r?\n")


@dataclass(frozen=True, slots=True)
class Record:
    """One WARC record."""

    offset: int
    """Bytes from the start of the uncompressed file."""
    headers: Mapping[str, str]
    """Names in lower case."""
    block: bytes


class RecordReader:
    """Cuts the chunks of a file into records.

    Parameters
    ----------
    chunks
        Uncompressed bytes in order, with a :class:`Gap` where some are missing.
    on_damage
        Called with the offset and the reason for each place that was skipped.
    """

    def __init__(self, chunks: Iterable[bytes | Gap], on_damage: Callable[[int, str], None]) -> None:
        self._chunks = iter(chunks)
        self._on_damage = on_damage
        self._buffer = bytearray()
        self._offset = 0  # of the buffer's first byte
        self._gap: Gap | None = None  # what lies behind the buffer: more bytes if this is None
        self._is_at_end = False

    def __iter__(self) -> Iterator[Record]:
        while self._find_start():
            record = self._read_record()
            if record is not None:
                yield record

    def _find_start(self) -> bool:
        """Move to the next record; False at the end of the file."""
        while True:
            has_more = self._fill(_MAX_MARK)
            blank = _LINE_ENDS.match(self._buffer)
            if blank is not None and blank.end():
                self._drop(blank.end())
            elif self._buffer:
                break
            elif not has_more:
                if self._gap is None:
                    return False
                self._on_damage(self._offset, self._gap.reason)
                self._gap = None
        if _MARK.match(self._buffer):
            return True
        self._on_damage(self._offset, "no WARC record starts here")
        return self._skip_to_mark(0)

    def _skip_to_mark(self, start: int) -> bool:
        """Drop everything before the first mark at or after *start* in the buffer; False if there is none."""
        while True:
            mark = _MARK.search(self._buffer, start)
            if mark is not None:
                self._drop(mark.start())
                return True
            self._drop(max(len(self._buffer) - _MAX_MARK, 0))
            start = 0
            if not self._fill(len(self._buffer) + 1):
                self._drop(len(self._buffer))
                if self._gap is None:
                    return False
                self._gap = None  # it lies in what is skipped anyway

    def _read_record(self) -> Record | None:
        """The record at the start of the buffer; None (reported, and moved on) if it is damaged."""
        header_end = self._header_end()
        if header_end is None:
            self._reject(self._cut_reason("its header has no end"), len("WARC/"))
            return None
        _, headers = parse_head(bytes(self._buffer[:header_end]))
        length_text = headers.get("content-length", "")
        if not (length_text.isascii() and length_text.isdecimal()):
            self._reject(f"Content-Length is {length_text!r}", header_end)
            return None
        if len(length_text) > 18 or int(length_text) > _MAX_RECORD:
            self._reject(f"a record of {length_text} bytes is too large (limit {_MAX_RECORD})", header_end)
            return None
        end = header_end + int(length_text)
        if not self._fill(end):
            n_bytes = len(self._buffer) - header_end
            self._reject(self._cut_reason(f"only {n_bytes} of {length_text} bytes are there"), header_end)
            return None
        self._fill(end + _MAX_MARK)
        if not self._is_record_end(end):
            self._reject(f"Content-Length {length_text} does not lead to the next record", header_end)
            return None
        record = Record(self._offset, headers, bytes(self._buffer[header_end:end]))
        self._drop(end)
        return record

    def _header_end(self) -> int | None:
        """Length of the header; None if it has no end, or another record begins before it."""
        start = 0
        while True:
            end = _HEADER_END.search(self._buffer, start)
            if end is not None:
                is_whole = end.end() <= _MAX_HEADER and _MARK.search(self._buffer, len(b"WARC/"), end.end()) is None
                return end.end() if is_whole else None
            start = max(len(self._buffer) - 3, 0)
            if len(self._buffer) > _MAX_HEADER or not self._fill(len(self._buffer) + 1):
                return None

    def _is_record_end(self, end: int) -> bool:
        return _RECORD_END.match(self._buffer, end, end + _MAX_MARK) is not None

    def _reject(self, reason: str, n_read: int) -> None:
        self._on_damage(self._offset, reason)
        self._skip_to_mark(n_read)

    def _cut_reason(self, reason: str) -> str:
        if self._gap is not None:
            return f"{reason}: {self._gap.reason}"
        return f"{reason}: the file is cut off" if self._is_at_end else reason

    def _fill(self, n_bytes: int) -> bool:
        """Have *n_bytes* in the buffer; False if a gap or the end of the file comes before."""
        while len(self._buffer) < n_bytes:
            if self._gap is not None or self._is_at_end:
                return False
            chunk = next(self._chunks, None)
            if chunk is None:
                self._is_at_end = True
            elif isinstance(chunk, Gap):
                self._gap = chunk
            else:
                self._buffer += chunk
        return True

    def _drop(self, n_bytes: int) -> None:
        del self._buffer[:n_bytes]
        self._offset += n_bytes
