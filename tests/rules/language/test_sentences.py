"""Rules as sentences."""

import pytest

from dedup_crawler.rules.language.matchers import ANY, Literal, NoneOf, OfClass, OneOf
from dedup_crawler.rules.language.operations import Copy, Cut, Drop, Lowercase, Set, Shorten, Spaces, Star, Unordered
from dedup_crawler.rules.language.rule import Rule, SubstringRule
from dedup_crawler.rules.language.sentences import sentence_of
from dedup_crawler.rules.language.site_rules import CoverageRule, ReferrerRule
from dedup_crawler.rules.language.statistics import MergeEvidence, RuleStatistics

COUNTED = RuleStatistics(900, 900, 0, MergeEvidence(412, 0))
EVIDENCE = ": 412 groups, 0 contradictions, at most 0.5 % wrong (95 %)"
POST = (("path.length", "2"), ("path[0]", "post"), ("path[1]", "*"))
TOPIC = (("path.length", "2"), ("path[0]", "topic"), ("path[1]", "*"), ("query[page]", "*"))


def said(context, transformation, absent=()):
    rule = Rule("forum.example", context, transformation, frozenset(absent), statistics=COUNTED)
    sentence = sentence_of(rule)
    assert sentence.endswith(EVIDENCE)
    return sentence.removesuffix(EVIDENCE)


def test_a_rule_says_what_where_and_why():
    """A sentence names the effect of the rule, its context, and all evidence for and against it."""
    assert said({"query[sid]": ANY}, {"query[sid]": Drop()}) == "drop `sid` anywhere"
    assert (
        said({"path[0]": Literal("viewtopic"), "query[sid]": ANY}, {"query[sid]": Drop()})
        == "drop `sid` where path part 1 is viewtopic"
    )
    assert (
        said({"query[do]": Literal("login"), "query[id]": ANY}, {"query[id]": Drop()}, {"query[id]#2"})
        == "drop `id` where `do` is login"
    )


@pytest.mark.parametrize(
    ("matcher", "text"),
    [
        (Literal("1"), "`page` is 1"),
        (Literal(""), "`page` is empty"),
        (Literal(None), "`page` is bare"),
        (OneOf(frozenset({"b", "a", None})), "`page` is bare, a or b"),
        (OfClass("digits"), "`page` is digits"),
        (OneOf(frozenset("abcdefg")), "`page` is a, b, c, d or 3 more"),
    ],
)
def test_conditions(matcher, text):
    """Of many values a few are named, and the number of others."""
    assert said({"query[page]": matcher}, {"query[page]": Drop()}) == f"drop `page` where {text}"


@pytest.mark.parametrize(
    ("key", "operation", "text"),
    [
        ("path[1]", Star(), "ignore the value of path part 2"),
        ("path.length", Set("2"), "set the number of path parts to 2"),
        ("path[0]", Copy("query[title]"), "set path part 1 to the value of `title`"),
        ("slash", Drop(), "drop the trailing slash"),
        ("ext", Drop(), "drop the extension"),
        ("scheme", Set("https"), "set the scheme to https"),
        ("path[1]", Cut("-", is_last=False, keeps_head=True), "keep path part 2 up to the first '-'"),
        ("query[id]", Cut(":", is_last=True, keeps_head=False), "keep `id` after the last ':'"),
        ("query[f]", Unordered(is_set=True), "ignore the order and repetition of the values of `f`"),
        ("query[f]", Unordered(is_set=False), "ignore the order of the values of `f`"),
        ("query[f]#3", Drop(), "drop the third `f`"),
        ("query[rev]", Shorten(10), "keep the first 10 digits of a hash in `rev`"),
        ("query[q]", Spaces("+", "%20"), "write '+' in `q` as '%20'"),
        ("path[1]", Lowercase(), "ignore the letter case of path part 2"),
        ("path[1]@0", Drop(), "drop piece 1 of path part 2"),
    ],
)
def test_operations(key, operation, text):
    """Each operation has its words."""
    assert said({}, {key: operation}) == f"{text} anywhere"


def test_the_letter_case_of_a_whole_path_is_told_at_once():
    """Not once for each part."""
    lower = dict.fromkeys(("path[0]", "path[1]", "ext"), Lowercase())

    assert said({}, lower) == "ignore the letter case of the extension, path part 1 and path part 2 anywhere"


def test_what_must_not_be_there_is_told():
    """Except for a condition on the changed key itself, which is obvious."""
    assert (
        said({"query[f]": ANY}, {"query[f]": Drop()}, {"query[f]#2", "query[do]", "query[g]#2", "slash"})
        == "drop `f` where `do` is missing, the second `g` is missing and the path does not end with a slash"
    )


def test_exceptions_come_last():
    """Forbidden values are an exception; a required key is mentioned unless it is obvious."""
    cut = {"path[1]": Cut("-", is_last=False, keeps_head=True)}
    sections = NoneOf(frozenset({"forum", "post", "user"}))

    assert (
        said({"path[0]": sections, "path[1]": ANY}, cut)
        == "keep path part 2 up to the first '-' (unless path part 1 is forum, post or user)"
    )
    assert (
        said({"path.length": NoneOf(frozenset("2")), "query[q]": NoneOf(frozenset([""]))}, {"query[s]": Drop()})
        == "drop `s` where `q` is present (unless the path has 2 parts, or `q` is empty)"
    )


def test_the_path_is_told_as_a_whole():
    """Length and end of a path, and a dropped last part; a changed key need not be mentioned as required."""
    shorter = {"path.length": Set("2"), "path[2]": Drop()}

    assert said({"path.length": Literal("3"), "path[2]": ANY}, shorter) == "drop path part 3 where the path has 3 parts"
    assert (
        said({"path.length": OneOf(frozenset("12")), "slash": Literal("/")}, {"query[s]": Drop(), "query[t]": Drop()})
        == "drop `s` and drop `t` where the path has 1 or 2 parts and the path ends with a slash"
    )
    assert said({"slash": Literal("/")}, {"slash": Drop()}) == "drop the trailing slash anywhere"


def test_long_values_are_cut():
    """A list's columns may be a value of hundreds of characters; a person needs its beginning."""
    columns = "%3Ca+href%3D%22__WebPath__" * 20
    assert said({"query[f]": Literal(columns)}, {"query[f]": Drop()}) == f"drop `f` where `f` is {columns[:50]}..."
    shape = (("path.length", "1"), ("path[0]", "list"), ("query[f]", columns))
    assert sentence_of(CoverageRule(shape, MergeEvidence(250, 1), 900)).startswith(f"/list?f={columns[:50]}... shows")


def test_a_parameter_without_a_name_is_told():
    """Queries often end with an ampersand."""
    assert said({"query[]": ANY}, {"query[]": Drop()}) == "drop the empty parameter anywhere"
    assert said({"query[]#2": ANY}, {"query[]#2": Drop()}) == "drop the second empty parameter anywhere"


def test_links_have_sentences_too():
    """Shapes as a person would write them, and counts in pages."""
    again = ReferrerRule(TOPIC, POST, MergeEvidence(96, 0), 500)
    short = ReferrerRule(TOPIC, POST, MergeEvidence(96, 0), 500, "start")
    covered = CoverageRule(POST, MergeEvidence(250, 1), 900)

    assert sentence_of(again) == (
        "a link to /post/* on /topic/*?page=* leads back to that page: "
        "96 pages with such links, 0 contradictions, at most 2.0 % wrong (95 %)"
    )
    assert sentence_of(short).startswith(
        "a link to /post/* on /topic/*?page=* leads back to that page (unless it links URLs with `start`): 96 pages"
    )
    assert sentence_of(covered).startswith(
        "/post/* shows only pages that other URLs show: 250 pages, 1 contradictions, at most 1."
    )


def test_a_substring_rule_says_what_it_replaces():
    """A substring rule has its own words."""
    rule = SubstringRule("forum.example", "story?id=", "story_", statistics=COUNTED)

    assert "story?id=" in sentence_of(rule)
    assert sentence_of(rule).endswith(EVIDENCE)
