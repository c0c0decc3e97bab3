"""Walls: recognition of a site that changes during the crawl."""

from __future__ import annotations

import functools
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costs import at_most
from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.exploration.shown_text import signature_of
from dedup_crawler.live.walls.walls import WINDOW, SiteFreeze
from dedup_crawler.pages.compression import read_chunks
from dedup_crawler.pages.warc_pages import read_warc
from repository import SITES

NAMES = ("forum", "dokuwiki", "ftp", "shop")


def form(i):
    return i.to_bytes(16, "big")


@functools.cache
def recorded(name):
    """Return the bodies of a site's good answers in crawl order, the first 1,500."""
    steps = read_warc(read_chunks(SITES / name / "crawl.warc.zst"), pytest.fail)
    pages = (page for _, page in steps if page is not None)
    return list(itertools.islice((page.content for page in pages if page.status == 200), 1500))


def wall(i):
    """Return a log-in form with a new token, time and return address on each page, in the form and in a script."""
    draw = random.Random(i)
    token = "".join(draw.choice("0123456789abcdef") for _ in range(40))
    return (
        f"<html><head><title>Log in</title><script>window.token = '{token}'; if (a < b) go();</script></head><body>"
        f"<form action='/login?next=%2Ftopic%2F{i}'><input type=hidden name=csrf value='{token}'>Please log in to go on"
        f"<input name=user></form><footer>{draw.randrange(24)}:{i % 60:02} Request {token[:12]}</footer></body></html>"
    ).encode()


def body(number):
    """Return a page with one word for each number."""
    return "".join(chr(ord("a") + int(digit)) for digit in str(number)).encode()


def watched(content, path=""):
    return FetchedPage.of(f"https://a.example/{path}", "https://a.example/", "text/html", content)


def crawl(freeze, bodies):
    """Return the places at which the freeze began or ended."""
    return [i for i, each in enumerate(bodies) if freeze.see(form(i), watched(each))]


def test_a_wall_has_one_signature():
    """Tokens, times and URLs vary; two walls and two pages do not look alike."""
    assert len({signature_of(watched(wall(i))) for i in range(50)}) == 1
    assert signature_of(watched(wall(1))) != signature_of(watched(wall(1).replace(b"Please", b"You must")))


@pytest.mark.skipif(not SITES.exists(), reason=f"needs the recorded sites in {SITES}")
@pytest.mark.parametrize("name", NAMES)
def test_a_normal_crawl_never_freezes(name):
    """The recorded sites in crawl order never freeze."""
    assert crawl(SiteFreeze(), recorded(name)) == []


@pytest.mark.skipif(not SITES.exists(), reason=f"needs the recorded sites in {SITES}")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("start", [100, 1000])
def test_a_login_wall_freezes_the_crawl_until_it_goes(name, start):
    """From one page on all answers are the wall: frozen after 41 pages; ends 50 pages after the wall."""
    normal = recorded(name)
    pages = normal[:start] + [wall(i) for i in range(300)] + normal[start : start + 200]
    freeze = SiteFreeze()
    changes = []
    for i, each in enumerate(pages):
        page = watched(each)
        if freeze.see(form(i), page):
            changes.append(i)
            if len(changes) == 1:
                assert [*freeze.wall_forms()] == [form(place) for place in range(start, i + 1)]
                assert freeze.wall == signature_of(page)
    assert len(changes) == 2
    assert changes[0] == start + 40
    assert start + 300 < changes[1] <= start + 351
    assert freeze.wall is None


@pytest.mark.skipif(not SITES.exists(), reason=f"needs the recorded sites in {SITES}")
def test_a_wall_for_every_third_page_freezes_too():
    """Some pages still come through the wall."""
    normal = recorded("forum")
    pages = normal[:500]
    for i in range(300):
        pages += [wall(i), *normal[500 + 2 * i : 502 + 2 * i]]
    changes = crawl(SiteFreeze(), pages)
    assert len(changes) == 1
    assert 500 < changes[0] < 500 + 130


def test_a_page_that_always_was_frequent_is_no_wall():
    """A tenth of the pages is one empty list, later a third: rules may explain this, so it is no wall."""
    draw = random.Random(1)
    pages = [0 if draw.random() < 0.1 else i + 1 for i in range(1000)]
    pages += [0 if draw.random() < 0.33 else i + 1 for i in range(1000, 2000)]
    assert crawl(SiteFreeze(), map(body, pages)) == []


def test_log_in_links_at_every_page_are_no_wall():
    """
    Each topic has a link to log in, and the crawl comes to all of them at once. They were one page from the first one
    on, so this is no wall. When the same form answers for topics, it is one.
    """
    freeze = SiteFreeze()
    topics = [(body(i + 1), f"topic/{i}") for i in range(500)]
    login = [(wall(i), f"login?next=/topic/{i}") for i in range(300)]
    walled = [(wall(i), f"topic/{i}") for i in range(500, 600)]
    order = [*topics[:10], *login[:6], *topics[10:300], *itertools.chain(*zip(login[6:206], topics[300:], strict=True))]
    changes = [i for i, each in enumerate([*order, *walled]) if freeze.see(form(i), watched(*each))]

    assert len(changes) == 1
    assert len(order) < changes[0] <= len(order) + 40


def test_a_site_of_one_shell_never_freezes():
    """If all pages have one signature from the start, nothing changed."""
    assert crawl(SiteFreeze(), [b"shell"] * 1000) == []


def test_a_form_counts_once():
    """A page that is fetched repeatedly counts once."""
    freeze = SiteFreeze()
    assert crawl(freeze, map(body, range(1, 301))) == []
    assert not any(freeze.see(form(10**6), watched(body(0))) for _ in range(300))


def test_a_known_wall_is_known_again():
    """A known wall is recognized after ten pages, though it was frequent before."""
    freeze = SiteFreeze()
    pages = [*range(1, 301), *[0] * 100, *range(301, 601), *[0] * 60]
    began, ended, again = crawl(freeze, map(body, pages))[:3]
    assert (began, ended, again) == (340, 445, 710)


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3)), max_size=600))
@settings(max_examples=30)
def test_state_is_bounded_and_consistent(steps):
    """Law: for any pages, the window is bounded, and a change is reported exactly when the state changes."""
    freeze = SiteFreeze()
    was_frozen = False
    for number, signature in steps:
        assert freeze.see(form(number), watched(body(signature))) == ((freeze.wall is not None) != was_frozen)
        was_frozen = freeze.wall is not None
        assert len(freeze._window) <= WINDOW
        assert bool(freeze.wall_forms()) <= was_frozen


@given(st.binary(max_size=300))
def test_any_body_has_a_signature(content):
    """Law: 64 bits, for any bytes."""
    assert 0 <= signature_of(watched(content)) < 2**64


@pytest.mark.parametrize("piece", [b"<script", b"<", b"<<script>", b"a", b"</script", b"<style><script>", b"\xff0"])
def test_hostile_bodies_cost_no_more_than_others(piece):
    """A megabyte of input that is bad for regular expressions takes milliseconds: only the start is read, once."""
    page = watched(piece * (2**20 // len(piece)))
    with at_most(20):
        signature_of(page)
