"""A URL as a key-value map, with whole values and with values in pieces."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.matchers import ANY
from dedup_crawler.rules.language.operations import Drop
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.urls.keyvalue import KEY_VALUES, Pieces, UrlMap, cut_of, learn_cuts, query_names, values_of
from dedup_crawler.urls.normal import normal_form
from rule_strategies import site_urls
from url_strategies import urls


def test_counts_the_path_from_the_left():
    """Extension, trailing slash and path length are keys of their own."""
    values = values_of("http://us.php.example/manual/en/function.php")

    assert (values["path[0]"], values["path[2]"], values["ext"]) == ("manual", "function", ".php")
    assert values["path.length"] == "3"
    assert values_of("http://a.example/x/")["slash"] == "/"


def test_keeps_repeated_keys_and_tells_an_empty_value_from_none():
    """``k``, ``k=`` and no ``k`` differ, and a second ``f`` has its own key."""
    values = values_of("http://a.example/?f=1&f=2&empty=&bare")

    assert (values["query[f]"], values["query[f]#2"]) == ("1", "2")
    assert values["query[empty]"] == ""
    assert values["query[bare]"] is None
    assert "query[other]" not in values


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("/x.php?b=2&a=1", "/x.php?a=1&b=2"),
        ("/x?f=b&f=a", "/x?f=b&f=a"),
        ("/x?", "/x?"),
        ("//x//", "//x//"),
        ("/.hidden", "/.hidden"),
        ("x", "x"),
    ],
)
def test_is_written_back_with_a_sorted_query(rest, expected):
    """The map gives the URL back, except for the order of the query, which it does not keep."""
    assert KEY_VALUES.write(KEY_VALUES.read(rest, "http")) == expected


@given(urls)
def test_maps_and_urls_say_the_same(url):
    """For any string: reading a written map gives the same map, and a URL without a query comes back."""
    rest = normal_form(url)
    values = KEY_VALUES.read(rest, "http")
    written = KEY_VALUES.write(values)

    assert sorted(KEY_VALUES.read(written, "http").items(), key=repr) == sorted(values.items(), key=repr)
    if query_names(rest) == sorted(query_names(rest)):
        assert written == rest
    assert query_names(written) == sorted(query_names(written))


DEEP = UrlMap({"path[0]": Pieces("_", 2), "path[0]@1": Pieces("-", 3), "query[a]": Pieces("a", 2)})


def test_a_component_is_cut_at_the_sites_own_delimiters():
    """The story of WSDM'10: number and page of ``story_76541-page-2.html`` have keys of their own."""
    cuts = learn_cuts(values_of(f"http://a.example/story_{i}-page-{i % 7}.html") for i in range(100, 200))

    values = UrlMap(cuts).read("/story_76541-page-2.html", "http")

    assert set(values.values()) >= {"story", "76541", "page", "2", ".html"}


def test_where_the_number_of_pieces_varies_the_first_is_cut_off():
    """An id and a slug of any length have two keys."""
    column = Counter(f"{i}-{'-'.join(['word'] * (1 + i % 4))}" for i in range(40))

    assert cut_of(column) == Pieces("-", 2)


def test_a_delimiter_that_few_values_hold_cuts_nothing():
    """A delimiter in a column of few values splits nothing."""
    assert cut_of(Counter([*(f"w{i}" for i in range(30)), "a-b"])) is None
    assert cut_of(Counter(["a-b", "c-d"])) is None


@given(site_urls)
def test_what_was_cut_is_joined_again(url):
    """Reading and writing is the identity, except for the order of the query."""
    rest = url.removeprefix("http://h.example")

    assert DEEP.write(DEEP.read(rest, "http")) == UrlMap({}).write(UrlMap({}).read(rest, "http"))
    assert RuleEngine([], {"h.example": DEEP}).form(url) == RuleEngine([]).form(url)


@given(site_urls, st.sampled_from(["path[0]@0", "path[0]@1@0", "query[a]@1"]))
def test_cuts_that_no_rule_speaks_of_are_not_needed(url, key):
    """Forms are the same without them."""
    rules = [Rule("h.example", {key: ANY}, {key: Drop()})]
    pruned = DEEP.needed_by({key for rule in rules for key in rule.spoken()})

    assert len(pruned.cuts) < len(DEEP.cuts)
    assert RuleEngine(rules, {"h.example": pruned}).form(url) == RuleEngine(rules, {"h.example": DEEP}).form(url)


@pytest.mark.parametrize("value", [[], {"path[0]": 3}, {"path[0]": ["-", "x"]}, {"path[0]": ["", 2]}])
def test_what_is_no_table_of_cuts_is_an_error(value):
    """The file is named."""
    with pytest.raises(BadInputError, match=r"deep\.json"):
        UrlMap.from_json(JsonValue(value, "deep.json"))
