"""Title, canonical link and paragraphs of pages, also of misleading ones."""

from __future__ import annotations

import justext
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.labels.html import read_html
from dedup_crawler.labels.lines import decode

URL = "http://site.example/dir/page"
LONG = "This is the text of the page and it is long enough that it will be taken for the main text of the page. " * 3
PAGES = [
    f"<html><head><title>T</title></head><body><h1>Head</h1><p>{LONG}</p><ul><li><a href=x>nav</a></ul></body></html>",
    f"<p>{LONG}<br><br>{LONG}</p><div>short</div>",
    "just words",
    "<table><tr><td>a<td>b</table><select><option>one<option>two</select><pre>\n code\n  more </pre>",
    f"<body><script>var x = '<p>no</p>'</script><style>p {{}}</style><!-- c --><form><p>{LONG}</p><button>Go</button>",
    "<h2>Title</h2><p>&copy; 2020</p>\xa9<a href=1>x</a> tail",
    "<svg><title>icon</title></svg><frameset><frame src=x></frameset>",
]
TAGS = st.sampled_from(
    ["<p>", "</p>", "<br>", "<a href=x>", "</a>", "<td>", "<h1>", "</h1>", "<b>", "<script>", "</div>"]
) | st.sampled_from(
    ["<?php x ?>", "<!-- c -->", "<form>", "</form>", "<select>", "<object>", "</body>", "<style>", "<li>"]
)
SPACES = [" ", "\t", " \n ", "\r\n", "\u2003", "&nbsp;", "\x85"]


def same_as_justext(html: str) -> None:
    theirs = justext.justext(html, justext.get_stoplist("English"))
    assert read_html(html, URL).text == "\n".join(" ".join(each.text.split()) for each in theirs)


@pytest.mark.parametrize("html", PAGES)
def test_paragraphs_are_those_of_justext(html: str) -> None:
    """Whole pages, fragments, tables, forms and scripts give the paragraphs that jusText itself gives."""
    same_as_justext(html)


@given(st.lists(TAGS | st.sampled_from(["word", LONG, "is it the one", *SPACES]), max_size=20).map("".join))
def test_tag_soup_gives_the_paragraphs_of_justext(soup: str) -> None:
    """For tags left open or closed twice, and for white space of all kinds, the paragraphs are those of jusText."""
    same_as_justext(f"<html><body>.{soup}")


def test_what_stands_in_a_text_field_is_text_of_the_page() -> None:
    """The source of a page in a text field may be its only content; it comes last, line by line."""
    field = "<textarea name=t>\n= Heading =\n\n * one &amp; two\n<p>markup</p></textarea>"
    html = read_html(f"<body><form>{field}</form><p>{LONG}</p>", URL)

    assert html.text == f"{LONG.strip()}\n= Heading =\n* one & two\n<p>markup</p>"


def test_title_and_canonical_link() -> None:
    """White space in the title is folded; the canonical link is made absolute, also with further rel values."""
    html = read_html(
        "<html><head><title>\n A  &amp; B\n</title><link rel=stylesheet href=s.css>"
        "<link rel='nofollow Canonical' href=' ../x?a=1 '></head><body>text<title>no</title></body></html>",
        URL,
    )

    assert (html.title, html.canonical_link) == ("A & B", "http://site.example/x?a=1")


@pytest.mark.parametrize("href", ["", "http://[broken"])
def test_a_broken_canonical_link_is_none(href: str) -> None:
    """An empty or invalid link counts as none."""
    assert read_html(f"<head><link rel=canonical href='{href}'></head><p>x", URL).canonical_link is None


@pytest.mark.parametrize(
    "html", ["", " \n ", "<!-- nothing -->", "<html></html>", "<textarea></textarea><textarea> \n </textarea>"]
)
def test_nothing_to_read(html: str) -> None:
    """A page without content has no paragraphs, and is no error."""
    assert read_html(html, URL).text == ""


def test_xml_declaration_of_a_decoded_page() -> None:
    """XHTML with a declared charset is not decoded twice."""
    html = read_html(
        "<?xml version='1.0' encoding='iso-8859-1'?>\n<html><body><p>caf\u00e9 \u20ac</p></body></html>", URL
    )

    assert html.text == "caf\u00e9 \u20ac"


def test_nesting_that_the_parser_cuts_is_noticed() -> None:
    """HTML nested 100,000 deep is read quickly and marked as cut; nested 200 deep it is complete."""
    deep, fine = (read_html("<div>" * depth + "core", URL) for depth in (100_000, 200))

    assert deep.is_cut
    assert not fine.is_cut
    assert fine.text == "core"


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("é€".encode(), "text/html; charset=utf-8", "é€"),
        ("é".encode("latin-1"), "text/html; charset=utf-8", "\ufffd"),
        ("é€".encode("cp1252"), "text/html", "é€"),
        ("é".encode("koi8-r", "replace"), "text/html; charset=no-such-charset", "?"),
        (b"<meta charset='windows-1251'>" + "Привет".encode("cp1251"), None, "<meta charset='windows-1251'>Привет"),
        ("\ufeffé".encode("utf-16"), "text/html; charset=latin-1", "é"),
        (b"ab", "text/html; charset=hex", "ab"),
        (b"a..b", "text/html; charset=idna", "a..b"),
        (b"x", "text/html; charset=undefined", "x"),
        (b"+2AA-", "text/html; charset=utf-7", None),
    ],
)
def test_charsets(body: bytes, content_type: str | None, text: str | None) -> None:
    """Header, byte order mark and meta element count as in browsers; a wrong charset costs letters, not the run."""
    decoded = decode(body, content_type)

    decoded.encode()  # no lone surrogates
    assert text is None or decoded.removeprefix("\ufeff") == text


@given(
    st.binary(max_size=60), st.sampled_from(["utf-8", "utf-16", "ascii", "gbk", "idna", "utf-7", "rot13", "zlib", "\0"])
)
def test_no_body_is_too_odd_to_decode(body: bytes, charset: str) -> None:
    """Any bytes under any charset give a text that UTF-8 can encode."""
    decode(body, f"text/html; charset={charset}").encode()
