"""WARC files: all records of a good file and all good ones of a bad one; HTTP messages; pages."""

from __future__ import annotations

import gzip
import io
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.warcwriter import WARCWriter

from dedup_crawler.pages import warc
from dedup_crawler.pages.compression import Gap, read_chunks
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.warc import RecordReader, decoded_body, parse_message
from dedup_crawler.pages.warc_pages import read_warc, timestamp
from recordings import SITE, pages_of, record, request, response
from repository import SITES

FORUM = SITES / "forum" / "crawl.warc.zst"


def records_of(*chunks: bytes | Gap) -> tuple[list[str], list[tuple[int, str]]]:
    """Return the target URLs of the records, and the damage."""
    damage: list[tuple[int, str]] = []
    reader = RecordReader(chunks, lambda offset, reason: damage.append((offset, reason)))
    return [found.headers.get("warc-target-uri", "").rpartition("/")[2] for found in reader], damage


@given(st.binary(max_size=60), st.integers(1, 40))
def test_records_come_out_whatever_the_chunks(block: bytes, size: int):
    """Law: any block in any chunks is read back, with its offset."""
    raw = record("resource", block) + record("resource", b"WARC/1.0\r\n" + block)
    records = list(RecordReader([raw[i : i + size] for i in range(0, len(raw), size)], pytest.fail))
    assert [found.block for found in records] == [block, b"WARC/1.0\r\n" + block]
    assert [found.offset for found in records] == [0, len(record("resource", block))]


@pytest.mark.skipif(not FORUM.exists(), reason="needs the corpora")
def test_warcio_reads_the_same_records():
    """An independent reader: warcio reads the same records with the same blocks from the forum's WARC."""
    ours = RecordReader(read_chunks(FORUM), pytest.fail)
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
    """An independent writer: records of warcio, with its spelling of headers."""
    file = io.BytesIO()
    writer = WARCWriter(file, gzip=False)
    for i in range(3):
        writer.write_record(writer.create_warc_record(f"{SITE}/{i}", "resource", payload=io.BytesIO(b"x" * i)))
    assert records_of(file.getvalue()) == (["0", "1", "2"], [])


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
    """For any damaged record, offset and reason are reported once, and all others come."""
    before, after = b"".join(pages_of(3)), b"".join(pages_of(40, start=3))
    urls, damage = records_of(before + damaged + after)
    assert urls == [str(i) for i in range(43)]
    assert [offset for offset, _ in damage] == [len(before)]
    assert reason in damage[0][1]


def test_a_file_that_was_cut_gives_everything_before_the_cut():
    """Cut at any byte of the last record (except its empty lines): two records and one report of the third."""
    raw = b"".join(pages_of(3))
    start = len(b"".join(pages_of(2)))
    for end in range(start + 1, len(raw) - 4):
        urls, damage = records_of(raw[:end])
        assert urls == ["0", "1"]
        assert [offset for offset, _ in damage] == [start]
    assert records_of(raw[:-4]) == (["0", "1", "2"], [])
    assert "cut off" in records_of(raw[:-9])[1][0][1]


def test_a_gap_cuts_a_record_and_is_reported_once():
    """Missing bytes in a record lose it, between records none."""
    a, b, c = pages_of(3)
    assert records_of(a + b[:60], Gap("damaged gzip member"), c)[0] == ["0", "2"]
    assert "damaged gzip member" in records_of(a + b[:200], Gap("damaged gzip member"), c)[1][0][1]
    urls, damage = records_of(a, Gap("lost"), b, Gap("lost"), Gap("lost"))
    assert urls == ["0", "1"]
    assert [reason for _, reason in damage] == ["lost"] * 3


def test_nothing_is_nothing():
    """An empty file, and one of empty lines, have no records and no damage."""
    assert records_of() == ([], [])
    assert records_of(b"\r\n\r\n\n") == ([], [])


@given(st.binary(max_size=300), st.integers(0, 2000))
def test_rubbish_never_loses_the_records_around_it(rubbish: bytes, position: int):
    """Law: arbitrary bytes between two records leave both (and raise nothing inside one)."""
    a, b = pages_of(2)
    urls, _ = records_of(a + rubbish + b"\r\n" + b)
    assert urls[0] == "0"
    assert urls[-1] == "1"
    records_of(a[:position] + rubbish + a[position:])
    assert records_of(request("u") + rubbish[:0] + b)[0][-1] == "1"


def read(*records: bytes, start: int = 0, on_damage=pytest.fail) -> list[Page]:
    return [page for _, page in read_warc([b"".join(records)], on_damage, start) if page is not None]


def test_a_page_has_all_that_was_recorded():
    """Status, content type, decoded body, date and URL of one response."""
    raw = response(
        f"<{SITE}/a b[1]>",
        gzip.compress(b"gone", mtime=0),
        "410 Gone",
        {"Content-Encoding": "gzip"},
        WARC_Date="2026-11-21T07:22:26.5Z",
    )
    assert read(raw) == [
        Page(f"{SITE}/a b[1]", 410, None, None, "text/html", b"gone", fetched_at=1795245746.5),
    ]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.parametrize("linked", ["response", "request", "neither"])
def test_the_referrer_comes_from_the_request(order: list[int], linked: str):
    """A request before or after its response; linked by WARC-Concurrent-To in either record, or by the URL alone."""
    url, referrer = f"{SITE}/child", f"{SITE}/parent"
    links = {"response": "<urn:uuid:1>", "request": "<urn:uuid:2>"}
    answer = response(
        url,
        WARC_Record_ID=links["response"],
        **({"WARC_Concurrent_To": links["request"]} if linked == "response" else {}),
    )
    question = request(
        url,
        referrer,
        WARC_Record_ID=links["request"],
        **({"WARC_Concurrent_To": links["response"]} if linked == "request" else {}),
    )
    other = request(f"{SITE}/other", f"{SITE}/wrong") + response(f"{SITE}/other")
    records = [[answer, question][i] for i in order]
    assert [(page.url, page.referrer) for page in read(*records, other)] == [
        (url, referrer),
        (f"{SITE}/other", f"{SITE}/wrong"),
    ]


def test_pages_without_requests_come_out_in_order():
    """A WARC with only responses loses nothing and keeps its order; so does one with late requests."""
    urls = [f"{SITE}/{i}" for i in range(20)]
    assert [page.url for page in read(*map(response, urls))] == urls
    late = [response(url) for url in urls] + [request(url, f"{SITE}/p") for url in urls]
    assert [page.url for page in read(*late)] == urls


@pytest.mark.parametrize(
    ("status", "location", "target"),
    [
        ("301 Moved", "/b?c=1#d", f"{SITE}/b?c=1#d"),
        ("302 Found", "//other.example/", "https://other.example/"),
        ("303 See Other", "", None),
        ("307 Temporary Redirect", "http://[broken/", "http://[broken/"),
        ("308 Permanent Redirect", "../\u00e9", f"{SITE}/\u00e9"),
        ("201 Created", "/b", None),
    ],
)
def test_redirects_have_an_absolute_target(status: str, location: str, target: str | None):
    """Relative, protocol-relative, empty, broken and non-ASCII locations; only a 3xx redirects."""
    [page] = read(response(f"{SITE}/x/a", status=status, headers={"Location": location}))
    assert page.redirect_to == target
    assert page.status == int(status[:3])


def test_what_is_no_page_is_skipped():
    """Other record types, methods and schemes: neither pages nor damage."""
    skipped = [
        record("warcinfo", b"software: x"),
        record("revisit", b"HTTP/1.1 200 OK\r\n\r\n", WARC_Target_URI=SITE),
        record("resource", b"x", WARC_Target_URI=SITE),
        record("response", b"20260101 a 127.0.0.1", WARC_Target_URI="dns:forum.example.org"),
        request(f"{SITE}/login", method="POST", WARC_Record_ID="<urn:a>"),
        response(f"{SITE}/login", WARC_Concurrent_To="<urn:a>"),
        response(f"{SITE}/form", WARC_Record_ID="<urn:b>"),
        request(f"{SITE}/form", method="HEAD", WARC_Concurrent_To="<urn:b>"),
        record("unheard-of", b""),
        record("metadata", b""),
    ]
    assert [page.url for page in read(*skipped, response(SITE))] == [SITE]


def test_a_response_without_http_is_damage():
    """No status line, a status beyond HTTP, no URL: reported with the offset of the record."""
    bad = [
        record("response", b"<html>", WARC_Target_URI="http://a/1"),
        response("http://a/2", status="999 Linkedin"),
        response(""),
    ]
    damage: list[tuple[int, str]] = []
    assert read(*bad, on_damage=lambda offset, reason: damage.append((offset, reason))) == []
    assert [offset for offset, _ in damage] == [0, len(bad[0]), len(bad[0] + bad[1])]
    assert ["http://a/1" in damage[0][1], "http://a/2" in damage[1][1], "WARC-Target-URI" in damage[2][1]] == [True] * 3


def test_reading_can_go_on_at_any_position():
    """From each position of the reader, the pages not yet returned follow, with their referrers."""
    raw = b"".join(response(f"{SITE}/{i}") + request(f"{SITE}/{i}", f"{SITE}/p{i}") for i in range(6))
    whole = read(raw)
    n_seen = position = 0
    for position, page in read_warc([raw], pytest.fail):
        n_seen += page is not None
        assert read(raw, start=position) == whole[n_seen:]
    assert position == 12


@pytest.mark.parametrize(
    ("date", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("1970-01-01T00:01:00.123456789Z", 60.123456789),
        ("1970-01-01T00:01", 60.0),
        ("1970-01-01T00:00:00+00:00", 0.0),
        ("1970-13-01T00:00:00Z", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates(date: str, expected: float | None):
    """ISO 8601 in UTC with any number of decimals; anything else is no date."""
    assert timestamp(date) == expected


BODY = b"<html>" + b"hello world " * 50


def deflate_raw(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


def chunked(body: bytes) -> bytes:
    parts = [body[i : i + 100] for i in range(0, len(body), 100)]
    return b"".join(b"%x;name=value\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def decoded(body: bytes, **headers: str) -> bytes:
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return decoded_body(parse_message(b"HTTP/1.1 200 OK\r\n" + lines.encode() + b"\r\n" + body))


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress(BODY, mtime=0)),
        ("x-gzip", gzip.compress(BODY, mtime=0)),
        ("GZIP", gzip.compress(BODY[:50], mtime=0) + gzip.compress(BODY[50:], mtime=0)),
        ("gzip", gzip.compress(BODY, mtime=0) + b"rubbish"),
        ("gzip", gzip.compress(b"", mtime=0) * 10_000 + gzip.compress(BODY, mtime=0)),
        ("deflate", zlib.compress(BODY)),
        ("deflate", deflate_raw(BODY)),
        ("zstd", zstandard.compress(BODY)),
        ("zstd", zstandard.compress(BODY[:9]) + zstandard.compress(BODY[9:])),
        ("deflate, gzip", gzip.compress(zlib.compress(BODY), mtime=0)),
        ("identity", BODY),
    ],
)
def test_content_encodings_are_undone(encoding: str, packed: bytes):
    """Every encoding that servers use, in one and several pieces, with and without chunks."""
    assert decoded(packed, Content_Encoding=encoding) == BODY
    assert decoded(chunked(packed), Content_Encoding=encoding, Transfer_Encoding="chunked") == BODY


def test_brotli_is_undone_where_it_is_installed():
    """Brotli is no dependency; with it the body is decoded."""
    brotli = pytest.importorskip("brotli")
    assert decoded(brotli.compress(BODY), Content_Encoding="br") == BODY


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd", "br", "compress", "nonsense", "gzip, gzip", ",,"])
def test_a_lying_encoding_does_not_lose_the_page(encoding: str):
    """The body stays as recorded if an announced encoding is missing."""
    assert decoded(BODY, Content_Encoding=encoding, Transfer_Encoding="chunked") == BODY


def test_a_body_that_was_cut_off_gives_what_came():
    """Half a gzip stream or half a chunked body gives half a page, not none."""
    half = decoded(gzip.compress(BODY * 100, 0)[:5000], Content_Encoding="gzip")
    assert (BODY * 100).startswith(half)
    assert len(half) > 4000
    assert decoded(b"5\r\nhello\r\n5\r\nwor", Transfer_Encoding="chunked") == b"hellowor"


def test_headers_are_read_as_servers_write_them():
    """Bare line ends, folded lines, spaces, repeated names, lines without a colon, Latin-1 and UTF-8 values."""
    message = parse_message(
        b"HTTP/1.0 200\nA : 1\na: 2\nLong: one\n  two\nno colon\n more\nX: \xe9\nY: \n\nbody\n\nmore"
    )
    assert message.first_line == "HTTP/1.0 200"
    assert message.headers == {"a": "1", "long": "one  two", "x": "\u00e9", "y": ""}
    assert message.body == b"body\n\nmore"
    assert parse_message("HTTP/1.1 200 OK\r\nLocation: /\u4e2d\r\n\r\n".encode()).headers == {"location": "/\u4e2d"}


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", "zstd", "br"]), st.booleans())
def test_no_bytes_break_the_reader(block: bytes, encoding: str, is_chunked: bool):
    """Any recording gives a message."""
    parse_message(block)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n".encode()
    head += b"Transfer-Encoding: chunked\r\n" if is_chunked else b""
    assert isinstance(decoded_body(parse_message(head + b"\r\n" + block)), bytes)


BOMBS = {
    "gzip": gzip.compress(bytes(3_000_000)),
    "deflate": zlib.compress(bytes(3_000_000)),
    "zstd": zstandard.compress(bytes(3_000_000)),
    "br": None,
}


@pytest.mark.parametrize("encoding", BOMBS)
def test_a_body_that_grows_without_end_is_cut_and_counted(monkeypatch, encoding: str):
    """A bomb is unpacked up to the limit, its place is reported, and the next page is read."""
    monkeypatch.setattr(warc, "MAX_BODY", 1_000_000)
    monkeypatch.setattr("dedup_crawler.pages.warc_pages.MAX_BODY", 1_000_000)
    packed = BOMBS[encoding] or pytest.importorskip("brotli").compress(bytes(3_000_000))
    damage: list[tuple[int, str]] = []
    raw = [response(SITE), response(f"{SITE}/bomb", packed, headers={"Content-Encoding": encoding}), *pages_of(1)]
    _, bomb, after = read(*raw, on_damage=lambda offset, reason: damage.append((offset, reason)))
    assert bomb.content == bytes(1_000_000)
    assert after.content == b"<p>page</p>0"
    assert damage == [(len(raw[0]), f"the body of {SITE}/bomb unpacks to more than 1000000 bytes and was cut there")]
