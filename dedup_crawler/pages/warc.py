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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from warcio.bufferedreaders import ChunkedDataReader
from warcio.statusandheaders import StatusAndHeadersParser

from dedup_crawler.pages.compression import GZIP, ZSTD, Codec, Gap, OnDamage, sliced, unpack

try:
    import brotli
except ImportError:  # bodies in this encoding stay encoded
    brotli = None

MAX_HEAD = 2**20
"""Largest number of bytes of the first line and headers; the rest is read as the body."""
MAX_BODY = 2**27
"""Largest number of bytes of a decoded body; the rest is cut off."""

_PARSER = StatusAndHeadersParser([], verify=False)
_MAX_RECORD = 2**27  # bytes; a larger record is an archive in the archive, or has a damaged length
_MARK = re.compile(rb"WARC/[01]\.\d+\r?\n")
_MAX_MARK = 16
_CONTENT = re.compile(rb"[^\r\n]")
_END = Gap("the file is cut off")
# many servers leave out the header of zlib
_DEFLATE = tuple(Codec("deflate", b"", partial(zlib.decompressobj, bits)) for bits in (zlib.MAX_WBITS, -zlib.MAX_WBITS))
_CODECS = {"gzip": (GZIP,), "x-gzip": (GZIP,), "deflate": _DEFLATE, "zstd": (ZSTD,)}
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

    def __init__(self, chunks: Iterable[bytes | Gap], on_damage: OnDamage) -> None:
        self._chunks = iter(chunks)
        self._on_damage = on_damage
        self._buffer = bytearray()
        self._offset = 0  # offset of the buffer's first byte
        self._n_read = 0  # bytes at the start of the buffer that belong to the header of the current record
        self._gap: Gap | None = None  # behind the buffer: missing bytes, or the end of the file

    def __iter__(self) -> Iterator[WarcRecord]:
        while self._has_next():
            try:
                yield self._record()
            except _Damaged as damage:  # noqa: PERF203 - the next record may be good
                self._on_damage(self._offset, str(damage))
                self._drop(max(self._n_read, 1))
                self._skip_to_mark()

    def readline(self) -> bytes:
        """Read the next line of a header, for warcio."""
        end = self._buffer.find(b"\n", self._n_read) + 1
        while not end:
            n_seen = len(self._buffer)
            if n_seen > MAX_HEAD or not self._fill(n_seen + 1):
                raise self._cut("its header has no end")
            end = self._buffer.find(b"\n", n_seen) + 1
        line = bytes(self._buffer[self._n_read : end])
        if end > MAX_HEAD or (self._n_read and _MARK.search(line)):
            raise _Damaged("its header has no end")
        self._n_read = end
        return line

    def _has_next(self) -> bool:
        """Skip empty lines; False at the end of the file."""
        while (content := _CONTENT.search(self._buffer)) is None:
            self._drop(len(self._buffer))
            if not self._fill(1):
                if self._gap is None or self._gap is _END:
                    return False
                self._on_damage(self._offset, self._gap.reason)
                self._gap = None
        self._drop(content.start())
        return True

    def _record(self) -> WarcRecord:
        """Read the record at the start of the buffer."""
        self._n_read = 0
        self._fill(_MAX_MARK)
        if not _MARK.match(self._buffer):
            raise _Damaged("no WARC record starts here")
        _, headers = read_head(self)
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdecimal()):
            raise _Damaged(f"Content-Length is {length[:40]!r}")
        if len(length) > 18 or int(length) > _MAX_RECORD:
            raise _Damaged(f"a record of {length[:40]} bytes is too large (limit {_MAX_RECORD})")
        end = self._n_read + int(length)
        if not self._fill(end):
            n_bytes = len(self._buffer) - self._n_read
            raise self._cut(f"only {n_bytes} of {length} bytes are there")
        self._fill(end + _MAX_MARK)
        if not _RECORD_END.match(self._buffer, end, end + _MAX_MARK):
            raise _Damaged(f"Content-Length {length} does not lead to the next record")
        record = WarcRecord(self._offset, headers, bytes(self._buffer[self._n_read : end]))
        self._drop(end)
        return record

    def _skip_to_mark(self) -> None:
        """Drop everything before the next mark."""
        while (mark := _MARK.search(self._buffer)) is None:
            self._drop(max(len(self._buffer) - _MAX_MARK, 0))
            if not self._fill(len(self._buffer) + 1):
                self._drop(len(self._buffer))
                if self._gap is _END:
                    return
                self._gap = None
        self._drop(mark.start())

    def _cut(self, reason: str) -> _Damaged:
        return _Damaged(f"{reason}: {self._gap.reason}" if self._gap is not None else reason)

    def _fill(self, n_bytes: int) -> bool:
        """Read until *n_bytes* are in the buffer; False if a gap or the end of the file comes first."""
        while len(self._buffer) < n_bytes and self._gap is None:
            chunk = next(self._chunks, _END)
            if isinstance(chunk, Gap):
                self._gap = chunk
            else:
                self._buffer += chunk
        return len(self._buffer) >= n_bytes

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

    A result with more than :data:`MAX_BODY` bytes was cut off.
    """
    body = message.body
    if "chunked" in message.headers.get("transfer-encoding", "").lower():
        body = ChunkedDataReader(io.BytesIO(body)).read()
    for encoding in reversed(message.headers.get("content-encoding", "").lower().split(",")):
        body = _undone(body, encoding.strip())
    return body


def _undone(body: bytes, encoding: str) -> bytes:
    """Undo one encoding; of a body that was cut off, the readable part."""
    if encoding == "br" and brotli is not None:
        return _unbrotli(body)
    found = body
    for codec in _CODECS.get(encoding, ()):
        plain = bytearray()
        for chunk in unpack(sliced(body), codec):
            if isinstance(chunk, Gap):
                found = bytes(plain) or found
                break
            plain += chunk
            if len(plain) > MAX_BODY:
                return bytes(plain)
        else:
            return bytes(plain)
    return found


def _unbrotli(body: bytes) -> bytes:
    decoder = brotli.Decompressor()
    # a kilobyte may grow to gigabytes; brotli before 1.2 has no limit, and its TypeError leaves the body encoded
    try:
        plain = bytearray(decoder.process(body, output_buffer_limit=MAX_BODY + 1))
        while len(plain) <= MAX_BODY and not decoder.is_finished():
            more = decoder.process(b"", output_buffer_limit=MAX_BODY + 1 - len(plain))
            if not more:
                break
            plain += more
    except (brotli.error, TypeError):
        return body
    return bytes(plain)
