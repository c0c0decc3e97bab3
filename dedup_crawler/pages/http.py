"""HTTP messages as a WARC holds them: headers, and a body with its transfer and content encodings undone.

A recording is not a connection: recorders often undo an encoding and leave the header that announced it. So an
encoding that does not hold is no reason to lose a page; the body is then kept as it was recorded.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import zstandard

try:
    import brotli
except ImportError:  # bodies in this encoding are kept as they are
    brotli = None

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_BODY = 2**28
"""Bytes; a body that would grow beyond this stays compressed."""

_HEADER_END = re.compile(rb"\r?\n\r?\n")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")


@dataclass(frozen=True, slots=True)
class Message:
    """A request or a response."""

    first_line: str
    headers: Mapping[str, str]
    """Names in lower case; the first of several values."""
    body: bytes


def parse_message(block: bytes) -> Message:
    """Split *block* into its first line, headers and body; the body keeps its encodings."""
    end = _HEADER_END.search(block)
    head, body = (block, b"") if end is None else (block[: end.start()], block[end.end() :])
    first_line, headers = parse_head(head)
    return Message(first_line, headers, body)


def parse_head(head: bytes) -> tuple[str, dict[str, str]]:
    """First line and headers (names in lower case, the first of several values, folded lines joined)."""
    lines = decode(head).replace("\r\n", "\n").split("\n")
    headers: dict[str, str] = {}
    name = ""
    for line in lines[1:]:
        if line[:1] in (" ", "\t") and name:
            headers[name] += " " + line.strip()
            continue
        name, colon, value = line.partition(":")
        name = name.strip().lower()
        if not colon or name in headers:
            name = ""
            continue
        headers[name] = value.strip()
    return lines[0].strip(), headers


def decode(text: bytes) -> str:
    """UTF-8 where it is that, Latin-1 (which everything is) otherwise."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")


def decoded_body(message: Message) -> bytes:
    """The body without its transfer and content encodings, as far as they hold."""
    body = message.body
    if "chunked" in message.headers.get("transfer-encoding", "").lower():
        body = _join_chunks(body)
    for encoding in reversed(message.headers.get("content-encoding", "").lower().split(",")):
        undo = _DECODERS.get(encoding.strip())
        if undo is not None and body:
            try:
                body = undo(body)
            except _DECODING_ERRORS:
                return body
    return body


def _join_chunks(body: bytes) -> bytes:
    """Undo chunked transfer; *body* itself where it is not chunked, what came where it was cut off."""
    parts: list[bytes] = []
    position = 0
    while position < len(body):
        size_line = _CHUNK_SIZE.match(body, position)
        if size_line is None:
            return body
        size = int(size_line[1], 16)
        if size == 0:
            break
        parts.append(body[size_line.end() : size_line.end() + size])
        position = size_line.end() + size
        for line_end in (b"\r\n", b"\n"):
            if body.startswith(line_end, position):
                position += len(line_end)
                break
        else:
            if position < len(body):
                return body
    return b"".join(parts)


def _inflate(body: bytes, window_bits: int) -> bytes:
    """Undo gzip (all members) or deflate; a body that was cut off gives what came."""
    parts: list[bytes] = []
    room = MAX_BODY
    while body:
        decoder = zlib.decompressobj(window_bits)
        try:
            parts.append(decoder.decompress(body, room))
        except zlib.error:
            if not parts:
                raise
            break  # rubbish behind a complete member
        room -= len(parts[-1])
        if room <= 0 or decoder.unconsumed_tail:
            raise zlib.error("too large")
        body = decoder.unused_data
    return b"".join(parts)


def _gunzip(body: bytes) -> bytes:
    return _inflate(body, 16 + zlib.MAX_WBITS)


def _deflate(body: bytes) -> bytes:
    try:
        return _inflate(body, zlib.MAX_WBITS)
    except zlib.error:
        return _inflate(body, -zlib.MAX_WBITS)  # without the zlib header, as many servers understood the standard


def _unzstd(body: bytes) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(body, read_across_frames=True) as reader:
        plain: bytes = reader.read(MAX_BODY + 1)
    if len(plain) > MAX_BODY:
        raise zstandard.ZstdError("too large")
    return plain


_DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _deflate,
    "zstd": _unzstd,
}
_DECODING_ERRORS: tuple[type[Exception], ...] = (zlib.error, zstandard.ZstdError)
if brotli is not None:
    _DECODERS["br"] = brotli.decompress
    _DECODING_ERRORS += (brotli.error,)
