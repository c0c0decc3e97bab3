"""Plans: forms of URLs that are built alike."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup_crawler.rules import plans, trie
from dedup_crawler.rules.deep_keys import Cut, DeepMap
from dedup_crawler.rules.engine import RuleEngine
from dedup_crawler.rules.rule import ANY, Copy, Drop, Literal, Rule, Set, Star
from dedup_crawler.rules.rule_ids import order_identifier
from dedup_crawler.rules.shapes import read_query, written_names
from dedup_crawler.rules.substring_rule import SubstringRule
from dedup_crawler.urls.keyvalue import read_rest
from dedup_crawler.urls.normal import host_of, normal_form
from rule_strategies import FREE_KEYS, HOST, matchers, values
from url_strategies import urls

DEEP = DeepMap(
    {
        "path[0]": Cut("_", 2),
        "path[0]@1": Cut("-", 3),
        "path[1]": Cut("p", 4),
        "query[a]": Cut("a", 2),
        "ext": Cut("h", 2),
    }
)
KEYS = [*FREE_KEYS, "query[c]", "path[0]@0", "path[0]@1@0", "path[1]@1", "query[a]@1"]
free = st.one_of(values.map(Set), st.sampled_from(KEYS).map(Copy), st.just(Drop()), st.just(Star()))
structural = {
    "slash": st.sampled_from([Drop(), Set("/")]),
    "path.length": st.sampled_from("0123").map(Set),
    "scheme": st.sampled_from(["http", "https"]).map(Set),
}
operations = st.sampled_from([*KEYS, *structural]).flatmap(
    lambda key: st.tuples(st.just(key), structural.get(key, free))
)
rules = st.builds(
    Rule,
    host=st.just(HOST),
    context=st.dictionaries(st.sampled_from([*KEYS, *structural]), matchers, max_size=3),
    transformation=st.lists(operations, min_size=1, max_size=3).map(dict),
    absent=st.frozensets(st.sampled_from(KEYS), max_size=1),
)
PIECES = ["a", "b_c-d", "17", "a.php", "p-p", "b_1.html", "", ".", ".a", "a.", "a.b.c"]
PARTS = ["a=a", "a=bab", "b=17", "b", "c=1", "a=", "", "=", "a=b=c", "?", "b=a/x?y"]
site_urls = st.builds(
    lambda scheme, authority, path, slash, query: (
        f"{scheme}://{authority}/{'/'.join(path)}{slash}{'?' if query else ''}{'&'.join(query)}"
    ),
    st.sampled_from(["http", "https"]),
    st.sampled_from([HOST, f"user@{HOST}"]),
    st.lists(st.sampled_from(PIECES), max_size=3),
    st.sampled_from(["", "/"]),
    st.lists(st.sampled_from(PARTS), max_size=4),
)


@settings(max_examples=150)
@given(st.lists(rules, min_size=1, max_size=5), st.lists(st.one_of(site_urls, urls), max_size=6), st.booleans())
def test_a_plan_gives_what_the_engine_writes_down(rules, crawl, is_deep):
    """Whatever rules and URLs: the quick answer is that of the long way, where every step is read and written anew."""
    engine = RuleEngine(rules, {HOST: DEEP} if is_deep else None)
    for url in map(normal_form, crawl):
        form, numbers = engine.trace(url)
        assert engine.form(url) == form
        if form != url:
            told = dict.fromkeys(engine.identifiers[number] for number in numbers)
            order = order_identifier(host_of(url))
            assert [each for each in engine.fired(url, form) if each != order] == list(told)


substring_rules = st.builds(
    SubstringRule, st.just(HOST), st.sampled_from(["/b", "?a=", "a=a", "17"]), st.sampled_from(["", "/", "?"])
)


@settings(max_examples=150)
@given(
    st.lists(rules, max_size=3),
    st.lists(substring_rules, max_size=2),
    st.lists(site_urls, min_size=1, max_size=4),
    st.lists(st.sampled_from(["", "17", "a", "a=b", "x/y?z", "a&b", "b&c=1", "a.php"]), min_size=1, max_size=4),
    st.sampled_from([None, {HOST: frozenset({"a", "b"})}]),
    st.booleans(),
    st.booleans(),
)
def test_what_was_found_of_one_url_holds_for_its_twins(few, substrings, crawl, lasts, query_keys, is_deep, are_many):
    """A URL that no rule can change vouches for those that differ from it behind the last "=": rightly, whatever they
    and the rules are.
    """
    if are_many:
        substrings = [*substrings, *[SubstringRule(HOST, f"/never{i}", "/") for i in range(40)]]
    maps = {HOST: DEEP} if is_deep else None
    engine = RuleEngine([*few, *substrings], maps, query_keys)
    for url in crawl:
        for last in ["", *lasts]:
            twin = normal_form(url.rpartition("=")[0] + "=" + last if "=" in url else url + last)
            assert engine.form(twin) == RuleEngine([*few, *substrings], maps, query_keys).trace(twin)[0]


def test_a_substring_rule_that_makes_a_name_that_nobody_knows():
    """Whether a URL is left alone is asked of the URL, not of what a rule has made of it: its query is sorted."""
    many = [SubstringRule(HOST, "a=a", ""), *[SubstringRule(HOST, f"/never{i}", "/") for i in range(40)]]
    engine = RuleEngine([Rule(HOST, {}, {"path[0]": Drop()}), *many], None, {HOST: frozenset({"a"})})
    url = f"http://{HOST}/?a=bab&a=a&a="

    assert engine.form(url) == engine.trace(url)[0] == f"http://{HOST}/?&a=bab&a="


def test_a_piece_that_makes_a_slash_the_last_character():
    """``//`` has two empty pieces; with the first one set it is ``/a/``, which has one piece and a slash."""
    engine = RuleEngine([Rule(HOST, {}, {"path.length": Set("2")}), Rule(HOST, {}, {"path[0]": Set("a")})])

    assert engine.form(f"http://{HOST}/") == engine.trace(f"http://{HOST}/")[0]


@given(st.lists(st.sampled_from([*PARTS, "&a=1", "x=&y"]), min_size=1, max_size=5).map("&".join))
def test_names_and_values_of_a_query(query):
    """They are those that the key-value map has, in its order."""
    names, its = read_query(query)
    expected = {}
    read_rest(f"/?{query}", expected)
    del expected["path.length"]
    found = {}
    read_rest(f"/?{'&'.join(written_names(names))}", found)
    del found["path.length"]

    assert list(found) == list(expected)
    assert [value if found[key] is not None else None for key, value in zip(found, its, strict=True)] == list(
        expected.values()
    )


@pytest.mark.parametrize(("module", "limit"), [(plans, "_MAX_PLANS"), (trie, "_MAX_NODES")])
def test_memory_is_bounded_and_forms_stay(module, limit, monkeypatch):
    """A site that invents names makes plans be thrown away, rules with many values nodes; no form changes."""
    many = [
        Rule(HOST, {"path[0]": Literal(f"s{i}"), "query[sid]": ANY}, {"query[sid]": Drop()}, frozenset({"query[keep]"}))
        for i in range(30)
    ]
    crawl = [f"http://{HOST}/s{i % 40}/{i}?n{i % 50}=1&sid={i}" for i in range(300)]
    expected = [RuleEngine(many).trace(url)[0] for url in crawl]
    monkeypatch.setattr(module, limit, 20)
    engine = RuleEngine(many)

    assert [engine.form(url) for url in crawl] == expected
    assert len(engine._plans[HOST]._plans) <= 60


def test_what_is_remembered_of_untouched_urls_is_bounded(monkeypatch):
    """A site that invents parameters is not remembered for ever, and its URLs keep their forms."""
    monkeypatch.setattr(plans, "_MAX_UNTOUCHED", 20)
    engine = RuleEngine([Rule(HOST, {"query[sid]": ANY}, {"query[sid]": Drop()})])
    crawl = [f"http://{HOST}/x?n{i}=1" for i in range(300)]

    assert [engine.form(url) for url in [*crawl, *crawl]] == [*crawl, *crawl]
    assert 0 < len(engine._untouched) <= 20
