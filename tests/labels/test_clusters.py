"""Joining of pages, and above all pages that must stay apart."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs import at_most
from dedup_crawler.labels.clusters import cluster_labelled, cluster_pages
from dedup_crawler.pages.records import LabelledPage
from label_pages import LONG, SITE, TEXT, groups, page, redirect, wiki


def clusters(*pages: LabelledPage) -> list[int]:
    return cluster_pages(lambda: pages).numbers()


ROWS = [f"name{n}\n{(7 * n) % 5} bytes" for n in range(5)]
ORDERS = ["\n".join(ROWS), "\n".join(reversed(ROWS))]
FOUR_LINES = "\n".join(LONG.split("\n")[:4])
SCRIPTED = "You need to enable JavaScript to run this app."


@pytest.mark.parametrize(
    ("pages", "expected"),
    [
        # a chain of redirects ends at its page; fragment, host case and default port of a target do not matter
        ([page("a", TEXT), redirect("b", "a#post3"), redirect("c", "b"), page("d", "other " + TEXT)], [0, 0, 0, 1]),
        (
            [page("a", TEXT), LabelledPage(SITE + "e", None, 301, "HTTP://Site.Example:80/a", "", "", None, None)],
            [0, 0],
        ),
        # several redirects to one URL are one page, even if it was not fetched; another target is another page
        ([redirect("a", "far#1"), redirect("b", "far#2"), redirect("c", "away")], [0, 0, 1]),
        # a loop, and a redirect to itself, end
        ([redirect("a", "b"), redirect("b", "a"), redirect("c", "c")], [0, 0, 1]),
        # pages with one text are one page if title and status agree too
        ([page("a", TEXT), page("b", TEXT), page("c", TEXT, title="Other")], [0, 0, 1]),
        ([page(str(n), TEXT, status=status) for n, status in enumerate([200, 404, 404, 500])], [0, 1, 1, 2]),
        # fewer than ten words join nothing
        *(([page(str(n), text) for n in range(4)], [0, 1, 2, 3]) for text in ("", "Loading", SCRIPTED)),
        # a list in another order is the same page; without a title (a text file) the order of lines is content
        ([page(str(n), text) for n, text in enumerate(ORDERS)], [0, 0]),
        ([page(str(n), text, title="") for n, text in enumerate(ORDERS)], [0, 1]),
        # one line with another number in 300 words is the same page, unless title or status differ
        (
            [
                page("a", LONG + "\nseen 17 times"),
                page("b", LONG + "\nseen 18 times"),
                page("c", LONG + "\nseen 18 times", title="Other"),
                page("d", LONG + "\nseen 18 times", status=404),
                page("e", TEXT),
            ],
            [0, 0, 1, 2, 3],
        ),
        # on a page of less than 100 words one changed word may be the content
        ([page("a", FOUR_LINES + "\nseen 17 times"), page("b", FOUR_LINES + "\nseen 18 times")], [0, 1]),
        # if the different line has the number in which the URLs differ, it is an id and not a counter
        ([page(f"item?n={n}", f"{LONG}\nitem {n}") for n in (17, 18)], [0, 1]),
    ],
)
def test_which_pages_are_one(pages: list[LabelledPage], expected: list[int]) -> None:
    """Redirects, equal texts, orders of one list, and counters join pages; hardly any text joins none."""
    assert clusters(*pages) == expected


def test_near_pages_make_no_chain() -> None:
    """Pages that drift line by line are joined with the first while they are similar to it, not with each other."""
    lines = LONG.split("\n")
    texts = ["\n".join([*lines, *(f"{step < n}" for step in range(12))]) for n in range(12)]
    numbers = clusters(*(page(str(n), text) for n, text in enumerate(texts)))

    assert numbers == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_a_site_that_names_its_pages() -> None:
    """
    With the page's name on every page the log-in form is one page, folders are told apart by their own name, and pages
    that differ only in the page's name (edit, backlinks) stay apart, as do the texts.
    """
    pages = wiki()
    numbers = cluster_labelled(pages)

    assert len(groups(pages, numbers, "do=login")) == 1
    assert len(groups(pages, numbers, "do=edit")) == 80
    assert len(groups(pages, numbers, "do=links")) == 80
    assert len(groups(pages, numbers, "do=media")) == 35
    assert len(set(numbers)) == 80 + 1 + 80 + 80 + 35


def test_a_small_part_of_that_site_is_labelled_with_more_care() -> None:
    """With too few pages to learn the layout, equal pages stay apart, and different ones are still not joined."""
    pages = wiki(n_pages=9)
    numbers = cluster_labelled(pages)

    assert len(groups(pages, numbers, "do=edit")) == 9
    assert len(groups(pages, numbers, "do=login")) == 9


def test_each_join_has_its_reason() -> None:
    """Joins, each with its evidence, connect any two pages of a cluster, and no pages of two clusters."""
    pages = [page("a", TEXT), page("b", TEXT), redirect("c", "b"), page("d", "other " + TEXT)]
    clustering = cluster_pages(lambda: pages)

    assert [join.reason for join in clustering.explain(0, 2)] == [
        "the same title and text",
        "a redirect to http://site.example/b",
    ]
    assert clustering.explain(0, 3) == []


def test_part_of_a_crawl() -> None:
    """Any part of a crawl can be clustered, even an empty one."""
    pages = [page("", "root " + TEXT), page("a", LONG), page("b", LONG), redirect("c", "a")]

    assert cluster_labelled(pages) == [0, 1, 1, 1]
    assert cluster_labelled(pages[2:]) == [0, 1]
    assert cluster_labelled([]) == []


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, "0", "1", "9"])), max_size=12))
def test_numbers_follow_first_appearance(plan: list[tuple[int, str | None]]) -> None:
    """For any pages, clusters are numbered 0, 1, ... in crawl order, and clustering again changes nothing."""
    pages = [
        redirect(str(n), to) if to is not None else page(str(n), f"text{text} " + TEXT)
        for n, (text, to) in enumerate(plan)
    ]
    numbers = cluster_labelled(pages)

    assert list(dict.fromkeys(numbers)) == list(range(len(set(numbers))))
    assert cluster_labelled(pages) == numbers


def test_earlier_labels_are_not_looked_at() -> None:
    """Earlier clusters change nothing: evaluation clusters the training part alone."""
    pages = wiki(20)

    assert cluster_labelled([replace(each, cluster=n % 7) for n, each in enumerate(pages)]) == cluster_labelled(pages)


@pytest.mark.parametrize("kind", ["equal", "empty", "near", "orders", "different"])
def test_sites_of_one_page(kind: str) -> None:
    """2,000 pages all equal, empty, nearly equal, one list in many orders, or all different: clustered in seconds."""
    rows = [f"entry {n}\nof {n % 7}" for n in range(8)]
    text = {
        "equal": lambda n: LONG,
        "empty": lambda n: "",
        "near": lambda n: f"{LONG}\nseen {n + 5000} times",
        "orders": lambda n: "\n".join(random.Random(n // 4).sample(rows, len(rows))),
        "different": lambda n: "\n".join(f"{line} of page{n}" for line in LONG.split("\n")),
    }[kind]
    with at_most(400):
        numbers = cluster_labelled([page(str(n), text(n)) for n in range(2_000)])

    assert len(set(numbers)) == (2_000 if kind in ("empty", "different") else 1)
