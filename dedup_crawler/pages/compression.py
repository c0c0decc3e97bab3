"""Reads bytes and lines of a file that may be compressed, with any number of gzip members or zstd frames.

Damage only ends a member or frame. Reading goes on at the next start mark, and a :class:`Gap` tells the reader that
bytes are missing. Readers count damaged records in :class:`Damages`.
"""

from __future__ import annotations

import codecs
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import zstandard

OnDamage = Callable[[int, str], None]
"""Called with the offset of damage (bytes from the start of the uncompressed file) and the reason."""

_PLAIN_CHUNK = 2**18
_PACKED_CHUNK = 2**10  # a hostile zstd chunk may grow 30,000 times
_GZIP_MARK = b"\x1f\x8b\x08"
_ZSTD_MARK = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPABLE_MARK = b"\x2a\x4d\x18"  # after a first byte of 0x50-0x5f
_N_KEPT = 100


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes are missing here."""

    reason: str


@dataclass(frozen=True, slots=True)
class DamagedRecord:
    """One place of a file that could not be read."""

    path: str
    offset: int
    """Bytes from the start of the *uncompressed* file."""
    reason: str

    def __str__(self) -> str:
        return f"{self.path}, byte {self.offset}: {self.reason}"


@dataclass(slots=True)
class Damages:
    """Counts damaged records and keeps the first 100."""

    n: int = 0
    records: list[DamagedRecord] = field(default_factory=list)

    def add(self, path: str, offset: int, reason: str) -> None:
        """Note that the record at *offset* of *path* could not be read."""
        self.n += 1
        if len(self.records) < _N_KEPT:
            self.records.append(DamagedRecord(path, offset, reason))


def read_chunks(path: Path, on_read: Callable[[int], None] = lambda n_bytes: None) -> Iterator[bytes | Gap]:
    """Uncompressed chunks of *path*; its first bytes tell if it is plain, gzip or zstd.

    *on_read* is called with the number of bytes of the file read so far.
    """
    with path.open("rb") as file:
        yield from file_chunks(file, on_read)


def file_chunks(file: IO[bytes], on_read: Callable[[int], None] = lambda n_bytes: None) -> Iterator[bytes | Gap]:
    """Uncompressed chunks of an open file, from its current position; as :func:`read_chunks`."""
    start = file.read(4)
    make_decoder, mark, name = _codec(start)
    size = _PLAIN_CHUNK if make_decoder is None else _PACKED_CHUNK

    def raw_chunks() -> Iterator[bytes]:
        n_read = 0
        chunk = start + file.read(size - len(start))
        while chunk:
            n_read += len(chunk)
            yield chunk
            on_read(n_read)  # after the yield, when the chunk has been used
            chunk = file.read(size)

    if make_decoder is None:
        yield from raw_chunks()
    else:
        yield from _unpack(raw_chunks(), make_decoder, mark, name)


def as_utf8(chunks: Iterable[bytes | Gap]) -> Iterator[bytes | Gap]:
    """Turn chunks of UTF-16 with a byte order mark, as spreadsheets write it, into UTF-8."""
    decoder = None
    for place, chunk in enumerate(chunks):
        if isinstance(chunk, Gap):
            yield chunk
            continue
        if place == 0 and chunk[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        yield chunk if decoder is None else decoder.decode(chunk).encode(errors="replace")


def bounded_lines(chunks: Iterable[bytes | Gap], max_bytes: int) -> Iterator[tuple[int, bytes | Gap | None]]:
    """Offset and bytes of each line, without its end, in bounded memory.

    A line of more than *max_bytes* is yielded as None, and a line that a gap cuts off as that gap.
    """
    offset = 0
    parts: list[bytes] = []
    n_bytes = 0
    for chunk in chunks:
        if isinstance(chunk, Gap):
            yield offset, chunk
            offset += n_bytes
            parts, n_bytes = [], 0
            continue
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            n_bytes += end + 1 - start
            parts.append(chunk[start:end])
            yield offset, b"".join(parts) if n_bytes <= max_bytes else None
            offset += n_bytes
            parts, n_bytes, start = [], 0, end + 1
        n_bytes += len(chunk) - start
        if n_bytes <= max_bytes:
            parts.append(chunk[start:])
        else:
            parts = []
    if n_bytes:
        yield offset, b"".join(parts) if n_bytes <= max_bytes else None


def _codec(start: bytes) -> tuple[Callable[[], Any] | None, bytes, str]:
    if start.startswith(_GZIP_MARK):
        return (lambda: zlib.decompressobj(16 + zlib.MAX_WBITS)), _GZIP_MARK, "gzip member"
    if start == _ZSTD_MARK or (start[1:] == _ZSTD_SKIPPABLE_MARK and start[0] >> 4 == 5):
        return (lambda: zstandard.ZstdDecompressor().decompressobj()), _ZSTD_MARK, "zstd frame"
    return None, b"", ""


def _unpack(raw: Iterator[bytes], make_decoder: Callable[[], Any], mark: bytes, name: str) -> Iterator[bytes | Gap]:
    """Decompress one member (frame) after the other; after damage, go on at the next *mark*."""
    data = b""
    decoder: Any | None = None
    is_searching = False
    while True:
        if not data:
            data = next(raw, b"")
            if not data:
                break
        is_fresh = decoder is None
        if is_fresh and is_searching:
            found = data.find(mark)
            if found < 0:
                tail, data = data[1 - len(mark) :], next(raw, b"")
                data = tail + data if data else b""
                if not data:
                    break
                continue
            data = data[found:]
        elif is_fresh:
            data = data.lstrip(b"\0")  # tapes and block devices pad with zeros
            if not data:
                continue
        if decoder is None:
            decoder = make_decoder()
        try:
            plain = decoder.decompress(data)
        except (zlib.error, zstandard.ZstdError) as error:
            if not is_searching:
                yield Gap(f"damaged {name}: {error}")
            is_searching, decoder, data = True, None, data[1:] if is_fresh else data
            continue
        if plain:
            is_searching = False
            yield plain
        data = b""
        if decoder.eof:
            data, decoder = decoder.unused_data, None
    if decoder is not None and not is_searching:
        yield Gap(f"the file ends in the middle of a {name}")
