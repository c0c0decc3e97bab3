"""Joined sets of pages, the chain of joins between two pages, and joins without text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.evidence.labelling import LABELLERS
from dedup_crawler.labels.clusters import cluster_pages
from dedup_crawler.labels.joins import Clustering
from dedup_crawler.pages.items import body_digest
from label_pages import LONG, TEXT, page, redirect


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=15))
def test_joins_connect_what_is_together(pairs: list[tuple[int, int]]) -> None:
    """Two items are in one set exactly if the kept joins connect them, step by step; sets are numbered as they come."""
    clustering = Clustering(10)
    for left, right in pairs:
        clustering.join(left, right, f"{left}-{right}")
    numbers = clustering.numbers()

    assert list(dict.fromkeys(numbers)) == list(range(len(set(numbers))))
    for left in range(10):
        for right in range(10):
            way = clustering.explain(left, right)
            assert bool(way) == (left != right and numbers[left] == numbers[right])
            reached = left
            for join in way:
                assert reached in (join.left, join.right)
                reached = join.left + join.right - reached
            assert not way or reached == right


def known(path, digest, *, status=200):
    return replace(page(path, status=status), digest=f"md5:{digest}")


@pytest.mark.parametrize("labeller", LABELLERS)
@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        ([], []),
        # a redirect shows its target; pages without text are alone
        ([page("", ""), page("a", LONG), redirect("b", "a"), page("c", TEXT), page("d", "")], [0, 1, 1, 2, 3]),
        # two URLs of one body are one page; another body, or another status, is another page
        ([known("a", "1"), known("b", "2"), known("c", "1"), known("d", "1", status=203)], [0, 1, 0, 2]),
        # a text is shown as ``text/plain``, and offered for download as a type without a text
        ([replace(page("a", TEXT), digest="md5:1"), known("b", "1"), known("c", "2")], [0, 0, 1]),
    ],
)
def test_redirects_and_equal_bodies_are_one_page_for_every_labeller(labeller, pages, expected):
    """No text is needed for these joins."""
    assert LABELLERS[labeller](lambda: pages).numbers() == expected


def test_redirects_and_errors_are_not_joined_by_their_bodies():
    """The body of a 301 only says "Moved"; that of a 404 that there is nothing."""
    pages = [known(name, "1", status=status) for status in (301, 404, 500) for name in (f"{status}a", f"{status}b")]

    assert cluster_pages(lambda: pages).numbers() == list(range(6))


def test_redirects_lead_to_pages_that_are_known_by_digest():
    """A redirect to a page is that page, and so is a page with the same body."""
    pages = [redirect("old", "new"), known("new", "1"), known("copy", "1")]

    clustering = cluster_pages(lambda: pages)

    assert clustering.numbers() == [0, 0, 0]
    assert clustering.explain(1, 2)[0].reason == "the same body, byte for byte"


def test_one_body_for_a_whole_site_says_nothing():
    """An application's shell, the same at 30 of 100 URLs, joins none of them; for ten URLs it does."""
    shells = [known(f"app/{n}", "shell") for n in range(30)]
    pages = [*shells, *(known(f"page/{n}", n) for n in range(70))]
    few = [known(f"page/{n}", "same") for n in range(10)]

    assert len(set(cluster_pages(lambda: pages).numbers())) == 100
    assert set(cluster_pages(lambda: few).numbers()) == {0}


@given(st.text(max_size=80))
def test_any_string_is_a_digest_or_none(text):
    """Law: any string is accepted, its output is a fixed point, and spaces around it do not matter."""
    found = body_digest(text)

    assert found is None or body_digest(found) == found
    assert body_digest(f" {text} ") == found


@pytest.mark.parametrize(
    "nothing", ["", "-", "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ", "d41d8cd98f00b204e9800998ecf8427e"]
)
def test_no_body_has_no_digest(nothing):
    """Placeholders for a missing digest, and digests of an empty body in base 16 and 32, are no digests."""
    assert body_digest(nothing) is None
