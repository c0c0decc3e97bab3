"""Comparison of two fetched pages, and the bounded store of owners' pages."""

from __future__ import annotations

import os
import random
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs import at_most
from dedup_crawler.evidence.site_text import N_BESIDE
from dedup_crawler.evidence.two_fetches import MAX_PAGES, GrowingText
from dedup_crawler.labels.lines import digest
from dedup_crawler.live.collecting.response_page import MAX_BODY, FetchedPage
from dedup_crawler.live.exploration import same_page as module
from dedup_crawler.live.exploration.same_page import OwnerPages, PagesOfSite, read, same_page

WORDS = [
    "ash",
    "birch",
    "cedar",
    "elm",
    "fir",
    "hazel",
    "juniper",
    "larch",
    "maple",
    "oak",
    "pine",
    "rowan",
    "spruce",
    "willow",
    "yew",
]
SITE = "https://a.example"


def prose(seed, n=120):
    draw = random.Random(seed)
    return " ".join(draw.choice(WORDS) for _ in range(n))


def html(title, *blocks):
    menu = "".join(f"<li>{name}</li>" for name in ("Home", "All topics", "Log in", "Contact us"))
    body = "".join(f"<p>{block}</p>" for block in blocks)
    return f"<!doctype html><title>{title}</title><ul>{menu}</ul>{body}<footer>Powered by trees</footer>"


def page(path, body, content_type="text/html; charset=utf-8"):
    body = body if isinstance(body, bytes) else body.encode()
    return FetchedPage.of(SITE + path, SITE + path, content_type, body)


def topic(path, seed, *more):
    return page(path, html(f"Topic {seed}", prose(seed), *more))


def seen(text, fetched):
    """Count a page."""
    text.see(read(fetched))


@pytest.fixture(scope="module")
def site():
    """A site of topics, each with a stamp, seen before."""
    text = GrowingText()
    for i in range(60):
        path = f"/topic/t{i}"
        seen(text, topic(path, 1000 + i, f"{path} · last changed 2026/11/{i % 28 + 1:02} 06:30"))
    return text.text()


def test_the_same_text_under_two_addresses(site):
    """Another text under the same template is another page."""
    assert same_page(topic("/a", 1), topic("/b?sid=3", 1), site) is True
    assert same_page(topic("/a", 1), topic("/a2", 2), site) is False


def test_what_varies_around_the_content_does_not_count(site):
    """The page's URL in its text, times, relative times, tokens in forms and scripts do not count."""
    hidden = "<input type=hidden value={0}><script>var token='{0}'</script>"
    one = topic("/a", 1, "/a · last changed 2026/01/01 10:00", "seen 5 minutes ago", hidden.format("f00"))
    other = topic("/b", 1, "/b · last changed 2026/02/02 23:59", "seen 2 hours ago", hidden.format("ba7"))
    assert same_page(one, other, site) is True


def test_a_counter_is_no_other_page_but_an_id_is(site):
    """One small number of a long page may differ, unless it is in the URL."""
    long = prose(7, 300)
    assert same_page(topic("/a", 1, long, "Views: 311"), topic("/b", 1, long, "Views: 312"), site) is True
    one, other = (topic(f"/a?rev={number}", 1, long, f"Revision {number}") for number in (311, 312))
    assert same_page(one, other, site) is not True


def test_counters_of_a_list_go_up_together(site):
    """View counts of topics may grow; numbers that grow and fall are those of another table."""
    views = [[str(10 * i + more) for i in range(1, 12)] for more in (0, 1)]
    assert same_page(topic("/a", 1, *views[0]), topic("/b", 1, *views[1]), site) is True
    mixed = [number if i % 2 else str(int(number) - 2) for i, number in enumerate(views[1])]
    assert same_page(topic("/a", 1, *views[0]), topic("/b", 1, *mixed), site) is not True


def test_a_list_sorted_otherwise_is_the_same(site):
    """Reversed it is the same; one moved entry may show the open branch of a tree, and one more is another list."""
    rows = [prose(i, 6) for i in range(20, 40)]
    one = page("/list", html("List", *rows))
    assert same_page(one, page("/list?sort=desc", html("List", *reversed(rows))), site) is True
    assert same_page(one, page("/list?open=3", html("List", *rows[1:], rows[0])), site) is not True
    assert same_page(one, page("/list?page=2", html("List", *rows, prose(41, 6))), site) is not True


def test_never_the_same_for_want_of_text(site):
    """Only the frame, an empty page, or a shell that a script fills: undecided."""
    assert same_page(page("/a", html("Topic 1001")), page("/b", html("Topic 1001")), site) is None
    assert same_page(page("/a", ""), page("/b", ""), site) is None
    assert same_page(page("/a", ""), topic("/b", 1), site) is None
    shell = "<title>App</title><noscript>You need JavaScript</noscript><div id=root></div>"
    assert same_page(page("/a", shell), page("/b", shell), site) is None


def test_two_empty_folders_are_not_told_apart_by_their_names(site):
    """The name of the folder is masked, and too little else remains."""
    one, other = (
        page(path, html(f"Index of {path}", f"Index of {path}", "Parent Directory")) for path in ("/x1", "/y1")
    )
    assert same_page(one, other, site) is not True


def test_nothing_is_known_of_a_site_at_first():
    """HTML is undecided without the text of the site; but files have no frame."""
    assert same_page(topic("/a", 1), topic("/b", 1)) is None
    assert same_page(page("/a", b"\0" * 500, "image/png"), page("/b", b"\0" * 500, "image/png")) is True


@pytest.mark.parametrize(
    ("one", "other", "content_type", "expected"),
    [
        (b"\x89PNG" + b"1" * 200, b"\x89PNG" + b"1" * 200, "image/png", True),
        (b"\x89PNG" + b"1" * 200, b"\x89PNG" + b"2" * 200, "image/png", False),
        (b"GIF89a", b"GIF89a", "image/gif", None),
        (b"%PDF" * 400_000 + b"1", b"%PDF" * 400_000 + b"2", "application/pdf", False),
        (prose(1).encode(), prose(1).encode(), "text/plain", True),
        (prose(1).encode(), prose(1).encode() + b"\nmore", "text/plain", False),
        (b"# short", b"# short", "text/plain", None),
        (b'{"a": 1}' * 50, b'{"a": 1}' * 50, "application/json", True),
    ],
)
def test_bodies_that_are_no_html(site, one, other, content_type, expected):
    """Exactly equal or not, also after the first MiB; a pixel or two words are no evidence."""
    assert same_page(page("/a", one, content_type), page("/b", other, content_type), site) is expected


@pytest.mark.parametrize(("changed", "expected"), [(b"", True), (b"\nmore", False)])
def test_a_file_as_text_and_as_a_download(site, changed, expected):
    """The type may differ; the bytes decide."""
    text = prose(1).encode()
    download = page("/download/a", text + changed, "application/x-download")
    assert same_page(page("/a", text, "text/plain"), download, site) is expected


def test_html_and_a_file_are_not_the_same(site):
    """For any texts, and for equal bytes: the source of a page has no links."""
    source = html("Topic 1", prose(1))
    assert same_page(page("/a", source), page("/a?raw", source, "text/plain"), site) is False
    assert same_page(topic("/a", 1), page("/b", prose(1), "text/plain"), site) is False


def test_encodings(site):
    """One text in two charsets is the same; an unknown or wrong charset is decoded as well as possible."""
    text = html("Täxt", *(f"Füße und Bäume {prose(i, 8)}" for i in range(9)))
    utf8 = page("/a", text.encode("utf-8"))
    for charset, claimed in (("utf-16", "utf-16"), ("cp1252", "windows-1252"), ("utf-8", "no-such-charset")):
        other = page("/b", text.encode(charset), f"text/html; charset={claimed}")
        assert same_page(utf8, other, site) is True, charset
    assert same_page(utf8, page("/b", text.encode("utf-8"), "text/html; charset=hex"), site) is True


def test_broken_html_is_read_as_a_browser_would(site):
    """Unclosed, crossed and doubled tags, no head, a declaration of XML, NUL bytes."""
    whole = topic("/a", 1)
    broken = f"<?xml version='1.0'?><title>Topic 1<p></title><ul><li>Home<li>All topics</b><p>{prose(1)}\0"
    assert same_page(whole, page("/b", broken), site) in (True, False)
    assert same_page(page("/c", broken), page("/b", broken), site) is True


@pytest.mark.parametrize(
    "piece", ["<div>", "<p>x", "<a b=1 ", "</div>", "<table>", "<!--", "&amp;", "<b><i>", "word ", "<textarea>\n"]
)
def test_huge_and_hostile_pages_are_bounded(site, piece):
    """Two megabytes of any content: bounded time, and no verdict that the rest could change."""
    body = "<html><body>" + prose(1) + piece * (2 * 2**20 // len(piece))
    with at_most(400):
        one, other = page("/a", body + "1"), page("/b", body + "2")
        assert same_page(one, other, site) is not True


@given(st.binary(max_size=400), st.binary(max_size=400), st.sampled_from(["", "text/html", "text/plain", "x/y", ";;"]))
def test_no_body_makes_it_fail(site, one, other, content_type):
    """Law: any two bodies give a verdict, the same in both directions."""
    left, right = page("/a", one, content_type), page("/b", other, content_type)
    assert same_page(left, right, site) is same_page(right, left, site)


@given(st.text(max_size=300))
def test_a_page_is_never_another_than_itself(site, text):
    """Law: the same body under one URL is the same, or undecided."""
    assert same_page(page("/a", html("T", text)), page("/a", html("T", text)), site) is not False


def test_the_frame_is_that_of_the_latest_pages():
    """After a relaunch the new menu is frame, and the old one no longer is; memory is bounded."""
    text = GrowingText()
    for i in range(MAX_PAGES + 50):
        seen(text, topic(f"/{i}", i, "an old menu entry" if i < 50 else "a new menu entry"))
    frame = text.text().frame
    assert digest("1 a new menu entry") in frame
    assert digest("1 an old menu entry") not in frame
    assert len(text) == text.text().n_titles == MAX_PAGES


def test_a_page_of_many_addresses_is_no_frame():
    """Of pages with one title only one counts."""
    text = GrowingText()
    for i in range(40):
        seen(text, topic(f"/?sid={i}", 7))
    assert not text.is_known


def test_a_site_with_one_title_is_known_by_its_contents():
    """All its pages have one title: the menu is the frame, and a topic is not; the same topic twice counts once."""
    text = GrowingText()
    for i in range(120):
        seen(text, page(f"/?t={i}", html("The forum", prose(i % 60))))
    assert 60 <= text.text().n_titles <= 61  # the first page may count twice
    assert same_page(page("/?t=1", html("The forum", prose(1))), page("/t1", html("The forum", prose(1))), text.text())
    other = page("/t2", html("The forum", prose(2)))
    assert same_page(page("/?t=1", html("The forum", prose(1))), other, text.text()) is False


def test_not_every_offered_page_is_read():
    """The first fifty are read, then one in eight: reading takes milliseconds."""
    pages = PagesOfSite()
    pages.text(OwnerPages())
    for i in range(450):
        pages.offer(b"%d" % i, topic(f"/{i}", i))
    assert pages.text(OwnerPages()).n_titles == 100


def test_no_page_is_read_before_somebody_asks():
    """Then fifty kept pages are read; if none was kept, the next fifty."""
    pages, kept = PagesOfSite(), OwnerPages()
    for i in range(450):
        kept.put(b"%d" % i, topic(f"/{i}", i))
        pages.offer(b"%d" % i, topic(f"/{i}", i))
    assert pages.text(kept).n_titles == 50
    late = PagesOfSite()
    for i in range(450):
        late.offer(b"%d" % i, topic(f"/{i}", i))
    assert late.text(OwnerPages()) is None
    for i in range(50):
        late.offer(b"%d" % i, topic(f"/{i}", i))
    assert late.text(OwnerPages()).n_titles == 50


@given(st.binary(max_size=2000))
def test_a_page_comes_back_as_it_was(body):
    """Law: for any body, including an empty one."""
    pages = OwnerPages()
    pages.put(b"form", page("/", body))
    assert pages.get(b"form") == page("/", body)


def test_a_huge_body_is_cut_and_still_told_from_another():
    """The first MiB is kept; the digest covers everything, so a later difference shows."""
    one, other = page("/", b"x" * MAX_BODY + b"1"), page("/", b"x" * MAX_BODY + b"2")
    assert one.is_cut
    assert one.body == other.body
    assert one.digest != other.digest
    pages = OwnerPages()
    pages.put(b"form", one)
    assert pages.get(b"form") == one


def test_the_least_recently_used_go_first(monkeypatch):
    """A used page is kept."""
    monkeypatch.setattr(module, "MAX_KEPT_BYTES", 8000)
    pages = OwnerPages()
    for name in (b"a", b"b", b"c"):
        pages.put(name, page("/", os.urandom(2000)))
    assert pages.get(b"a") is not None
    pages.put(b"d", page("/", os.urandom(2000)))
    assert [name in pages for name in (b"a", b"b", b"c", b"d")] == [True, False, True, True]


def test_the_pages_of_a_time_are_those_fetched_just_before_and_after():
    """The nearest first on both sides, independent of use; none for an unknown form."""
    pages = OwnerPages()
    for n in range(100):
        pages.put(bytes([n]), page("/", b"%d" % n))
    pages.get(bytes([51]))
    before, after = pages.beside(bytes([70]))
    assert [each.body for each in before][:2] == [b"69", b"68"]
    assert [each.body for each in after][:2] == [b"71", b"72"]
    assert (len(before), len(after)) == (N_BESIDE, 29)
    assert [each.body for each in pages.latest()][:2] == [b"99", b"98"]
    assert pages.beside(b"unknown") == ([], [])


def test_a_page_larger_than_all_memory_is_not_kept(monkeypatch):
    """And it removes no other page, only the earlier page of its own form."""
    monkeypatch.setattr(module, "MAX_KEPT_BYTES", 5000)
    pages = OwnerPages()
    pages.put(b"a", page("/", b"small"))
    pages.put(b"b", page("/", b"earlier"))
    pages.put(b"b", page("/", os.urandom(10_000)))
    assert [name in pages for name in (b"a", b"b")] == [True, False]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3000), st.booleans()), max_size=40))
def test_memory_is_bounded_and_counted(steps):
    """Law: never more bytes than allowed, and none after clearing."""
    pages = OwnerPages()
    with patch.object(module, "MAX_KEPT_BYTES", 10_000):
        for number, size, is_forgotten in steps:
            name = bytes([number])
            if is_forgotten:
                pages.forget(name)
            else:
                pages.put(name, page("/", os.urandom(size)))
            assert pages.n_bytes <= 10_000
    for number in range(6):
        pages.forget(bytes([number]))
    assert (pages.n_bytes, len(pages._pages)) == (0, 0)
