"""Meter lines: "Page generated in 0.12 seconds" makes each fetch another text, and it is still the same page."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.evidence.comparing import PageEvidence, Verdict
from dedup_crawler.evidence.site_text import SiteText
from dedup_crawler.evidence.two_fetches import GrowingText
from dedup_crawler.json_values import JsonValue
from dedup_crawler.labels.clusters import cluster_labelled
from dedup_crawler.labels.lines import lines_of
from dedup_crawler.labels.meters import MeterCounts, meter_shapes
from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.exploration.same_page import read, same_page
from dedup_crawler.methods import make_method
from dedup_crawler.pages.records import LabelledPage
from site_of_pages import HOST, blog, fetched, page, titled, words

SAME, DIFFERENT = Verdict.SAME, Verdict.DIFFERENT


def footer(seed: object) -> str:
    draw = random.Random(str(seed))
    return f"Page generated in 0.{draw.randrange(1000):03} seconds with {draw.randrange(20, 60)} queries"


def metered(pages: Sequence[LabelledPage]) -> list[LabelledPage]:
    """The pages, each with the footer of its fetch."""
    return [replace(each, main_text=f"{each.main_text}\n{footer(n)}") for n, each in enumerate(pages)]


def meters_of(pages: Sequence[LabelledPage], site: Sequence[LabelledPage] = ()) -> set[str]:
    """The meter lines of the first page, as the *site* shows them (by default, all *pages*)."""
    counts = MeterCounts()
    for each in site or pages:
        counts.see(each.url, each.title, lines_of(each))
    shapes = meter_shapes(lines_of(pages[0]))
    return {line for line, shape in shapes.items() if shape in counts.meters()}


def test_only_the_footer_is_a_meter_line():
    """Not the line with the number of the URL, nor one that never changes, nor the entries of a list."""
    pages = [
        page(f"/topic/{100 + n}", f"Topic {n}", f"Topic no. {100 + n}", "Version 1.2", f"{n} votes", f"{n + 1} votes")
        for n in range(30)
    ]
    assert meters_of(metered(pages)) == {footer(0)}
    assert meters_of(metered(pages[:19])) == set()


def test_a_number_on_some_pages_is_no_meter_line():
    """Prices are on half of the pages of a shop."""
    pages = [page(f"/{words(1, n)}", f"Thing {n}", *[f"Price: {n * 7}.99"] * (n % 2)) for n in range(100)]
    assert meters_of(pages[1:]) == set()


@pytest.mark.parametrize(("n_topics", "expected"), [(20, {"Read 0 times", "0 replies, 1,990 views"}), (7, set())])
def test_counters_grow_from_fetch_to_fetch(n_topics: int, expected: set[str]):
    """Each topic counts its readers, in one line or in the rows of a list; a stock goes up and down."""
    pages = [page(f"/about/{n}", *titled(n)) for n in range(60)]
    for fetch, n in itertools.product(range(3), range(n_topics)):
        lines = f"Read {n * 37 + fetch} times", f"{n} replies, {1990 + 7 * fetch:,} views", f"{n * fetch * 7 % 13} left"
        pages.append(page(f"/{words(1, n)}?{'abc'[fetch]}", f"Topic {n}", *lines))
    assert meters_of(pages[60:], pages) == expected


ABOUT = [page(f"/about/{n}", *titled(n)) for n in range(60)]


@pytest.mark.parametrize(
    "pages",
    [
        # the pages of a log show rising numbers, in the order in which they are crawled
        [
            page(f"/log?{words(1, n)}", "Log", f"Build no. {n}", "It took a while, but in the end it worked")
            for n in range(60)
        ]
        + ABOUT,
        # rows that are all higher are other rows: the second page of each list has the next numbers
        [
            page(f"/{words(1, n)}?from={part}", f"List {words(2, n)}", *(f"Ticket {first + row}" for row in range(9)))
            for n in range(30)
            for part, first in (("a", 900), ("b", 909))
        ]
        + ABOUT,
        # pages that show nothing but a price: a hundred prices are a hundred pages
        [
            page(
                f"/price/{words(1, n)}", "Prices", f"The price is {n * 7}.99 today, taxes included, in any shop of ours"
            )
            for n in range(100)
        ]
        + ABOUT[:5],
    ],
    ids=["log", "rows", "prices"],
)
def test_numbers_that_tell_pages_apart_are_no_meters(pages: list[LabelledPage]):
    """They are what the pages show: all pages are different."""
    assert meters_of(pages) == set()
    assert len(set(cluster_labelled(pages))) == len(pages)


@given(st.lists(st.lists(st.text(max_size=30), max_size=5), max_size=40))
def test_any_lines_can_be_counted(pages: list[list[str]]):
    """Law: every meter line is the shape of a line with a digit."""
    counts = MeterCounts()
    for n, lines in enumerate(pages):
        counts.see(f"http://a.example/{n}", "", lines)
    shapes = {shape for lines in pages for shape in meter_shapes(lines).values()}
    assert counts.meters() <= shapes


def test_labels_join_pages_that_differ_in_meter_lines_alone():
    """Each article has two addresses, and every fetch another footer: sixty pages, not a hundred and twenty."""
    articles = [page(f"/{n}/{view}", *titled(n)) for n in range(60) for view in ("a", "b")]
    clusters = cluster_labelled(metered(articles))
    assert clusters == cluster_labelled(articles)
    assert len(set(clusters)) == 60


def test_the_comparer_leaves_meter_lines_out():
    """Reply forms are the same as without footers; other articles are different; short pages are compared too."""
    pages, place = blog()
    pages = metered(pages)
    asked = [(place[f"/{n}/"], place[f"/{n}/?reply={n}"]) for n in range(60)]
    other = [(place[f"/{n}/"], place[f"/{n + 1}/"]) for n in range(59)]
    evidence = PageEvidence.of_pages(pages)
    assert set(evidence.judge(asked, range(60))) == {SAME}
    assert set(evidence.judge(other, range(59))) == {DIFFERENT}


def test_the_order_of_a_query_is_judged_by_the_pages():
    """The labels tell all fetches apart; the pages say that the order does not matter, and what a session does not."""
    pages = [
        page(f"/view?{query}", *titled(n))
        for n in range(40)
        for query in (f"t={n}&s={n * 7}", f"s={n * 7}&t={n}", f"t={n}")
    ]
    pages = metered(pages)
    urls = [each.url for each in pages]
    method = make_method("verified").fit(urls, range(len(urls)), evidence=PageEvidence.of_pages(pages))
    assert method.canonicalize(f"{HOST}/view?s=999&t=50") == f"{HOST}/view?t=50"


def test_a_crawl_knows_the_meter_lines_of_its_model():
    """They are in the model; one without them is read too."""
    pages, _ = blog()
    text = PageEvidence.of_pages(metered(pages)).site
    stored = text.to_json()
    assert SiteText.from_json(JsonValue(stored, "text")).meters == text.meters
    assert len(text.meters) == 1
    del stored["meters"]
    assert SiteText.from_json(JsonValue(stored, "text")).meters == set()


@pytest.mark.parametrize("has_footer", [True, False])
def test_a_crawl_without_a_model_learns_them(has_footer: bool):
    """Short pages with other footers are the same, as they are without; with other words they are not."""

    def answer(path: str, n: int, seed: object) -> FetchedPage:
        return fetched(path, *titled(n), *[footer(seed)] * has_footer)

    growing = GrowingText()
    for n in range(40):
        known = read(answer(f"/{n}", n, n))
        assert known is not None
        growing.see(known)
    site = growing.text()
    assert same_page(answer("/7", 7, "now"), answer("/7?v=1", 7, "then"), site) is True
    assert same_page(answer("/7", 7, "now"), answer("/8", 8, "then"), site) is False
