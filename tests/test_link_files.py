"""Link rules as JSON."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.site_rules import CoverageRule, HostLinks, ReferrerRule, Shapes
from dedup_crawler.rules.language.statistics import MergeEvidence

HOST = "http://forum.example"
SHAPES = Shapes.learn([f"{HOST}/{kind}/{n}" for kind in ("topic", "post", "file") for n in range(20)])
TOPIC, POST, FILE = (SHAPES.of(f"{HOST}/{kind}/7") for kind in ("topic", "post", "file"))
LINKS = HostLinks(
    frozenset({"page", "sid"}),
    False,
    SHAPES,
    {(TOPIC, POST): ReferrerRule(TOPIC, POST, MergeEvidence(96, 1), 500)},
    {FILE: CoverageRule(FILE, MergeEvidence(300, 0), 900)},
)
numbers = st.one_of(st.integers(), st.floats(), st.text(max_size=3), st.none())
values = st.recursive(numbers, lambda part: st.lists(part, max_size=2) | st.dictionaries(st.text(max_size=3), part))


def test_what_was_written_is_read_back():
    """Rules, shapes and keys, through the text of the file."""
    for links in (LINKS, HostLinks(frozenset(), True, Shapes({}), {}, {})):
        read = HostLinks.from_json(JsonValue(json.loads(json.dumps(links.to_json())), "links.json"))

        assert read.to_json() == links.to_json()
        assert (read.query_keys, read.is_ordered) == (links.query_keys, links.is_ordered)
        assert (read.referrer_rules, read.coverage_rules) == (links.referrer_rules, links.coverage_rules)


def test_rules_are_looked_up_by_shape():
    """The pair of page and link for one kind, the link alone for the other."""
    assert LINKS.referrer_rule_of(f"{HOST}/post/1", f"{HOST}/topic/2") is not None
    assert LINKS.referrer_rule_of(f"{HOST}/post/1", f"{HOST}/post/2") is None
    assert LINKS.referrer_rule_of(f"{HOST}/topic/1", f"{HOST}/topic/2") is None
    assert LINKS.may_lead_back(f"{HOST}/post/1")
    assert not LINKS.may_lead_back(f"{HOST}/topic/1")
    assert LINKS.coverage_of(f"{HOST}/file/7")
    assert LINKS.coverage_of(f"{HOST}/file/7/8") is None


@pytest.mark.parametrize("part", ["query_keys", "is_ordered", "literals", "referrer_rules", "coverage_rules"])
def test_a_part_that_is_missing(part):
    """The error names the file and the missing part."""
    written = {key: value for key, value in LINKS.to_json().items() if key != part}

    with pytest.raises(BadInputError, match=rf"^links\.json lacks '{part}'\.$"):
        HostLinks.from_json(JsonValue(written, "links.json"))


@given(st.sampled_from(["query_keys", "literals", "referrer_rules", "coverage_rules"]), values, st.booleans())
def test_whatever_stands_there_is_read_or_refused(part, value, is_in_rule):
    """Only BadInputError is raised."""
    written = json.loads(json.dumps(LINKS.to_json()))
    if is_in_rule:
        written["coverage_rules"][0]["pages"] = value
    else:
        written[part] = value

    with contextlib.suppress(BadInputError):
        HostLinks.from_json(JsonValue(written, "links.json"))
