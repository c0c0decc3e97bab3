"""Plain bytes of plain and packed files, whole, cut off and damaged."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
import zstandard

from dedup_crawler.pages.compression import Gap, read_chunks

PARTS = [bytes(random.Random(i).choices(b"abcdefghij", k=30_000)) for i in range(6)]
PACKERS = {"gzip": gzip.compress, "zstd": zstandard.ZstdCompressor(write_checksum=True).compress}


def unpack(path: Path) -> tuple[bytes, list[str]]:
    """Return all bytes of *path*, and the reasons of its gaps."""
    chunks = list(read_chunks(path))
    return b"".join(c for c in chunks if isinstance(c, bytes)), [c.reason for c in chunks if isinstance(c, Gap)]


@pytest.fixture(params=["gzip", "zstd"])
def pack(request: pytest.FixtureRequest):
    return PACKERS[request.param]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def test_any_number_of_members_is_one_file(path: Path, pack):
    """One stream, many streams, empty ones between them, zeros of a tape after them."""
    for packed in (pack(b"".join(PARTS)), pack(b"").join(map(pack, PARTS)), b"".join(map(pack, PARTS)) + bytes(3)):
        path.write_bytes(packed)
        assert unpack(path) == (b"".join(PARTS), [])


def test_plain_and_empty_files_stay_as_they_are(path: Path):
    """Plain content stays unchanged."""
    for content in (b"", b"x", b"WARC/1.0\r\n" * 100_000):
        path.write_bytes(content)
        assert unpack(path) == (content, [])


def test_a_skippable_zstd_frame_is_skipped(path: Path):
    """A skippable frame at the start, as some archivers write it, is ignored."""
    path.write_bytes(b"\x50\x2a\x4d\x18\x04\x00\x00\x00note" + zstandard.compress(PARTS[0]))
    assert unpack(path) == (PARTS[0], [])


def test_a_cut_file_gives_everything_before_the_cut(path: Path, pack):
    """All whole members, the start of the last one, and one gap that says so."""
    whole = b"".join(map(pack, PARTS[:3]))
    path.write_bytes(whole + pack(PARTS[3])[:-9])
    plain, [reason] = unpack(path)
    assert plain.startswith(b"".join(PARTS[:3]))
    assert b"".join(PARTS[:4]).startswith(plain)
    assert "ends in the middle" in reason


def test_damage_ends_a_member_and_not_the_file(path: Path, pack):
    """A flipped byte in the second of six members: one gap, the other five are whole."""
    packed = list(map(pack, PARTS))
    middle = bytearray(packed[1])
    middle[len(middle) // 2] ^= 0xFF
    packed[1] = bytes(middle)
    path.write_bytes(b"".join(packed))
    plain, gaps = unpack(path)
    assert plain.startswith(PARTS[0])
    assert plain.endswith(b"".join(PARTS[2:]))
    assert len(gaps) == 1


def test_rubbish_between_members_is_stepped_over(path: Path, pack):
    """Foreign bytes between two members, longer than one read."""
    path.write_bytes(pack(PARTS[0]) + b"rubbish" * 5000 + pack(PARTS[1]))
    plain, gaps = unpack(path)
    assert plain == PARTS[0] + PARTS[1]
    assert len(gaps) == 1


def test_every_cut_and_every_flipped_byte_is_survived(path: Path, pack):
    """For any place of the damage, the last member comes out, without an exception."""
    small = [pack(b"first part " * 5), pack(b"second part " * 5), pack(b"last")]
    head = b"".join(small[:2])
    for i in range(4, len(head)):
        damaged = bytearray(head)
        damaged[i] ^= 0x55
        path.write_bytes(bytes(damaged) + small[2])
        unpack(path)
        path.write_bytes(head[:i])
        unpack(path)


def test_progress_counts_bytes_of_the_file(path: Path, pack):
    """The last progress call reports the file's size."""
    path.write_bytes(pack(b"".join(PARTS)))
    seen: list[int] = []
    for _ in read_chunks(path, lambda _, n_read, size: seen.append(n_read)):
        pass
    assert seen == sorted(seen)
    assert seen[-1] == path.stat().st_size
