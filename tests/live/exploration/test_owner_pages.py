"""The bounded store of owners' pages."""

from __future__ import annotations

import os
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.evidence.site_text import N_BESIDE
from dedup_crawler.live.collecting.response_page import MAX_BODY, FetchedPage
from dedup_crawler.live.exploration import same_page
from dedup_crawler.live.exploration.same_page import OwnerPages


def page(body, url="https://a.example/"):
    return FetchedPage.of(url, url, "text/html", body)


@given(st.binary(max_size=2000))
def test_a_page_comes_back_as_it_was(body):
    """Law: for any body, including an empty one."""
    pages = OwnerPages()
    pages.put(b"form", page(body))
    assert pages.get(b"form") == page(body)


def test_a_huge_body_is_cut_and_still_told_from_another():
    """The first MiB is kept; the digest covers everything, so a later difference shows."""
    one, other = page(b"x" * MAX_BODY + b"1"), page(b"x" * MAX_BODY + b"2")
    assert one.is_cut
    assert one.body == other.body
    assert one.digest != other.digest
    pages = OwnerPages()
    pages.put(b"form", one)
    assert pages.get(b"form") == one


def test_the_least_recently_used_go_first(monkeypatch):
    """A used page is kept."""
    monkeypatch.setattr(same_page, "MAX_KEPT_BYTES", 8000)
    pages = OwnerPages()
    for name in (b"a", b"b", b"c"):
        pages.put(name, page(os.urandom(2000)))
    assert pages.get(b"a") is not None
    pages.put(b"d", page(os.urandom(2000)))
    assert [name in pages for name in (b"a", b"b", b"c", b"d")] == [True, False, True, True]


def test_the_pages_of_a_time_are_those_fetched_just_before_and_after():
    """The nearest first on both sides, independent of use; none for an unknown form."""
    pages = OwnerPages()
    for n in range(100):
        pages.put(bytes([n]), page(b"%d" % n))
    pages.get(bytes([51]))
    before, after = pages.beside(bytes([70]))
    assert [each.body for each in before][:2] == [b"69", b"68"]
    assert [each.body for each in after][:2] == [b"71", b"72"]
    assert (len(before), len(after)) == (N_BESIDE, 29)
    assert [each.body for each in pages.latest()][:2] == [b"99", b"98"]
    assert pages.beside(b"unknown") == ([], [])


def test_a_page_larger_than_all_memory_is_not_kept(monkeypatch):
    """And it removes no other page, only the earlier page of its own form."""
    monkeypatch.setattr(same_page, "MAX_KEPT_BYTES", 5000)
    pages = OwnerPages()
    pages.put(b"a", page(b"small"))
    pages.put(b"b", page(b"earlier"))
    pages.put(b"b", page(os.urandom(10_000)))
    assert [name in pages for name in (b"a", b"b")] == [True, False]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3000), st.booleans()), max_size=40))
def test_memory_is_bounded_and_counted(steps):
    """Law: never more bytes than allowed, and none after clearing."""
    pages = OwnerPages()
    with patch.object(same_page, "MAX_KEPT_BYTES", 10_000):
        for number, size, is_forgotten in steps:
            name = bytes([number])
            if is_forgotten:
                pages.forget(name)
            else:
                pages.put(name, page(os.urandom(size)))
            assert pages.n_bytes <= 10_000
    for number in range(6):
        pages.forget(bytes([number]))
    assert (pages.n_bytes, len(pages._pages)) == (0, 0)
