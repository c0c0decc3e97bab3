"""Untrusted strings in the report: nothing invisible, no reversed text, links only to web pages."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup_crawler.report.page import MAX_SHOWN, printable, shortened, web_link
from dedup_crawler.urls.normal import normal_form


@given(st.text())
@example("a\u202eb\u2066c\u200bd\x1b[2Je\x00f\ufeff\ud800\u2028")
def test_what_is_shown_can_be_seen(text):
    """Law: no control character, direction override or lone surrogate is left, and visible characters are kept."""
    shown = printable(text)

    assert all(character.isprintable() or character in "\u200c\u200d" for character in shown)
    assert printable(shown) == shown
    if text.isprintable():
        assert shown == text
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("invoice\u202efdp.exe", "invoice\\u202efdp.exe"),
        ("\u2067x\u2069", "\\u2067x\\u2069"),
        ("\U000e0001", "\\U000e0001"),
        ("مرحبا", "مرحبا"),
        ("\u0645\u06cc\u200c\u062e\u0648", "\u0645\u06cc\u200c\u062e\u0648"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("one\n\ttwo\u00a0three", "one  two three"),
    ],
)
def test_what_deceives_is_written_out_and_what_people_write_stays(written, shown):
    """Direction overrides are shown as numbers; Arabic, Persian joiners and emoji families are legitimate."""
    assert printable(written) == shown


@given(st.text(max_size=3000), st.integers(80, 600))
def test_long_strings_keep_both_ends(text, limit):
    """Law: at most *limit* characters of the original are shown, the first and the last among them."""
    shown = shortened(text, limit)

    if len(text) <= limit:
        assert shown == printable(text)
    else:
        head, _, tail = shown.rpartition(" … ")
        assert printable(text).startswith(head)
        assert printable(text).endswith(tail)


def test_a_megabyte_is_cut():
    """A title of a megabyte takes a few hundred letters, even if each must be escaped."""
    assert len(shortened("\u202e" * 10**6)) < 6 * MAX_SHOWN + 10


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "  javascript:alert(1)//http://a.example/",
        "javascript://a.example/%0aalert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "//a.example/x",
        "/x",
        "",
        "http://",
        "https:///x",
        "ftp://a.example/x",
        "http://a.example/" + "x" * 5000,
        "\x00http://a.example/",
        "x\nhttp://a.example/",
    ],
)
def test_only_the_web_is_linked(url):
    """Any other alleged URL of a page is shown as text."""
    link = web_link(url)
    assert link is None or (url == "\x00http://a.example/" and link == "http://a.example/")


@given(st.text())
@example('http://a.example/"><script>alert(1)</script>')
@example("https://a.example/x?y=' onmouseover='alert(1)")
def test_a_link_is_ascii_without_quotes_and_brackets(text):
    """Law: a link contains nothing that could end an attribute, and is its own normal form."""
    for url in (text, f"http://a.example/{text}"):
        link = web_link(url)
        if link is not None:
            assert link.startswith(("http://", "https://"))
            assert link.isascii()
            assert not set(link) & set('"<>` \n\r\t\\')
            assert normal_form(link) == link
