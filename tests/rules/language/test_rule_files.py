"""Rules as JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.identifiers import effect_identifier
from dedup_crawler.rules.language.matchers import ANY, Literal
from dedup_crawler.rules.language.operations import Drop
from dedup_crawler.rules.language.rule import Rule, SubstringRule
from dedup_crawler.rules.language.rule_files import rules_from_json, rules_to_json
from dedup_crawler.rules.language.statistics import MergeEvidence, RuleStatistics
from rule_strategies import rules

RULE = {"host": "a.example", "context": {"query[sid]": {"class": "any"}}, "transformation": {"query[sid]": "drop"}}


@given(st.lists(rules, max_size=4))
def test_what_was_written_is_read_back(rules):
    """Through the text of the file, byte by byte."""
    assert rules_from_json(JsonValue(json.loads(json.dumps(rules_to_json(rules))), "rules.json")) == rules


def test_a_rule_may_be_written_by_hand():
    """A missing field is empty; the statistics come back too."""
    (read,) = rules_from_json(JsonValue([RULE], "rules.json"))
    counted = Rule(
        "a.example",
        {"query[sid]": ANY},
        {"query[sid]": Drop()},
        statistics=RuleStatistics(9, 5, 1, MergeEvidence(4, 1)),
    )

    assert read == counted
    assert rules_from_json(JsonValue(rules_to_json([counted]), "x"))[0].statistics == counted.statistics
    assert str(read) == "a.example: where query[sid] is there: drop query[sid]"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"transformation": {"query[sid]": "dropp"}},
            r"unknown word 'dropp'; .*Did you mean 'drop'\?",
        ),
        ({"context": {"query[t]": {"clas": "digits"}}}, r"unknown word 'clas'; .*Did you mean 'class'\?"),
        ({"context": {"query[t]": {"class": "digit"}}}, r"unknown word 'digit'; .*Did you mean 'digits'\?"),
        ({"context": {"quary[t]": {"class": "digits"}}}, r"unknown key 'quary\[t\]'; known: .*query\[NAME\]"),
        ({"contxt": {}}, r"unknown word 'contxt'; .*Did you mean 'context'\?"),
        ({"transformation": {"host[0]": {"set": "org"}}}, r"unknown key 'host\[0\]'"),
        ({"transformation": {"path.length": "star"}}, "path.length can be set or dropped"),
        ({"transformation": {"path.length": {"set": "many"}}}, "path.length cannot be set to 'many'"),
        ({"transformation": {"scheme": {"set": "javascript"}}}, "scheme cannot be set to 'javascript'"),
        ({"transformation": {"query[a]": "set"}}, "unknown word 'set'; known: drop, star"),
        ({"transformation": {"query[a]": {"set": 1}}}, "expected a text, found 1"),
        ({"transformation": 5}, "'transformation': expected a table, found 5"),
        ({"context": {"query[a]": {"in": []}}}, "'in': expected at least one value"),
        ({"context": {"query[a]": {}}}, "expected one of literal, in, not_in, class"),
        ({"absent": "query[a]"}, "'absent': expected a list"),
        ({"host": None}, "'host': expected a text, found null"),
        ({"statistics": {"groups": -1}}, "'groups': expected a whole number"),
    ],
)
def test_an_error_names_file_rule_and_word(change, message):
    """One line: the place, the value, and the probable name."""
    with pytest.raises(BadInputError, match=rf"^my\.json, entry 2.*{message}"):
        rules_from_json(JsonValue([RULE, {**RULE, **change}], "my.json"))


def test_a_file_that_is_no_list():
    """The error has the value found instead."""
    with pytest.raises(BadInputError, match=r"my.json: expected a list, found a table"):
        rules_from_json(JsonValue(RULE, "my.json"))


def test_what_a_rule_does_has_a_name_of_its_own():
    """The context of other keys does not count; the values that are removed do."""

    def effect(context, **said):
        return effect_identifier(Rule("a.example", context, {"query[v]": Drop()}, **said))

    anything = effect({"query[v]": ANY})
    assert anything == effect({"query[v]": ANY, "path[0]": Literal("wiki")}, absent=frozenset({"ext"}))
    assert anything != effect({"query[v]": Literal("1")})
    assert effect_identifier(SubstringRule("a.example", "/old/", "/new/")) not in (
        anything,
        effect_identifier(SubstringRule("a.example", "/old/", "/of/")),
    )
