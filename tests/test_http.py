"""HTTP messages of a recording: headers as servers write them, bodies with honest and lying encodings."""

from __future__ import annotations

import gzip
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.pages.http import decoded_body, parse_message

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
    """The body stays as recorded where an encoding was announced but is not there."""
    assert decoded(BODY, Content_Encoding=encoding, Transfer_Encoding="chunked") == BODY


def test_a_body_that_was_cut_off_gives_what_came():
    """Half a gzip stream and half a chunked body are half a page, not none."""
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
    assert message.headers == {"a": "1", "long": "one two", "x": "\u00e9", "y": ""}
    assert message.body == b"body\n\nmore"
    assert parse_message("HTTP/1.1 200 OK\r\nLocation: /\u4e2d\r\n\r\n".encode()).headers == {"location": "/\u4e2d"}


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", "zstd", "br"]), st.booleans())
def test_no_bytes_break_the_reader(block: bytes, encoding: str, is_chunked: bool):
    """Whatever a recording holds, a message comes out."""
    parse_message(block)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n".encode()
    head += b"Transfer-Encoding: chunked\r\n" if is_chunked else b""
    assert isinstance(decoded_body(parse_message(head + b"\r\n" + block)), bytes)


@given(st.binary(max_size=500))
def test_chunks_are_joined(body: bytes):
    """Law: cutting into chunks and joining gives the body."""
    assert decoded(chunked(body), Transfer_Encoding="chunked") == body
