"""Data of scripts: a page may show what its scripts make of numbers, while its text is that of other pages."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.two_fetches import GrowingText
from dedup_crawler.labels.clusters import cluster_labelled
from dedup_crawler.labels.html import MAX_NAMES, read_html
from dedup_crawler.labels.main_text import clean_page
from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.exploration.same_page import same_page
from dedup_crawler.methods.verified import Verified
from dedup_crawler.pages.records import LabelledPage, Page
from site_of_pages import words

N_REVIEWS = 60


def data_of(script: str) -> list[str]:
    return read_html(f"<body><script>{script}</script></body>", "https://a.example/r/7").text.splitlines()


def test_each_name_is_a_word_with_one_number_for_all_of_its_numbers():
    """Neither the order of the names nor of the numbers matters, nor how the script is written."""
    here = data_of('show({"id": 1574, "revision": 2, "files": [{"id": 1575}]})')

    assert len(here) == 2
    assert set(here) == set(data_of("var revision = 2; a.id = 1575; b = {id: '1574'};"))
    assert set(here).isdisjoint(data_of('show({"id": 1576, "revision": 3})'))


@pytest.mark.parametrize(
    "script", ["var took = 0.123", 'at = "20261121072028"', "x = 'a1b2'", "token: 12-34", "// 12", "a.b(12)", ""]
)
def test_what_changes_from_fetch_to_fetch_is_left_out(script: str):
    """Durations, moments and tokens, and numbers without a name."""
    assert data_of(script) == []


def test_very_many_names_are_read_in_part():
    """The first 200 count."""
    assert len(data_of(";".join(f"a{n} = {n}" for n in range(2 * MAX_NAMES)))) == MAX_NAMES


@given(st.text(alphabet="ab_-\"':= 1.\n", max_size=200))
def test_any_script_is_read(script: str):
    """Each line is a word that starts with a letter, and a number."""
    for line in data_of(script):
        word, number = line.split(" ")
        assert word.isalpha()
        assert number.isdecimal()


def review(n: int, version: str, revision: int) -> Page:
    """A review request: the text is the same for all its versions, and the scripts load the files of one revision."""
    data = json.dumps({"review": n, "files": [{"id": 10 * n + revision}], "took_ms": len(version)})
    body = f"<title>Review {n}</title><p>{words(60, f'review {n}')}</p><script>show({data})</script>"
    return Page(f"https://a.example/r/{n}/diff/{version}", content_type="text/html", content=body.encode())


def labelled(pages: list[Page]) -> list[LabelledPage]:
    texts = [clean_page(page)[0] for page in pages]
    return [LabelledPage(t.url, None, 200, None, t.title, t.main_text, t.simhash, None) for t in texts]


def test_labels_tell_pages_by_the_data_of_their_scripts():
    """Of three pages with equal words, two are given the same numbers: these are one page."""
    pages = labelled([review(1, "a", 2), review(1, "b", 1), review(1, "c", 2)])

    assert cluster_labelled(pages) == [0, 1, 0]


def test_a_crawl_does_not_confirm_a_rule_by_pages_with_other_data():
    """The numbers are those of nothing else on the site: the pages are not called the same."""
    growing = GrowingText()
    for page in labelled([review(n, "", 2) for n in range(40, 80)]):
        growing.see(page)
    fetched = [
        FetchedPage.of(page.url, page.url, "text/html", page.content)
        for page in (review(1, "a", 2), review(1, "b", 1), review(1, "c", 2))
    ]

    assert same_page(fetched[0], fetched[2], growing.text()) is True
    assert same_page(fetched[0], fetched[1], growing.text()) is not True


@pytest.mark.parametrize("old", [1, 2])
def test_a_rule_about_pages_with_other_data_is_not_learnt(old: int):
    """A third of the reviews has one revision, which the first version shows as well; the others have two.

    If all have one (*old* is 2, as the newest), the rule is learnt.
    """
    pages = labelled(
        [
            review(n, version, revision)
            for n in range(N_REVIEWS)
            for version, revision in (("", 2), ("first", 2 if n % 3 == 0 else old))
        ]
    )
    urls = [page.url for page in pages]
    method = Verified().fit(urls, cluster_labelled(pages), None, None, PageEvidence.of_pages(pages))
    forms = [method.canonicalize(f"https://a.example/r/999/diff/{version}") for version in ("", "first")]

    assert (forms[0] == forms[1]) is (old == 2)
