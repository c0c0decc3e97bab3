"""Substring rules: their meaning, and their application by the engine."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs import at_most
from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.matchers import ANY, NoneOf
from dedup_crawler.rules.language.operations import Drop, Set
from dedup_crawler.rules.language.rule import (
    END,
    MAX_LENGTH,
    START,
    Rule,
    SubstringIndex,
    SubstringRule,
    split_tokens,
)
from dedup_crawler.rules.language.rule_files import rules_from_json, rules_to_json
from dedup_crawler.urls.normal import host_of, normal_form
from url_strategies import urls

HOST = "a.example"
PIECES = ["a", "b", "story", "/", "//", "?", "?id=", "&sid=1", ".html", "-", "%C3%A9", "1", "&", "=", ""]


def substring(old, new="", **more):
    return SubstringRule(HOST, old, new, **more)


def form(rules, rest):
    return RuleEngine(rules).form(f"http://{HOST}{rest}").removeprefix(f"http://{HOST}")


def smaller(texts):
    old, new = sorted(("".join(text) for text in texts), key=lambda text: (-len(text), [-ord(c) for c in text]))
    return (old, new) if (len(new), new) < (len(old), old) else ("b", "a")


texts = st.lists(st.sampled_from(PIECES), max_size=3)
substrings = st.builds(
    lambda texts, at_start, at_end: SubstringRule(HOST, *smaller(texts), at_start, at_end),
    st.tuples(texts, texts),
    st.booleans(),
    st.booleans(),
)
others = st.sampled_from(
    [
        Rule(HOST, {"query[sid]": ANY}, {"query[sid]": Drop()}),
        Rule(HOST, {"query[id]": NoneOf(frozenset({"11"}))}, {"query[id]": Set("11")}),
    ]
)

site_urls = st.lists(st.sampled_from(PIECES), max_size=8).map(lambda pieces: f"http://{HOST}/{''.join(pieces)}")


def test_the_example_of_the_poster():
    """``story?id=`` to ``story_``: across the border of path and query, which no key covers."""
    rule = substring("story?id=", "story_")

    assert form([rule], "/news/story?id=17") == "/news/story_17"
    assert str(rule) == "a.example: replace 'story?id=' by 'story_'"


def test_only_whole_tokens_are_replaced():
    """A word is not cut, and an escaped letter belongs to its word."""
    assert form([substring("a")], "/a-ba-%C3%A9a-a1") == "/-ba-%C3%A9a-a1"
    assert split_tokens("/caf%C3%A9?id=7") == ["/", "caf%C3%A9", "?", "id", "=", "7"]


def test_ends_are_ends():
    """A rule for the end does not apply elsewhere, and vice versa."""
    assert form([substring("/index.html", "/", at_end=True)], "/index.html/index.html") == "/index.html/"
    assert form([substring("/en/", "/", at_start=True)], "/en/a/en/b") == "/a/en/b"
    assert form([substring("/a", "/", at_start=True, at_end=True)], "/a/a") == "/a/a"


def test_rules_go_on_until_nothing_changes():
    """In order, together with rules of the other kind; explain has the number of each rule."""
    rules = [substring("//", "/"), substring(".php", ""), Rule(HOST, {"query[s]": ANY}, {"query[s]": Drop()})]
    engine = RuleEngine(rules)

    assert engine.trace(f"http://{HOST}//a//b.php?s=1") == (f"http://{HOST}/a/b", [2, 0, 0, 1])
    assert form(rules, "//a//b.php?s=1") == "/a/b"


def test_the_start_of_the_path_stays():
    """A rule that would leave no path is not applied; host and scheme never change."""
    assert form([substring("/")], "/a/b/") == "/ab"
    assert form([substring("a.example"), substring("http")], "/a.example/http") == "//"
    assert RuleEngine([substring("a")]).form("http://other.example/a") == "http://other.example/a"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "'old' is empty"),
        ("a", "b", "not smaller"),
        ("a", "ab", "not smaller"),
        ("a b", "a", "not in normal form"),
        ("ab#", "a", "not in normal form"),
    ],
)
def test_rules_that_may_not_end_are_refused(old, new, said):
    """A rule must shorten a URL, and contain only valid characters."""
    with pytest.raises(BadInputError, match=said):
        substring(old, new)


@given(st.lists(st.one_of(substrings, others), max_size=4), st.one_of(site_urls, urls))
def test_forms_are_their_own_forms(rules, url):
    """For any rules of both kinds: a form is its own form, the host stays, and the slow path agrees."""
    engine = RuleEngine(rules)
    once = engine.form(normal_form(url))

    assert engine.form(once) == once
    assert engine.trace(normal_form(url))[0] == once
    assert host_of(once) == host_of(normal_form(url))


@given(st.lists(st.one_of(substrings, others), max_size=3))
def test_what_was_written_is_read_back(rules):
    """Both kinds of rules in one file."""
    assert rules_from_json(JsonValue(rules_to_json(rules), "rules.json")) == rules


@pytest.mark.parametrize(
    ("substring", "said"),
    [
        ({"new": "a"}, "entry 1, 'substring' lacks 'old'"),
        ({"old": "a", "at": "end"}, "'at': expected a list"),
        ({"old": "a", "at": ["and"]}, "Did you mean 'end'"),
        ({"old": "a", "mew": ""}, "Did you mean 'new'"),
        ({"old": "a", "new": "b"}, "not smaller"),
    ],
)
def test_mistakes_in_a_file_are_named(substring, said):
    """With the number of the rule and the unknown word."""
    with pytest.raises(BadInputError, match=said):
        rules_from_json(JsonValue([{"host": HOST, "substring": substring}], "rules.json"))


def test_a_hostile_url_takes_no_time():
    """A hundred thousand matches, or too many passes: the URL keeps its form."""
    rules = [substring("/a", at_end=True), *(substring(f"/a{'/a' * n}") for n in range(30))]

    with at_most(100):
        for n in (100_000, 1_000):
            assert form(rules[:1], "/b" + "/a" * n) == "/b" + "/a" * n
        assert len(form(rules, "/b" + "/a" * 1_000)) <= 2_002


def test_the_cost_does_not_grow_with_the_rules():
    """Five thousand rules take about as long as fifty: they are indexed."""
    rules = [substring(f"/section{n}/index{n}.html", f"/section{n}/", at_end=True) for n in range(5000)]
    asked = [f"http://{HOST}/section{n}/page{n}.html?id={n}" for n in range(3000)]

    def seconds(engine):
        started = time.process_time()
        for url in asked:
            engine.form(url)
        return time.process_time() - started

    few, many = RuleEngine(rules[:50]), RuleEngine(rules)
    assert min(seconds(many) for _ in range(3)) < 4 * min(seconds(few) for _ in range(3))


def stands(text, line, place):
    """Return True if a text occurs at a place as whole tokens, in the plainest code."""
    before, behind = line[:place][-1:], line[place + len(text) :][:1]
    word = re.compile("[A-Za-z0-9%]").match
    return line.startswith(text, place) and not ((word(before) and word(text[0])) or (word(text[-1]) and word(behind)))


pieces = st.lists(st.sampled_from(["a", "b", "/", "/a", "?", "&", "-"]), min_size=1, max_size=4).map("".join)
index_rules = st.builds(
    lambda old, new, at_start, at_end: (
        SubstringRule(HOST, *sorted((f"{old}/", new), key=lambda t: (-len(t), t)), at_start, at_end)
        if len(new) != len(old) + 1
        else SubstringRule(HOST, f"{old}//", new, at_start, at_end)
    ),
    pieces,
    pieces,
    st.booleans(),
    st.booleans(),
)


def tried(rule, rest):
    """Return the result of a rule at the first place where it leaves a path."""
    text = START * rule.at_start + rule.old + END * rule.at_end
    marked = f"{START}{rest}{END}"
    for place in range(len(marked)):
        if stands(text, marked, place):
            new = START * rule.at_start + rule.new + END * rule.at_end
            changed = (marked[:place] + new + marked[place + len(text) :])[1:-1]
            if changed.startswith("/"):
                return changed
    return None


@given(st.lists(index_rules, max_size=6), pieces.map(lambda text: f"/{text}"))
def test_the_index_finds_what_a_scan_finds(known, rest):
    """The first applicable rule, and all of them: the same as when each rule is tried separately."""
    index = SubstringIndex(enumerate(known))
    expected = {number: changed for number, rule in enumerate(known) if (changed := tried(rule, rest)) is not None}

    assert index.matches(rest) == expected
    assert index.fire(rest) == (min(expected.items()) if expected else None)


def test_a_longer_url_is_left_alone():
    """For any number of replacements."""
    index = SubstringIndex([(0, SubstringRule(HOST, "/a", ""))])

    assert index.fire("/a" * (MAX_LENGTH // 2)) is not None
    assert index.fire("/a" * (MAX_LENGTH // 2 + 1)) is None


def test_hostile_rules_take_no_time():
    """Rules that differ only at their ends, in a similar URL: no repeated scans."""
    index = SubstringIndex((n, substring("/a" * 17 + f"/b{n}")) for n in range(2_000))

    with at_most(100):
        assert index.fire("/a" * 2_000) is None
