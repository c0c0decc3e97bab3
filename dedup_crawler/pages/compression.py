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
from typing import IO, Any, NamedTuple

import zstandard

from dedup_crawler.errors import BadInputError

OnDamage = Callable[[int, str], None]
"""Called with the offset of damage (bytes from the start of the uncompressed file) and the reason."""
Progress = Callable[[str, int, int], None]
"""Called with a note, the number of items done, and of all items; for a file: its name, the bytes read, its size."""

_PLAIN_CHUNK = 2**18
_PACKED_CHUNK = 2**10  # a hostile zstd chunk may grow 30,000 times
_ZSTD_SKIPPABLE_MARK = b"\x2a\x4d\x18"  # after a first byte of 0x50-0x5f
_N_KEPT = 100


class Codec(NamedTuple):
    """A way to compress bytes."""

    name: str
    mark: bytes
    """Start of a member or frame; empty if it has none."""
    make_decoder: Callable[[], Any]


GZIP = Codec("gzip member", b"\x1f\x8b\x08", lambda: zlib.decompressobj(16 + zlib.MAX_WBITS))
ZSTD = Codec("zstd frame", b"\x28\xb5\x2f\xfd", lambda: zstandard.ZstdDecompressor().decompressobj())


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


@dataclass(slots=True)
class Damages:
    """Counts damaged records and keeps the first 100."""

    n: int = 0
    records: list[DamagedRecord] = field(default_factory=list)

    def of(self, path: Path | str) -> OnDamage:
        """Note that places of a file could not be read."""

        def on_damage(offset: int, reason: str) -> None:
            self.n += 1
            if len(self.records) < _N_KEPT:
                self.records.append(DamagedRecord(str(path), offset, reason))

        return on_damage


def read_chunks(path: Path, progress: Progress | None = None) -> Iterator[bytes | Gap]:
    """Uncompressed chunks of *path*; its first bytes tell if it is plain, gzip or zstd.

    BadInputError if it is no file, or cannot be read.
    """
    if path.is_dir():
        raise BadInputError(f"{path} is a folder: give the files in it")
    if not path.exists():
        raise BadInputError(f"there is no file {path}")
    if not path.is_file():  # a pipe can be read only once
        raise BadInputError(f"{path} is not a regular file: write its content into one")
    size = path.stat().st_size

    def on_read(n_read: int) -> None:
        if progress is not None:
            progress(path.name, n_read, size)

    try:
        with path.open("rb") as file:
            yield from file_chunks(file, on_read)
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror or error}") from error


def file_chunks(file: IO[bytes], on_read: Callable[[int], None] = lambda n_read: None) -> Iterator[bytes | Gap]:
    """Uncompressed chunks of an open file, from its current position; *on_read* gets the bytes of it that are used."""
    start = file.read(_PACKED_CHUNK)
    codec = _codec_of(start)
    size = _PLAIN_CHUNK if codec is None else _PACKED_CHUNK

    def raw_chunks() -> Iterator[bytes]:
        n_read, chunk = 0, start
        while chunk:
            n_read += len(chunk)
            yield chunk
            on_read(n_read)
            chunk = file.read(size)

    yield from raw_chunks() if codec is None else unpack(raw_chunks(), codec)


def sliced(body: bytes) -> Iterator[bytes]:
    """Compressed *body* in pieces that :func:`unpack` can take without filling the memory."""
    return (body[start : start + _PACKED_CHUNK] for start in range(0, len(body), _PACKED_CHUNK))


def unpack(packed: Iterable[bytes], codec: Codec) -> Iterator[bytes | Gap]:
    """Decompress one member (frame) after the other; after damage, go on at the next mark."""
    data = b""
    decoder: Any = None
    is_lost = False  # since damage nothing has been decompressed
    for chunk in packed:
        data += chunk
        while data:
            is_fresh = decoder is None
            if is_fresh and is_lost:
                start = data.find(codec.mark)
                if start < 0:
                    data = data[1 - len(codec.mark) :]
                    break
                data = data[start:]
            elif is_fresh and not data.startswith(codec.mark):
                data = data.lstrip(b"\0")  # tapes and block devices pad with zeros
                if not data:
                    break
            decoder = decoder or codec.make_decoder()
            try:
                plain = decoder.decompress(data)
            except (zlib.error, zstandard.ZstdError) as error:
                if not is_lost:
                    yield Gap(f"damaged {codec.name}: {error}")
                is_lost, decoder, data = True, None, data[is_fresh:]
                continue
            if plain:
                is_lost = False
                yield plain
            data = b""
            if decoder.eof:
                data, decoder = decoder.unused_data, None
    if decoder is not None and not is_lost:
        yield Gap(f"the file ends in the middle of a {codec.name}")


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


def bounded_lines(chunks: Iterable[bytes | Gap], max_bytes: int) -> Iterator[tuple[int, bytes | Gap]]:
    """Offset and bytes of each line, without its end, in bounded memory.

    For a line of more than *max_bytes*, or one that a gap cuts off, there is a gap.
    """
    too_long = Gap(f"more than {max_bytes} bytes")
    offset = n_bytes = 0
    parts: list[bytes] = []
    for chunk in chunks:
        if isinstance(chunk, Gap):
            yield offset, chunk
            offset, n_bytes, parts = offset + n_bytes, 0, []
            continue
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            n_bytes += len(part) + 1
            yield offset, b"".join([*parts, part]) if n_bytes <= max_bytes else too_long
            offset, n_bytes, parts = offset + n_bytes, 0, []
        n_bytes += len(rest)
        if n_bytes <= max_bytes:
            parts.append(rest)
        else:
            parts = []
    if n_bytes:
        yield offset, b"".join(parts) if n_bytes <= max_bytes else too_long


def _codec_of(start: bytes) -> Codec | None:
    if start[1:].startswith(_ZSTD_SKIPPABLE_MARK) and start[0] >> 4 == 5:
        return ZSTD
    return next((codec for codec in (GZIP, ZSTD) if start.startswith(codec.mark)), None)
