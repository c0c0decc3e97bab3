"""Parameter rules, trials, and the rules of a host."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup_crawler.rules.miners.dust import DustSearch, likely_parameters
from dedup_crawler.rules.miners.url_list import PairTally, UrlList

ORIGIN = "http://a.example"
SEARCH = DustSearch("dustbuster", min_support=5, max_tokens=35, max_bucket=11, n_tried=20, epsilon=0.05, seed=0)


def listed(pages):
    """URLs with the number of the page that each shows."""
    rests, clusters = zip(*pages, strict=True)
    return UrlList("a.example", [ORIGIN + rest for rest in rests], clusters, clusters, are_clusters=True)


def said(urls):
    return [str(rule).removeprefix("a.example: ") for rule in SEARCH.rules_of(urls)]


def test_a_parameter_that_never_matters_is_left_out():
    """Session ids that never repeat, with and without a URL that has none."""
    with_plain = [(f"/t?id={n}{sid}", n) for n in range(9) for sid in ("", f"&sid=a{n}", f"&sid=b{n}")]
    without = [(rest, page) for rest, page in with_plain if "sid" in rest]

    assert said(listed(with_plain)) == ["where query[sid] is there: drop query[sid]"]
    assert said(listed(without)) == ["where query[sid] is there: drop query[sid]"]


def test_a_parameter_gets_its_default_where_its_lack_matters():
    """Without ``lang`` a page asks for the language; with it, all values show one page."""
    pages = [(f"/t?id={n}&lang={lang}", n) for n in range(9) for lang in ("en", "de", "fr")]
    pages += [(f"/t?id={n}", 100) for n in range(9)]

    assert "where query[lang] is there, not in {'de'}: set query[lang] to 'de'" in said(listed(pages))
    assert not [line for line in said(listed(pages)) if "drop query[lang]" in line]


def test_a_parameter_that_names_the_page_gives_no_rule():
    """Page 1 is the topic itself, pages 2-9 are not: only the value 1 goes."""
    pages = [(f"/t{n}?page={page}", 100 * n + page) for n in range(9) for page in range(1, 10)]
    pages += [(f"/t{n}", 100 * n + 1) for n in range(9)]

    assert said(listed(pages)) == ["replace '?page=1' at the end by ''"]


def test_more_general_rules_stand_for_what_they_imply():
    """``.html`` is dropped everywhere, by one rule for all sections."""
    pages = [
        (f"/{section}/{name}{end}", f"{section}{name}")
        for section in "abc"
        for name in ("x", "y", "z", "v", "w", "u", "p")
        for end in ("", ".html")
    ]
    numbers = {page: number for number, (_, page) in enumerate(pages)}

    assert said(listed([(rest, numbers[page]) for rest, page in pages])) == ["replace '.html' at the end by ''"]


def test_what_fails_too_often_is_no_rule():
    """A substring that changes the page in a third of the cases is likely, but its sample fails, and it is not kept."""
    pages = [(f"/p{n}{end}", n if n % 3 else 100 + n + len(end)) for n in range(60) for end in ("", "/print")]
    untried = replace(SEARCH, n_tried=0)

    assert said(listed(pages)) == []
    (rule,) = untried.rules_of(listed(pages))
    assert (rule.statistics.n_support_pairs, rule.statistics.n_false_pairs) == (60, 20)


@pytest.mark.parametrize(
    ("outcomes", "is_decided", "is_passed"),
    [
        ([True] * 18, False, True),
        ([True] * 19, True, True),
        ([False], False, False),
        ([True] * 17 + [False, False], True, False),
        ([], False, False),
    ],
)
def test_validation_ends_when_it_is_certain(outcomes, is_decided, is_passed):
    """One of twenty pairs may fail: nineteen successes or two failures decide."""
    tally = PairTally(20, 0.05)
    for outcome in outcomes:
        tally.add(outcome)

    assert (tally.is_decided, tally.is_passed) == (is_decided, is_passed)


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["a", "/", "?a=1", "&b=2", "&b", "?", "=", "&a=1"]), max_size=30), st.integers(0, 99))
def test_any_list_gives_rules_without_an_error(pieces, seed):
    """Also URLs that repeat a parameter, have empty ones, or no value; the same seed gives the same rules."""
    draw = random.Random(seed)
    rests = ["/" + "".join(draw.choices(pieces, k=3)) for _ in range(30)] if pieces else ["/"]
    urls = listed([(rest, draw.randint(0, 3)) for rest in rests])
    search = replace(SEARCH, min_support=1, epsilon=0.1, seed=seed)

    rules = search.rules_of(urls)

    assert rules == search.rules_of(urls)
    assert all(rule.host == "a.example" for rule in rules)
    assert all(rule.support >= 1 for rule in likely_parameters(urls, min_support=1, origin=""))


def test_a_url_with_a_thousand_parameters_costs_no_square():
    """A parameter with too many URLs is left out of the search; so is one that only one URL has."""
    long = "&".join(f"p{n}=1" for n in range(1000))

    urls = listed([(f"/{n}?{long}", n) for n in range(10)])
    assert likely_parameters(urls, min_support=5, origin="") == []
