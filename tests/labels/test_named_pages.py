"""Pages that differ in nothing but the value of their URL, which they print: a form that shows what was asked for.

They are one page if the value never matters, like the target of a log-in form. If it makes other pages different,
each is about another thing.
"""

from __future__ import annotations

import pytest

from dedup_crawler.evidence.comparing import PageEvidence, Verdict
from dedup_crawler.labels.clusters import cluster_labelled
from dedup_crawler.methods import Canonicalizer, make_method
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.pages.records import LabelledPage
from site_of_pages import article, page, titled, words

N = 30
TEXT = [words(30, line) for line in range(3)]
PRINTED = {
    "a word": lambda n: words(1, n),
    "a date": lambda n: f"2026-{1 + n // 28:02}-{1 + n % 28:02}+10:{n:02}:00",
}


def forms(printed: str) -> list[LabelledPage]:
    """Forms that print a value of their URL."""
    values = [PRINTED[printed](n) for n in range(N)]
    return [
        page(f"/edit?q={value}", "Edit the search", *TEXT, f"You asked for {value.replace('+', ' ')} and more")
        for value in values
    ]


def results(printed: str) -> list[LabelledPage]:
    """What is found with the same values: an article each."""
    return [page(f"/find?q={PRINTED[printed](n)}", "Results", *article(n)[1]) for n in range(N)]


def others() -> list[LabelledPage]:
    return [page(f"/{n}/", *titled(n)) for n in range(100, 200)]


def learnt(pages: list[LabelledPage]) -> Canonicalizer:
    data = TrainingData.of_pages(pages, cluster_labelled(pages), PageEvidence.of_pages(pages))
    method = make_method("verified")
    return method.fit(*data)


def n_forms(model: Canonicalizer, pages: list[LabelledPage]) -> int:
    return len({*model.canonicalize_many([each.url for each in pages])})


@pytest.mark.parametrize("printed", PRINTED)
def test_the_comparer_tells_a_printed_value_from_no_difference(printed: str):
    """A date counts as a value too, although dates are no words."""
    pages = [*forms(printed), *others()]
    evidence = PageEvidence.of_pages(pages)
    assert evidence.judge([(0, 1), (0, 0)], [0, 1]) == [Verdict.NAMED, Verdict.SAME]


@pytest.mark.parametrize("printed", PRINTED)
def test_a_value_that_never_matters_is_dropped_although_it_is_printed(printed: str):
    """The forms are one page."""
    asked = forms(printed)
    assert n_forms(learnt([*asked, *others()]), asked) == 1


@pytest.mark.parametrize("printed", PRINTED)
def test_a_value_that_matters_elsewhere_makes_the_pages_different_that_print_it(printed: str):
    """The results differ, so each form is about another search. Narrower rules do not merge them either."""
    asked = forms(printed)
    assert n_forms(learnt([*asked, *results(printed), *others()]), asked) == N


def test_a_value_that_is_not_printed_does_not_make_pages_different():
    """A help page is the same for all searches; the results tell nothing about it."""
    helped = [page(f"/help?q={words(1, n)}", "Help", *TEXT) for n in range(N)]
    assert n_forms(learnt([*helped, *results("a word"), *others()]), helped) == 1


def test_a_name_counts_even_if_the_line_with_it_is_systematic():
    """Forms for tickets print "general-12" or "urgent-13", as lines that differ in all groups."""
    asked = [
        page(f"/ticket/{n}/notify/", "Notify somebody", *TEXT, f"{('general', 'urgent')[n % 2]}-{n}")
        for n in range(1, N)
    ]
    evidence = PageEvidence.of_pages([*asked, *others()])
    pairs = [(n, n + 1) for n in range(0, N - 2, 2)]
    assert {*evidence.judge(pairs, range(len(pairs)))} == {Verdict.NAMED}


def test_a_value_that_only_one_page_prints_is_no_name_of_the_other():
    """The name of the site happens to be a value of one of the two URLs: "Change of the express tracker"."""
    pages = others()
    for n in range(8):
        title, lines = article(n)
        pages.append(page(f"/change/{n}", title, *lines, f"Change {words(1, n)} of the express tracker"))
        told = f"Change {words(1, n)} for express of the express tracker"
        pages.append(page(f"/change/{n}/express", title, *lines, told))
    pairs = [(n, n + 1) for n in range(len(others()), len(pages), 2)]
    assert {*PageEvidence.of_pages(pages).judge(pairs, range(len(pairs)))} == {Verdict.SAME}


def tabs(heading: str, query: str = "") -> list[LabelledPage]:
    """Folders, each with a tab that has another heading; the lists of the files are empty everywhere."""
    pages = []
    for n in range(N):
        title, lines = article(n)
        pages.append(page(f"/folder/{n}{query}", title, *lines[:1], f"Files in {words(2, n)}", "Nothing was found"))
        pages.append(
            page(f"/folder/{n}?tab=search", title, *lines[:1], f"{heading} {words(2, n)}", "Nothing was found")
        )
    return pages


@pytest.mark.parametrize(("heading", "verdict"), [("Search in", Verdict.SILENT), ("Look into", Verdict.SAME)])
def test_a_page_that_prints_a_value_that_the_other_url_lacks_is_silent(heading: str, verdict: Verdict):
    """The heading is systematic. If it names the tab, the value seems to choose what is shown."""
    pages = [*tabs(heading), *(page(f"/{n}/", "Search in", "Look into", *titled(n)) for n in range(100, 200))]
    pairs = [(n, n + 1) for n in range(0, 2 * N, 2)]
    assert {*PageEvidence.of_pages(pages).judge(pairs, range(N))} == {verdict}


@pytest.mark.parametrize("query", ["", "?tab=files"])
def test_tabs_that_name_themselves_are_not_merged(query: str):
    """Of a wiki's media manager, only folders without files were crawled: nothing but the headings tells the tabs."""
    asked = tabs("Search in", query)
    model = learnt([*asked, *(page(f"/{n}/", "Search in", *titled(n)) for n in range(100, 200))])
    assert n_forms(model, asked) == 2 * N
