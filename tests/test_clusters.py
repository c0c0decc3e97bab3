"""Which pages are joined, and above all which are not."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.labels.clusters import DisjointSets, cluster_pages
from dedup_crawler.labels.comparing import word_counts
from dedup_crawler.labels.labelling import cluster_labelled
from dedup_crawler.labels.simhash import simhash
from dedup_crawler.pages.records import LabelledPage

SITE = "http://site.example/"
TEXT = "a text of ten words says enough to compare by"
LONG = "\n".join(" ".join(f"word{line}x{n}" for n in range(20)) for line in range(15))


def page(path: str, text: str = "", *, title: str = "Title", status: int = 200, to: str | None = None) -> LabelledPage:
    fingerprint = simhash(word_counts(text)) if text else None
    return LabelledPage(SITE + path, SITE, status, to and SITE + to, title, text, fingerprint, None)


def redirect(path: str, to: str) -> LabelledPage:
    return page(path, title="", status=302, to=to)


def clusters(*pages: LabelledPage) -> list[int]:
    return cluster_pages(pages, [])


def test_redirects_show_what_they_lead_to() -> None:
    """A chain of redirects ends at its page; fragment, case of host and default port of a target do not matter."""
    chain = [page("a", TEXT), redirect("b", "a#post3"), redirect("c", "b"), page("d", "other " + TEXT)]
    odd = LabelledPage(SITE + "e", None, 301, "HTTP://Site.Example:80/a", "", "", None, None)

    assert clusters(*chain, odd) == [0, 0, 0, 1, 0]


def test_redirects_to_a_page_that_was_not_crawled() -> None:
    """Several redirects to one URL are one page even if nobody fetched it; another target is another page."""
    assert clusters(redirect("a", "far#1"), redirect("b", "far#2"), redirect("c", "away")) == [0, 0, 1]


def test_redirects_in_a_circle() -> None:
    """A loop, and a redirect to itself, end and are one cluster each."""
    assert clusters(redirect("a", "b"), redirect("b", "a"), redirect("c", "c")) == [0, 0, 1]


def test_equal_text_and_title() -> None:
    """Pages with the same text are joined if title and status agree too."""
    same = [page("a", TEXT), page("b", TEXT), page("c", TEXT, title="Other")]

    assert clusters(*same) == [0, 0, 1]


def test_errors_are_joined_with_their_like() -> None:
    """Not-found pages with one text are one cluster, apart from the page and from the server error with that text."""
    assert clusters(*(page(str(n), TEXT, status=status) for n, status in enumerate([200, 404, 404, 500]))) == [
        0,
        1,
        1,
        2,
    ]


@pytest.mark.parametrize("text", ["", "Loading", "You need to enable JavaScript to run this app."])
def test_too_little_text_joins_nothing(text: str) -> None:
    """Pages without text, or with fewer than ten words, are never called the same for want of text."""
    assert clusters(*(page(str(n), text) for n in range(4))) == [0, 1, 2, 3]


def test_another_order_of_the_same_list() -> None:
    """A listing sorted otherwise is the same page; under no title (a text file) the order of lines is content."""
    rows = [f"name{n}\n{(7 * n) % 5} bytes" for n in range(5)]
    orders = ["\n".join(rows), "\n".join(reversed(rows))]

    assert clusters(*(page(str(n), text) for n, text in enumerate(orders))) == [0, 0]
    assert clusters(*(page(str(n), text, title="") for n, text in enumerate(orders))) == [0, 1]


def test_near_duplicates_by_simhash_are_verified() -> None:
    """Within 3 bits, a page with another counter is the same; one with other lines, title or status is not."""
    near = LONG + "\nseen 18 times"
    fingerprint = simhash(word_counts(LONG))
    texts = [
        (LONG + "\nseen 17 times", "T", 200),
        (near, "T", 200),
        (near, "U", 200),
        (near, "T", 404),
        (TEXT, "T", 200),
    ]
    pages = [
        LabelledPage(f"{SITE}{n}", None, status, None, title, text, fingerprint ^ n, None)
        for n, (text, title, status) in enumerate(texts)
    ]

    assert clusters(*pages) == [0, 0, 1, 2, 3]


def test_near_duplicates_by_cosine_are_verified() -> None:
    """A pair that scores 0.99 is joined if its texts hardly differ and title and status agree; a lower score never."""
    near = [page("a", LONG), page("b", LONG + "\nseen 17 times"), page("c", LONG + "\nseen 18 times", title="Other")]
    near = [LabelledPage(p.url, p.referrer, p.status, None, p.title, p.main_text, None, None) for p in near]
    a, b, c = (each.url for each in near)

    assert cluster_pages(near, [(a, b, 0.99), (a, c, 0.999)]) == [0, 0, 1]
    assert cluster_pages(near, [(a, b, 0.98)]) == [0, 1, 2]
    assert cluster_pages(near, [(SITE + "unknown", b, 1.0)]) == [0, 1, 2]


def test_part_of_a_crawl() -> None:
    """Scores and clusters can be made of any part of a crawl, an empty one included."""
    pages = [page("", "root " + TEXT), page("a", LONG), page("b", LONG + "\nseen 17 times"), redirect("c", "a")]

    assert cluster_labelled(pages) == [0, 1, 1, 1]
    assert cluster_labelled(pages[2:]) == [0, 1]
    assert cluster_labelled([]) == []


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, "0", "1", "9"])), max_size=12))
def test_numbers_follow_first_appearance(plan: list[tuple[int, str | None]]) -> None:
    """Whatever the pages, clusters are numbered 0, 1, ... in crawl order, and clustering again changes nothing."""
    pages = [
        redirect(str(n), to) if to is not None else page(str(n), f"text{text} " + TEXT)
        for n, (text, to) in enumerate(plan)
    ]
    numbers = cluster_labelled(pages)

    assert list(dict.fromkeys(numbers)) == list(range(len(set(numbers))))
    assert cluster_labelled(pages) == numbers


@pytest.mark.parametrize("kind", ["equal", "empty", "near", "orders"])
def test_sites_of_one_page(kind: str) -> None:
    """3,000 pages that are all equal, empty, nearly equal or one list in many orders are clustered in seconds."""
    rows = [f"entry {n}\nof {n % 7}" for n in range(8)]
    text = {
        "equal": lambda n: LONG,
        "empty": lambda n: "",
        "near": lambda n: f"{LONG}\nseen {n} times",
        "orders": lambda n: "\n".join(random.Random(n // 4).sample(rows, len(rows))),
    }[kind]
    started = time.perf_counter()
    numbers = cluster_labelled([page(str(n), text(n)) for n in range(3_000)])

    assert time.perf_counter() - started < 20
    assert len(set(numbers)) == (3_000 if kind == "empty" else 1)


def test_disjoint_sets() -> None:
    """Joined items share the smallest of them; sets are numbered by first appearance."""
    sets = DisjointSets(5)
    sets.join(4, 2)
    sets.join(3, 4)

    assert [sets.find(item) for item in range(5)] == [0, 1, 2, 2, 2]
    assert sets.numbers() == [0, 1, 2, 2, 2]
