"""Applying rules."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dedup_crawler.rules.applying.engine import RuleEngine, read_url
from dedup_crawler.rules.language.matchers import ANY, Literal, OfClass, OneOf
from dedup_crawler.rules.language.operations import Copy, Cut, Drop, Lowercase, Set, Shorten, Spaces, Star
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.urls.keyvalue import KEY_VALUES, Pieces, UrlMap
from dedup_crawler.urls.normal import host_of, normal_form
from rule_strategies import FREE_KEYS, rules, site_urls
from rule_strategies import HOST as STRATEGY_HOST
from url_strategies import urls

HOST = "a.example"


def rule(context, transformation, **more):
    return Rule(HOST, context, transformation, **more)


def form(rules, rest):
    return RuleEngine(rules).form(f"http://{HOST}{rest}").removeprefix(f"http://{HOST}")


EVERYTHING = rule(
    {"path[0]": Literal("story"), "query[id]": OfClass("digits")},
    {
        "path[1]": Copy("query[id]"),
        "path.length": Set("2"),
        "query[id]": Drop(),
        "query[ref]": Star(),
        "query[v]": Set("1"),
    },
)
GENERAL = rule({"query[v]": ANY}, {"query[v]": Drop()})
SPECIAL = rule({"path[0]": Literal("news"), "query[v]": ANY}, {"query[v]": Star()})
LISTED = rule({"path[0]": OneOf(frozenset({"faq", "help"})), "query[v]": ANY}, {"query[v]": Set("1")})
MOST_SPECIFIC = {"/x?v=2": "/x", "/help?v=2": "/help"}  # first the set, then the general rule drops the rest
ONLY_WITHOUT = rule({"query[id]": ANY}, {"query[id]": Drop()}, absent=frozenset({"query[do]"}))
CIRCLE = [rule({"path[0]": Literal(a)}, {"path[0]": Set(b)}) for a, b in ("cb", "bd", "dc", "xc")]
CONFLICT = [rule({"path[0]": Literal("a")}, {"path[0]": Set(to)}) for to in "xy"]
CHAIN = [rule({"path[0]": Literal(str(i))}, {"path[0]": Set(str(i + 1))}) for i in range(30)]


@pytest.mark.parametrize(
    ("rules", "forms"),
    [
        pytest.param(
            [EVERYTHING],
            {"/story?id=17&ref=home&page=2": "/story/17?page=2&ref=*&v=1", "/story?id=x": "/story?id=x"},
            id="one rule can set, copy, drop and ignore values, other keys stay",
        ),
        pytest.param([GENERAL, SPECIAL, LISTED], MOST_SPECIFIC, id="the most specific rule goes first"),
        pytest.param([LISTED, SPECIAL, GENERAL], MOST_SPECIFIC, id="in any order of the file"),
        pytest.param([SPECIAL], {"/news?v=2": "/news?v=*"}, id="a special rule alone"),
        pytest.param([ONLY_WITHOUT], {"/?id=1": "/", "/?do=edit&id=1": "/?do=edit&id=1"}, id="a key must be missing"),
        pytest.param(CIRCLE, dict.fromkeys(("/b", "/c", "/d", "/x"), "/b"), id="a circle ends at its smallest form"),
        pytest.param(CONFLICT, {"/a/1": "/x/1", "/y/1": "/y/1"}, id="of conflicting rules the first decides"),
        pytest.param(CHAIN, {"/0": "/0", "/25": "/30"}, id="a chain of more than ten rules is not applied in part"),
        pytest.param([], {"/?b=1&a=2&b=0": "/?a=2&b=1&b=0"}, id="the order of the query does not matter"),
    ],
)
def test_examples(rules, forms):
    """Operations, contexts, and what happens when several rules meet on one URL."""
    assert {rest: form(rules, rest) for rest in forms} == forms


def test_the_trace_names_the_rules_of_a_chain():
    """A rule may change the form that another rule gave."""
    assert RuleEngine(CHAIN).trace(f"http://{HOST}/28") == (f"http://{HOST}/30", [28, 29])


@given(st.text("ab=&?/", max_size=20))
def test_a_query_is_sorted_as_a_map_writes_it(text):
    """The fast path without a map gives the same; repeated names keep their order."""
    form, values = read_url(f"http://{HOST}/{text}", KEY_VALUES)

    assert form == f"http://{HOST}{KEY_VALUES.write(values)}"


DEEP = UrlMap(
    {
        "path[0]": Pieces("_", 2),
        "path[0]@1": Pieces("-", 3),
        "path[1]": Pieces("p", 4),
        "query[a]": Pieces("a", 2),
        "ext": Pieces("h", 2),
    }
)
PIECES = ["a", "b_c-d", "17", "a.php", "p-p", "b_1.html", "", ".", ".a", "a.", "a.b.c"]
PARTS = ["a=a", "a=bab", "b=17", "b", "c=1", "a=", "", "=", "a=b=c", "?", "b=a/x?y", "a=%2F-1"]
odd_urls = st.builds(
    lambda scheme, path, slash, query: (
        f"{scheme}://{STRATEGY_HOST}/{'/'.join(path)}{slash}{'?' if query else ''}{'&'.join(query)}"
    ),
    st.sampled_from(["http", "https"]),
    st.lists(st.sampled_from(PIECES), max_size=3),
    st.sampled_from(["", "/"]),
    st.lists(st.sampled_from(PARTS), max_size=4),
)
structural = st.sampled_from(
    [{"slash": Drop()}, {"slash": Set("/")}, {"path.length": Set("2")}, {"scheme": Set("https")}, {"ext": Drop()}]
)
few_keys = st.sampled_from([*FREE_KEYS, "path[0]@0", "path[0]@1@0", "path[1]@1", "query[a]@1"])
RESPELLINGS = Lowercase(), Shorten(6), Spaces("%20", "_")
simple_rules = st.builds(
    lambda key, operation, context: Rule(STRATEGY_HOST, context, {key: operation}),
    few_keys,
    st.sampled_from(
        [Drop(), Star(), Set("a"), Set("x/y&"), Cut("-", False, True), Cut("2", False, True), *RESPELLINGS]
    ),
    st.dictionaries(few_keys, st.sampled_from([ANY, Literal("a"), OfClass("digits")]), max_size=2),
)
structural_rules = st.builds(
    lambda key, transformation: Rule(STRATEGY_HOST, {key: ANY}, transformation), few_keys, structural
)
parameters = st.sampled_from(["query[a]", "query[b]", "query[c]"])
parameter_rules = st.builds(
    lambda key, operation, context, absent: Rule(STRATEGY_HOST, context, {key: operation}, absent),
    parameters,
    st.sampled_from([Drop(), Drop(), Star(), Set("a"), Cut("-", False, True), *RESPELLINGS]),
    st.dictionaries(parameters, st.sampled_from([ANY, Literal("a"), OfClass("digits")]), max_size=2),
    st.frozensets(st.sampled_from(["query[b]", "query[a]#2"]), max_size=1),
)


@given(
    st.lists(st.one_of(rules, simple_rules), max_size=6),
    st.one_of(site_urls, odd_urls, urls),
    st.booleans(),
)
def test_laws(rules, url, is_deep):
    """For any rules and maps: no exception, a form is its own form and normal, on the host of the URL."""
    url = normal_form(url)
    engine = RuleEngine(rules, {STRATEGY_HOST: DEEP} if is_deep else None)

    written = engine.form(url)

    assert engine.form(written) == written == engine.trace(url)[0]
    assert host_of(written) == host_of(url)
    assert normal_form(written) == written
    if host_of(url) not in {rule.host for rule in rules}:
        assert written == RuleEngine([]).form(url)


def applied_plainly(rules, url, url_map):
    """Form and fired rules by the engine's definition: all rules are tried, and everything is read again."""
    ranked = sorted(enumerate(rules), key=lambda pair: (*(-n for n in pair[1].specificity()), pair[0]))
    form, values = read_url(url, url_map)
    passed, fired = [form], []
    if not values:  # no absolute URL
        return url, []
    while len(fired) < 10 and passed[-1] not in passed[:-1]:
        changes = (
            (number, rule.apply(values))
            for number, rule in ranked
            if rule.host == host_of(url) and rule.matches(values)
        )
        number, after = next(((n, after) for n, after in changes if after != values), (None, None))
        if number is None:
            return form, fired
        form, values = read_url(normal_form(f"{after['scheme']}://{host_of(form)}{url_map.write(after)}"), url_map)
        passed.append(form)
        fired.append(number)
    if passed[-1] not in passed[:-1]:
        return passed[0], []
    smallest = min(passed[passed.index(passed[-1]) :])
    return smallest, fired[: passed.index(smallest)]


@settings(max_examples=200)
@given(
    st.lists(st.one_of(rules, simple_rules, structural_rules), max_size=6) | st.lists(parameter_rules, max_size=4),
    st.lists(st.one_of(site_urls, odd_urls, urls), max_size=5),
    st.booleans(),
)
@example([Rule(STRATEGY_HOST, {}, {"query[a]": Cut("2", False, True)})], [f"http://{STRATEGY_HOST}/?a=%2F"], False)
@example([Rule(STRATEGY_HOST, {}, {"path[0]": Set("a")})], [f"://{STRATEGY_HOST}"], False)
@example([Rule(STRATEGY_HOST, {}, {"query[a]": Set("a")})], [f"http://{STRATEGY_HOST}/?a=bab"], True)
@example([Rule(STRATEGY_HOST, {}, {"query[a]@1": Set("a")})], [f"http://{STRATEGY_HOST}/"], False)
def test_the_engine_does_what_its_docstring_says(rules, crawl, is_deep):
    """
    For any rules, URLs and maps: with indexes and caches, the engine gives the form of a loop over all rules that
    writes and reads the URL after each rule.
    """
    url_map = DEEP if is_deep else KEY_VALUES
    engine = RuleEngine(rules, dict.fromkeys([STRATEGY_HOST, "other.example"], url_map))
    for url in map(normal_form, crawl):
        expected = applied_plainly(rules, url, engine.maps.get(host_of(url), KEY_VALUES))
        assert engine.trace(url) == expected
        assert engine.form(url) == expected[0]


def test_many_rules_cost_as_much_as_few():
    """With 100 times as many rules a URL takes about as long."""

    def microseconds(n_rules):
        many = [
            rule({"path[0]": Literal(f"s{i}"), "path[1]": ANY, "query[sid]": ANY}, {"query[sid]": Drop()})
            for i in range(n_rules)
        ]
        engine = RuleEngine(many)
        crawl = [f"http://{HOST}/s{i % n_rules}/{i}?t=4&sid={i:016x}" for i in range(1000)]
        passes = []
        for _ in range(5):
            start = time.process_time()
            for url in crawl:
                engine.form(url)
            passes.append((time.process_time() - start) * 1e3)
        return min(passes)

    assert microseconds(5000) < 3 * microseconds(50)


@given(st.lists(rules, max_size=6), st.lists(site_urls, max_size=12), st.integers(1, 5))
def test_remembered_forms_are_the_same_forms(its_rules, asked, n_remembered):
    """However few URLs an engine remembers."""
    engine = RuleEngine(its_rules, n_remembered=n_remembered)
    asked = [normal_form(url) for url in asked] * 2

    assert [engine.trace(url) for url in asked] == [RuleEngine(its_rules).trace(url) for url in asked]
