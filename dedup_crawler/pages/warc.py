"""Reads the records of a WARC file (ISO 28500), in order, and the HTTP messages in them; continues after damage.

warcio parses headers. This module adds limits, files of one gzip or zstd stream, and recovery. A record is valid if its
Content-Length leads to an empty line, the next record, or the end of the file. Anything else is reported with its
offset in the uncompressed file. Then reading continues at the next line ``WARC/1.x`` behind the header, because a wrong
Content-Length may span good records.

Recorders often undo an encoding of a body and leave its header. So if an encoding cannot be undone, the body is kept as
it was recorded.
"""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import zstandard
from warcio.bufferedreaders import ChunkedDataReader
from warcio.statusandheaders import StatusAndHeadersParser

from dedup_crawler.pages.compression import Gap

try:
    import brotli
except ImportError:  # bodies in this encoding stay encoded
    brotli = None

MAX_HEAD = 2**20
"""Largest number of bytes of the first line and headers; the rest is read as the body."""
MAX_BODY = 2**27
"""Largest number of bytes of a decoded body; the rest is cut off."""

_SLICE = 2**12
_PARSER = StatusAndHeadersParser([], verify=False)
_MAX_RECORD = 2**27  # bytes; a larger record is an archive in the archive, or has a damaged length
_MARK = re.compile(rb"WARC/[01]\.\d+\r?\n")
_MAX_MARK = 16
_LINE_ENDS = re.compile(rb"[\r\n]*")
_RECORD_END = re.compile(rb"(?:\r?\n){0,3}(?:\Z|WARC/[01]\.)|\r?\n\r?\n")


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """One WARC record."""

    offset: int
    """Bytes from the start of the uncompressed file."""
    headers: Mapping[str, str]
    """Header names in lower case -> values; the first one of several."""
    block: bytes


class _Damaged(Exception):  # noqa: N818 - an adjective for a record
    """The current record cannot be read."""


class RecordReader:
    """Splits the uncompressed chunks of a file into records.

    *on_damage* is called with the offset and the reason for each place that was skipped.
    """

    def __init__(self, chunks: Iterable[bytes | Gap], on_damage: Callable[[int, str], None]) -> None:
        self._chunks = iter(chunks)
        self._on_damage = on_damage
        self._buffer = bytearray()
        self._offset = 0  # offset of the buffer's first byte
        self._n_read = 0  # bytes at the start of the buffer that belong to the current record
        self._gap: Gap | None = None  # the gap behind the buffer, if there is one
        self._is_at_end = False

    def __iter__(self) -> Iterator[WarcRecord]:
        while self._find_record():
            record = self._read_or_report()
            if record is not None:
                yield record

    def readline(self) -> bytes:
        """Read the next line of a header, for warcio."""
        end = self._buffer.find(b"\n", self._n_read) + 1
        while not end:
            n_seen = len(self._buffer)
            if n_seen > MAX_HEAD or not self._fill(n_seen + 1):
                raise _Damaged(self._cut_reason("its header has no end"))
            end = self._buffer.find(b"\n", n_seen) + 1
        line = bytes(self._buffer[self._n_read : end])
        if end > MAX_HEAD or (self._n_read and _MARK.search(line)):
            raise _Damaged("its header has no end")
        self._n_read = end
        return line

    def _read_or_report(self) -> WarcRecord | None:
        """Read the record at the start of the buffer; report and skip it, and return None, if it is damaged."""
        try:
            return self._read_record()
        except _Damaged as damage:
            self._on_damage(self._offset, str(damage))
            self._skip_to_mark(max(self._n_read, len(b"WARC/")))
            return None

    def _read_record(self) -> WarcRecord:
        self._n_read = 0
        _, headers = read_head(self)
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdecimal()):
            raise _Damaged(f"Content-Length is {length[:40]!r}")
        if len(length) > 18 or int(length) > _MAX_RECORD:
            raise _Damaged(f"a record of {length[:40]} bytes is too large (limit {_MAX_RECORD})")
        end = self._n_read + int(length)
        if not self._fill(end):
            n_bytes = len(self._buffer) - self._n_read
            raise _Damaged(self._cut_reason(f"only {n_bytes} of {length} bytes are there"))
        self._fill(end + _MAX_MARK)
        if not _RECORD_END.match(self._buffer, end, end + _MAX_MARK):
            raise _Damaged(f"Content-Length {length} does not lead to the next record")
        record = WarcRecord(self._offset, headers, bytes(self._buffer[self._n_read : end]))
        self._drop(end)
        return record

    def _find_record(self) -> bool:
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
                self._gap = None  # the gap is skipped too

    def _cut_reason(self, reason: str) -> str:
        if self._gap is not None:
            return f"{reason}: {self._gap.reason}"
        return f"{reason}: the file is cut off" if self._is_at_end else reason

    def _fill(self, n_bytes: int) -> bool:
        """Read until *n_bytes* are in the buffer; False if a gap or the end of the file comes first."""
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


@dataclass(frozen=True, slots=True)
class Message:
    """A request or a response."""

    first_line: str
    headers: Mapping[str, str]
    """Header names in lower case -> values; the first one of several."""
    body: bytes


def parse_message(block: bytes) -> Message:
    """Split *block* into its first line, headers and body; the body keeps its encodings."""
    head = io.BytesIO(block[:MAX_HEAD])
    first_line, headers = read_head(head)
    return Message(first_line, headers, block[head.tell() :])


def read_head(file: RecordReader | io.BytesIO) -> tuple[str, dict[str, str]]:
    """Read the first line and the headers, up to an empty line; as in :class:`Message`."""
    try:
        head = _PARSER.parse(file)
    except EOFError:
        return "", {}
    return f"{head.protocol} {head.statusline}".strip(), {name.lower(): value for name, value in reversed(head.headers)}


def decoded_body(message: Message) -> bytes:
    """Undo the transfer and content encodings of the body, as far as possible.

    A result with :data:`MAX_BODY` + 1 bytes was cut off.
    """
    body = message.body
    if "chunked" in message.headers.get("transfer-encoding", "").lower():
        body = ChunkedDataReader(io.BytesIO(body)).read()
    for encoding in reversed(message.headers.get("content-encoding", "").lower().split(",")):
        undo = _DECODERS.get(encoding.strip())
        if undo is not None and body:
            try:
                body = undo(body)
            except _DECODING_ERRORS:
                return body
    return body


def _inflate(body: bytes, window_bits: int) -> bytes:
    """Undo gzip (all members) or deflate; of a truncated body, returns the readable part."""
    plain = bytearray()
    decoder, is_first = zlib.decompressobj(window_bits), True
    for start in range(0, len(body), _SLICE):  # at its end, a member copies what is left of the slice
        data = body[start : start + _SLICE]
        while data and len(plain) <= MAX_BODY:
            try:
                plain += decoder.decompress(data, MAX_BODY + 1 - len(plain))
            except zlib.error:
                if is_first:
                    raise
                return bytes(plain)  # garbage behind a complete member
            data = decoder.unused_data
            if decoder.eof:
                decoder, is_first = zlib.decompressobj(window_bits), False
    return bytes(plain)


def _gunzip(body: bytes) -> bytes:
    return _inflate(body, 16 + zlib.MAX_WBITS)


def _deflate(body: bytes) -> bytes:
    try:
        return _inflate(body, zlib.MAX_WBITS)
    except zlib.error:
        return _inflate(body, -zlib.MAX_WBITS)  # many servers leave out the zlib header


def _unzstd(body: bytes) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as reader:
        plain: bytes = reader.read(MAX_BODY + 1)
    return plain


def _unbrotli(body: bytes) -> bytes:
    decoder = brotli.Decompressor()
    # a kilobyte may grow to gigabytes; brotli before 1.2 has no limit, and its TypeError leaves the body encoded
    parts = [decoder.process(body, output_buffer_limit=MAX_BODY + 1)]
    room = MAX_BODY + 1 - len(parts[0])
    while room > 0 and not decoder.is_finished() and (more := decoder.process(b"", output_buffer_limit=room)):
        parts.append(more)
        room -= len(more)
    return b"".join(parts)


_DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _deflate,
    "zstd": _unzstd,
}
_DECODING_ERRORS: tuple[type[Exception], ...] = (zlib.error, zstandard.ZstdError)
if brotli is not None:
    _DECODERS["br"] = _unbrotli
    _DECODING_ERRORS += (brotli.error, TypeError)
