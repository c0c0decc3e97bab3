"""Applying rules."""

import time

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


def test_each_operation_does_what_it_says():
    """One rule can set, copy, drop and ignore values; other keys stay."""
    rewrite = rule(
        {"path[0]": Literal("story"), "query[id]": OfClass("digits")},
        {
            "path[1]": Copy("query[id]"),
            "path.length": Set("2"),
            "query[id]": Drop(),
            "query[ref]": Star(),
            "query[v]": Set("1"),
        },
    )

    assert form([rewrite], "/story?id=17&ref=home&page=2") == "/story/17?page=2&ref=*&v=1"
    assert form([rewrite], "/story?id=x") == "/story?id=x"


def test_the_most_specific_rule_goes_first():
    """A rule for one section is tried before one for the whole site, in any order of the file."""
    general = rule({"query[v]": ANY}, {"query[v]": Drop()})
    special = rule({"path[0]": Literal("news"), "query[v]": ANY}, {"query[v]": Star()})
    listed = rule({"path[0]": OneOf(frozenset({"faq", "help"})), "query[v]": ANY}, {"query[v]": Set("1")})

    for order in ([general, special, listed], [listed, special, general]):
        assert form(order, "/x?v=2") == "/x"
        assert form(order, "/help?v=2") == "/help"  # first the set, then the general rule drops the rest
        assert RuleEngine([special]).form(f"http://{HOST}/news?v=2") == f"http://{HOST}/news?v=*"


def test_a_missing_key_is_a_context_too():
    """``id`` does not matter without ``do``."""
    only_without = rule({"query[id]": ANY}, {"query[id]": Drop()}, absent=frozenset({"query[do]"}))

    assert form([only_without], "/?id=1") == "/"
    assert form([only_without], "/?do=edit&id=1") == "/?do=edit&id=1"


def test_rules_are_chained():
    """A rule may change the form that another rule gave."""
    first = rule({"path[0]": Literal("a")}, {"path[0]": Set("b")})
    second = rule({"path[0]": Literal("b")}, {"path[0]": Set("c")})

    assert RuleEngine([first, second]).trace(f"http://{HOST}/a") == (f"http://{HOST}/c", [0, 1])


def test_a_circle_ends_at_its_smallest_form():
    """From any URL of the cycle."""
    circle = [rule({"path[0]": Literal(a)}, {"path[0]": Set(b)}) for a, b in ("cb", "bd", "dc", "xc")]

    assert {form(circle, f"/{start}") for start in "bcdx"} == {"/b"}


def test_of_conflicting_rules_the_first_decides():
    """Two contradicting rules for the same URLs: one form for all, in any order of questions."""
    conflict = [rule({"path[0]": Literal("a")}, {"path[0]": Set(to)}) for to in "xy"]

    assert {form(conflict, f"/a/{n}") for n in range(3)} == {f"/x/{n}" for n in range(3)}
    assert form(conflict, "/y/1") == "/y/1"


def test_what_does_not_settle_keeps_its_own_form():
    """A chain of more than ten rules is not applied in part."""
    chain = [rule({"path[0]": Literal(str(i))}, {"path[0]": Set(str(i + 1))}) for i in range(30)]

    assert form(chain, "/0") == "/0"
    assert form(chain, "/25") == "/30"


def test_the_order_of_the_query_does_not_matter():
    """It is not part of the map, even if no rule fires."""
    assert form([], "/?b=1&a=2&b=0") == "/?a=2&b=1&b=0"


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
