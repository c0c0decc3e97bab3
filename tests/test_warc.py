"""Records of a WARC file: all of a good one, and all the good ones of a bad one."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.warcwriter import WARCWriter

from dedup_crawler.pages.compression import Gap, read_chunks
from dedup_crawler.pages.warc import RecordReader
from recordings import SITE, pages_of, record, request, response

FORUM = Path(__file__).resolve().parents[2] / "shared" / "corpora" / "sites" / "forum" / "crawl.warc.zst"


def read(*chunks: bytes | Gap) -> tuple[list[str], list[tuple[int, str]]]:
    """Target URLs of the records, and the damage."""
    damage: list[tuple[int, str]] = []
    reader = RecordReader(chunks, lambda offset, reason: damage.append((offset, reason)))
    return [found.headers.get("warc-target-uri", "").rpartition("/")[2] for found in reader], damage


@given(st.binary(max_size=60), st.integers(1, 40))
def test_records_come_out_whatever_the_chunks(block: bytes, size: int):
    """Law: any block in any cutting is read back, with its offset."""
    raw = record("resource", block) + record("resource", b"WARC/1.0\r\n" + block)
    records = list(RecordReader([raw[i : i + size] for i in range(0, len(raw), size)], pytest.fail))
    assert [found.block for found in records] == [block, b"WARC/1.0\r\n" + block]
    assert [found.offset for found in records] == [0, len(record("resource", block))]


@pytest.mark.skipif(not FORUM.exists(), reason="needs the corpora")
def test_warcio_reads_the_same_records():
    """An independent opinion: the forum's WARC, read by warcio, has the same records with the same blocks."""
    ours = RecordReader(read_chunks(FORUM, lambda n_bytes: None), pytest.fail)
    with FORUM.open("rb") as file:
        stream = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        theirs = ArchiveIterator(stream, no_record_parse=True)
        n_records = 0
        for our, their in zip(ours, theirs, strict=True):
            assert our.block == their.raw_stream.read()
            assert our.headers == {name.lower(): value for name, value in their.rec_headers.headers}
            n_records += 1
    assert n_records == 10_000


# warcio leaves its spool files to the garbage collector
@pytest.mark.filterwarnings("ignore:Exception ignored in.*SpooledTemporaryFile:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:Unclosed file <tempfile.SpooledTemporaryFile:ResourceWarning")
def test_what_warcio_writes_is_read():
    """An independent writer: records of warcio, headers with its own spelling."""
    file = io.BytesIO()
    writer = WARCWriter(file, gzip=False)
    for i in range(3):
        writer.write_record(writer.create_warc_record(f"{SITE}/{i}", "resource", payload=io.BytesIO(b"x" * i)))
    assert read(file.getvalue()) == (["0", "1", "2"], [])


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        (b"garbage between two records\r\n\r\n", "no WARC record starts here"),
        (bytes(70_000), "no WARC record starts here"),
        (response("x").replace(b"Content-Length: ", b"Content-Length: x"), "Content-Length is 'x"),
        (response("x").replace(b"Content-Length", b"Content-Width"), "Content-Length is ''"),
        (response("x").replace(b"Content-Length: ", b"Content-Length: -"), "Content-Length is '-"),
        (response("x").replace(b"Content-Length: ", b"Content-Length: 2"), "does not lead to the next record"),
        (response("x").replace(b"Content-Length: ", b"Content-Length: 99999"), "bytes are there"),
        (response("x").replace(b"Content-Length: ", b"Content-Length: 9" + b"9" * 12), "too large"),
        (response("x").replace(b"Content-Length: ", b"Content-Length: 9" + b"9" * 5000), "too large"),
        (response("x").replace(b"Content-Length: 5", b"Content-Length: 1"), "does not lead to the next record"),
        (response("x")[:70], "its header has no end"),
        (b"WARC/1.0\r\n" + b"x" * 2_000_000, "its header has no end"),
        (response("x")[2:], "no WARC record starts here"),
    ],
)
def test_damage_is_reported_and_stepped_over(damaged: bytes, reason: str):
    """Whatever is wrong with one record, its offset and reason are told once, and all others come out."""
    before, after = b"".join(pages_of(3)), b"".join(pages_of(40, start=3))
    urls, damage = read(before + damaged + after)
    assert urls == [str(i) for i in range(43)]
    assert [offset for offset, _ in damage] == [len(before)]
    assert reason in damage[0][1]


def test_a_file_that_was_cut_gives_everything_before_the_cut():
    """Cut at any byte of the last record (but its empty lines): two records and one report of the third."""
    raw = b"".join(pages_of(3))
    start = len(b"".join(pages_of(2)))
    for end in range(start + 1, len(raw) - 4):
        urls, damage = read(raw[:end])
        assert urls == ["0", "1"]
        assert [offset for offset, _ in damage] == [start]
    assert read(raw[:-4]) == (["0", "1", "2"], [])
    assert "cut off" in read(raw[:-9])[1][0][1]


def test_a_gap_cuts_a_record_and_is_reported_once():
    """Bytes that are missing: within a record it is lost, between records none is."""
    a, b, c = pages_of(3)
    assert read(a + b[:60], Gap("damaged gzip member"), c)[0] == ["0", "2"]
    assert "damaged gzip member" in read(a + b[:200], Gap("damaged gzip member"), c)[1][0][1]
    urls, damage = read(a, Gap("lost"), b, Gap("lost"), Gap("lost"))
    assert urls == ["0", "1"]
    assert [reason for _, reason in damage] == ["lost"] * 3


def test_nothing_is_nothing():
    """An empty file, and one of empty lines, have no records and no damage."""
    assert read() == ([], [])
    assert read(b"\r\n\r\n\n") == ([], [])


@given(st.binary(max_size=300), st.integers(0, 2000))
def test_rubbish_never_loses_the_records_around_it(rubbish: bytes, position: int):
    """Law: arbitrary bytes between two records leave both (and raise nothing inside one)."""
    a, b = pages_of(2)
    urls, _ = read(a + rubbish + b"\r\n" + b)
    assert urls[0] == "0"
    assert urls[-1] == "1"
    read(a[:position] + rubbish + a[position:])
    assert read(request("u") + rubbish[:0] + b)[0][-1] == "1"
