"""Links of stored pages: those that a browser would follow, of any page that strangers may send."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.labels.main_text import links_of, stored_links
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from dedup_crawler.urls.page_links import MAX_BYTES

if TYPE_CHECKING:
    from pathlib import Path

URL = "http://a.example/topic/7/?page=2"


def page(body: str | bytes, content_type: str | None = "text/html", status: int = 200) -> Page:
    content = body.encode() if isinstance(body, str) else body
    return Page(URL, status, content_type=content_type, content=content)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        (
            '<a href="?post=1">1</a> <a href="/post/2#p2">2</a>',
            ["http://a.example/topic/7/?post=1", "http://a.example/post/2"],
        ),
        ('<a href=" /x ">1</a><a href="/x#a">2</a><area href="/y">', ["http://a.example/x", "http://a.example/y"]),
        ('<base href="/b/"><a href="c">1</a><a name="n">2</a><a href="">3</a>', ["http://a.example/b/c"]),
        ('<a href="http://[">1</a><a href="/ok">2</a>', ["http://a.example/ok"]),
        ('<p><a href="/open">no end', ["http://a.example/open"]),
        ("no links", []),
    ],
)
def test_links_as_a_browser_reads_them(html: str, expected: list[str]):
    """Absolute, each once, without fragments; a broken link or page costs no other link."""
    assert list(links_of(page(html))) == expected


def test_other_answers_have_no_links():
    """Errors, redirects, other types, empty and very long bodies."""
    link = '<a href="/x">x</a>'
    assert list(links_of(page(f"<html>{link}", None))) == ["http://a.example/x"]
    for other in (
        page(link, status=404),
        page(link, status=302),
        page(link, "text/plain"),
        page(b"\x89PNG", "image/png"),
    ):
        assert list(links_of(other)) == []
    for body in ("", "   ", "<!-- -->", link + " " * MAX_BYTES):
        assert list(links_of(page(body))) == []


@given(st.binary(max_size=200))
def test_no_page_breaks_the_reader(body: bytes):
    """Any bytes, as HTML of a good answer."""
    links = list(links_of(page(b'<a href="' + body)))
    assert len(links) == len(set(links))


def test_links_are_read_from_the_store_by_url(tmp_path: Path):
    """None of a URL that was not stored."""
    with PageStore(tmp_path / "crawl.db") as store:
        store.add(page('<a href="/x">x</a>'))
        store.flush()
        links_on = stored_links(store)
        assert list(links_on(URL)) == ["http://a.example/x"]
        assert list(links_on("http://a.example/unknown")) == []
