"""Parses recorded HTTP messages: headers, and a body with its transfer and content encodings undone.

Recorders often undo an encoding and leave its header. So if an encoding cannot be undone, the body is kept as it was
recorded.
"""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import zstandard
from warcio.bufferedreaders import ChunkedDataReader
from warcio.statusandheaders import StatusAndHeadersParser

try:
    import brotli
except ImportError:  # bodies in this encoding stay encoded
    brotli = None

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_HEAD = 2**20
"""Largest number of bytes of the first line and headers; the rest is read as the body."""
MAX_BODY = 2**27
"""Largest number of bytes of a decoded body; the rest is cut off."""

_PARSER = StatusAndHeadersParser([], verify=False)


class Lines(Protocol):
    """A file that can be read line by line."""

    def readline(self) -> bytes:
        """The next line with its end; empty at the end of the file."""


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


def read_head(file: Lines) -> tuple[str, dict[str, str]]:
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
    parts: list[bytes] = []
    room = MAX_BODY + 1
    while body and room > 0:
        decoder = zlib.decompressobj(window_bits)
        try:
            parts.append(decoder.decompress(body, room))
        except zlib.error:
            if not parts:
                raise
            break  # garbage behind a complete member
        room -= len(parts[-1])
        body = decoder.unused_data
    return b"".join(parts)


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
