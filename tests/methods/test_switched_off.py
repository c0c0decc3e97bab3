"""Switched-off rules, for any rules."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dedup_crawler.methods import make_method
from dedup_crawler.methods.wrapped import without
from dedup_crawler.rules.language.matchers import ANY, Literal
from dedup_crawler.rules.language.operations import Drop
from dedup_crawler.rules.language.rule import Rule, SubstringRule
from dedup_crawler.urls.normal import normal_form
from rule_strategies import HOST, rules, site_urls

SUBSTRINGS = [SubstringRule(HOST, "/a/", "/"), SubstringRule(HOST, "a=b", "", at_end=True)]


def model_of(rules):
    model = make_method("dustbuster").fit([f"http://{HOST}/"], [0])
    model.keep(rules)
    return model


@settings(max_examples=100)
@given(
    st.lists(st.one_of(rules, st.sampled_from(SUBSTRINGS)), min_size=1, max_size=6),
    st.lists(site_urls, min_size=1, max_size=6),
    st.sets(st.integers(0, 6)),
)
def test_whatever_the_rules_are(rules, crawl, chosen):
    """URLs without a switched-off rule keep their forms; others get their own; no other rule replaces it."""
    model = model_of(rules)
    known = sorted(model.rule_sentences())
    off = {known[number % len(known)] for number in chosen}
    less = without(model, off)
    for url in crawl:
        before, after, form = model.fired(url), less.fired(url), less.canonicalize(url)
        assert (not before) is (model.canonicalize(url) == normal_form(url))
        assert (not after) is (form == normal_form(url))
        assert set(after) <= set(before) - off
        assert less.canonicalize(form) == form
        assert without(model, before).canonicalize(url) == normal_form(url)
        if off.isdisjoint(before):
            assert (form, after) == (model.canonicalize(url), before)


def test_the_other_rules_go_on():
    """The remaining rules give a URL its form, and URLs that differ in dropped parts still get one form."""
    drops = [Rule(HOST, {f"query[{name}]": ANY}, {f"query[{name}]": Drop()}) for name in ("sid", "utm")]
    model = model_of(drops)
    (sid,) = model.fired(f"http://{HOST}/?sid=1")
    less = without(model, [sid])

    assert model.canonicalize(f"http://{HOST}/?sid=1&utm=2") == f"http://{HOST}/"
    assert less.canonicalize(f"http://{HOST}/?sid=1&utm=2") == f"http://{HOST}/?sid=1"
    assert less.fired(f"http://{HOST}/?sid=1&utm=2") == model.fired(f"http://{HOST}/?utm=2")
    assert less.explain(f"http://{HOST}/?sid=1&utm=2").reason == (
        "drop `utm` anywhere: 0 groups, 0 contradictions, at most 100.0 % wrong (95 %); "
        "switched off: drop `sid` anywhere: 0 groups, 0 contradictions, at most 100.0 % wrong (95 %)"
    )


def test_no_rule_takes_the_place_of_another():
    """The wider rule would drop the same; it applies only to other URLs."""
    sid = {"query[sid]": ANY}
    narrow = Rule(HOST, {"path[0]": Literal("topic"), **sid}, {"query[sid]": Drop()})
    model = model_of([narrow, Rule(HOST, sid, {"query[sid]": Drop()})])
    url = f"http://{HOST}/topic?sid=1"
    less = without(model, model.fired(url))

    assert less.canonicalize(url) == url
    assert less.canonicalize(f"http://{HOST}/user?sid=1") == f"http://{HOST}/user"


def test_the_order_of_the_query_fires_where_it_changes():
    """Not if all keys but one are dropped, in any order."""
    model = model_of([Rule(HOST, {"query[sid]": ANY}, {"query[sid]": Drop()})])
    (order,) = model.fired(f"http://{HOST}/?t=1&f=2")

    assert order not in model.fired(f"http://{HOST}/?t=1&sid=2")
    assert order in model.fired(f"http://{HOST}/?t=1&sid=2&f=3")
    less = without(model, [order])
    assert less.canonicalize(f"http://{HOST}/?t=1&f=2") == f"http://{HOST}/?t=1&f=2"
    assert less.canonicalize(f"http://{HOST}/?t=1&sid=2") == f"http://{HOST}/?t=1"
