"""JSON lines as pages: every field under every name, and lines that are none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.pages.compression import Gap
from dedup_crawler.pages.jsonlines import LineReader
from dedup_crawler.pages.records import Page


def read(*chunks: bytes | Gap, start: int = 0) -> tuple[list[Page], list[tuple[int, str]]]:
    damage: list[tuple[int, str]] = []
    reader = LineReader(chunks, lambda offset, reason: damage.append((offset, reason)), start)
    return list(reader), damage


def line(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, Page("http://a/")),
        (
            {"content": "<p>\u00e9"},
            Page("http://a/", content="<p>\u00e9".encode(), content_type="text/html; charset=utf-8"),
        ),
        ({"html": "x"}, Page("http://a/", content=b"x", content_type="text/html; charset=utf-8")),
        ({"body": "x", "html": None}, Page("http://a/", content=b"x", content_type="text/html; charset=utf-8")),
        ({"text": "x"}, Page("http://a/", content=b"x", content_type="text/plain; charset=utf-8")),
        (
            {"content": "\u00e9", "content_type": "application/xhtml+xml; charset=iso-8859-1"},
            Page("http://a/", content=b"\xc3\xa9", content_type="application/xhtml+xml; charset=utf-8"),
        ),
        ({"content": "\ud800"}, Page("http://a/", content=b"?", content_type="text/html; charset=utf-8")),
        ({"referrer": "r"}, Page("http://a/", referrer="r")),
        ({"referer": "r", "other": [1]}, Page("http://a/", referrer="r")),
        ({"status": 404}, Page("http://a/", 404)),
        ({"status": "301", "redirect_to": "/b"}, Page("http://a/", 301, redirect_to="http://a/b")),
        ({"fetched_at": 5}, Page("http://a/", fetched_at=5.0)),
        ({"date": "1970-01-01T00:00:07Z"}, Page("http://a/", fetched_at=7.0)),
        ({"date": "never"}, Page("http://a/")),
    ],
)
def test_fields(fields: dict[str, object], expected: Page):
    """Each field under each of its names; text is stored as UTF-8, and the content type says so."""
    assert read(line(url="http://a/", **fields)) == ([expected], [])


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (b'{"url": "x"', "line 2: "),
        (b"url,content", "line 2: "),
        (b'{"url": "\xff"}', "line 2: 'utf-8' codec"),
        (b"[1]", "line 2: an object is needed, not list"),
        (b'{"content": "x"}', "line 2: there is no url"),
        (b'{"url": ""}', "line 2: there is no url"),
        (b'{"url": 5}', "line 2: there is no url"),
        (b'{"url": "x", "status": 1000}', "line 2: status 1000 is none of HTTP"),
        (b'{"url": "x", "status": null}', "line 2: status None"),
        (b'{"url": "x", "status": 1e999}', "line 2: status inf"),
        (b"[" * 100_000, "line 2: "),
    ],
)
def test_a_broken_line_is_told_by_its_number(broken: bytes, reason: str):
    """Its line number, its offset and what is wrong; the lines around it are read."""
    before = line(url="a")
    pages, [(offset, told)] = read(before + broken + b"\r\n" + line(url="b"))
    assert [page.url for page in pages] == ["a", "b"]
    assert offset == len(before)
    assert told.startswith(reason)


def test_line_ends_empty_lines_and_marks_do_not_matter():
    """A byte order mark, empty lines, Windows line ends, no line end at the end."""
    raw = b"\xef\xbb\xbf" + line(url="a") + b"\r\n\n" + line(url="b").strip() + b"\r\n" + line(url="c").strip()
    pages, damage = read(raw)
    assert [page.url for page in pages] == ["a", "b", "c"]
    assert damage == []


@given(st.integers(1, 30), st.integers(0, 5))
def test_lines_come_out_whatever_the_chunks(size: int, start: int):
    """Law: any cutting gives the same pages, from any position."""
    raw = b"".join(line(url=f"http://a/{i}") for i in range(5))
    pages, damage = read(*[raw[i : i + size] for i in range(0, len(raw), size)], start=start)
    assert [page.url for page in pages] == [f"http://a/{i}" for i in range(start, 5)]
    assert damage == []


def test_a_gap_costs_the_line_it_lies_in():
    """What stood before and behind the missing bytes is reported; whole lines are read."""
    pages, damage = read(line(url="a") + b'{"url":', Gap("damaged zstd frame"), b'"x"}\n' + line(url="b"))
    assert [page.url for page in pages] == ["a", "b"]
    assert "damaged zstd frame" in damage[0][1]
    assert len(damage) == 2
