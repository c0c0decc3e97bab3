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


CUT = Cut("-", is_last=False, keeps_head=True)
NOT_SECTIONS = NoneOf(frozenset({"forum", "post", "user"}))
DROP_PAGE, DROP_S = {"query[page]": Drop()}, {"query[s]": Drop()}
SHORTER = {"path.length": Set("2"), "path[2]": Drop()}


@pytest.mark.parametrize(
    ("context", "transformation", "text"),
    [
        # of many values a few are named, and the number of others
        ({"path[0]": Literal("t"), "query[s]": ANY}, DROP_S, "drop `s` where path part 1 is t"),
        ({"query[page]": Literal("1")}, DROP_PAGE, "drop `page` where `page` is 1"),
        ({"query[page]": Literal("")}, DROP_PAGE, "drop `page` where `page` is empty"),
        ({"query[page]": OneOf(frozenset({"b", "a", None}))}, DROP_PAGE, "drop `page` where `page` is bare, a or b"),
        ({"query[page]": OfClass("digits")}, DROP_PAGE, "drop `page` where `page` is digits"),
        ({"query[s]": OneOf(frozenset("abcdefg"))}, DROP_S, "drop `s` where `s` is a, b, c, d or 3 more"),
        # each operation has its words
        ({}, {"path[1]": Star()}, "ignore the value of path part 2 anywhere"),
        ({}, {"path.length": Set("2")}, "set the number of path parts to 2 anywhere"),
        ({}, {"path[0]": Copy("query[title]")}, "set path part 1 to the value of `title` anywhere"),
        ({}, {"slash": Drop()}, "drop the trailing slash anywhere"),
        ({}, {"ext": Drop()}, "drop the extension anywhere"),
        ({}, {"scheme": Set("https")}, "set the scheme to https anywhere"),
        ({}, {"path[1]": CUT}, "keep path part 2 up to the first '-' anywhere"),
        ({}, {"query[id]": Cut(":", is_last=True, keeps_head=False)}, "keep `id` after the last ':' anywhere"),
        ({}, {"query[f]": Unordered(is_set=True)}, "ignore the order and repetition of the values of `f` anywhere"),
        ({}, {"query[f]": Unordered(is_set=False)}, "ignore the order of the values of `f` anywhere"),
        ({}, {"query[f]#3": Drop()}, "drop the third `f` anywhere"),
        ({}, {"query[rev]": Shorten(10)}, "keep the first 10 digits of a hash in `rev` anywhere"),
        ({}, {"query[q]": Spaces("+", "%20")}, "write '+' in `q` as '%20' anywhere"),
        ({}, {"path[1]": Lowercase()}, "ignore the letter case of path part 2 anywhere"),
        ({}, {"path[1]@0": Drop()}, "drop piece 1 of path part 2 anywhere"),
        # the letter case of a whole path is told at once
        (
            {},
            dict.fromkeys(("path[0]", "path[1]", "ext"), Lowercase()),
            "ignore the letter case of the extension, path part 1 and path part 2 anywhere",
        ),
        # forbidden values are an exception; a required key is mentioned unless it is obvious
        (
            {"path[0]": NOT_SECTIONS, "path[1]": ANY},
            {"path[1]": CUT},
            "keep path part 2 up to the first '-' (unless path part 1 is forum, post or user)",
        ),
        (
            {"path.length": NoneOf(frozenset("2")), "query[q]": NoneOf(frozenset([""]))},
            DROP_S,
            "drop `s` where `q` is present (unless the path has 2 parts, or `q` is empty)",
        ),
        # length and end of a path, and a dropped last part; a changed key need not be mentioned as required
        ({"path.length": Literal("3"), "path[2]": ANY}, SHORTER, "drop path part 3 where the path has 3 parts"),
        (
            {"path.length": OneOf(frozenset("12")), "slash": Literal("/")},
            {"query[s]": Drop(), "query[t]": Drop()},
            "drop `s` and drop `t` where the path has 1 or 2 parts and the path ends with a slash",
        ),
        ({"slash": Literal("/")}, {"slash": Drop()}, "drop the trailing slash anywhere"),
        # queries often end with an ampersand
        ({"query[]": ANY}, {"query[]": Drop()}, "drop the empty parameter anywhere"),
        ({"query[]#2": ANY}, {"query[]#2": Drop()}, "drop the second empty parameter anywhere"),
    ],
)
def test_a_rule_says_what_and_where(context, transformation, text):
    """A sentence names the effect of the rule and its context, in words that a person would use."""
    assert said(context, transformation) == text


def test_what_must_not_be_there_is_told():
    """Except for a condition on the changed key itself, which is obvious."""
    assert (
        said({"query[f]": ANY}, {"query[f]": Drop()}, {"query[f]#2", "query[do]", "query[g]#2", "slash"})
        == "drop `f` where `do` is missing, the second `g` is missing and the path does not end with a slash"
    )


def test_long_values_are_cut():
    """A list's columns may be a value of hundreds of characters; a person needs its beginning."""
    columns = "%3Ca+href%3D%22__WebPath__" * 20
    assert said({"query[f]": Literal(columns)}, {"query[f]": Drop()}) == f"drop `f` where `f` is {columns[:50]}..."
    shape = (("path.length", "1"), ("path[0]", "list"), ("query[f]", columns))
    assert sentence_of(CoverageRule(shape, MergeEvidence(250, 1), 900)).startswith(f"/list?f={columns[:50]}... shows")


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
