"""Shapes of URLs, and link rules as JSON."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language import site_rules
from dedup_crawler.rules.language.site_rules import CoverageRule, HostLinks, ReferrerRule, Shapes, shape_text
from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.urls.normal import normal_form
from rule_strategies import site_urls
from url_strategies import urls

HOST = "http://site.example"


def shapes_of(*rests):
    return Shapes.learn([f"{HOST}{rest}" for rest in rests])


def shape(shapes, rest):
    return shape_text(shapes.of(f"{HOST}{rest}"))


def test_what_many_urls_have_is_part_of_the_shape():
    """Section names stay, titles and numbers become placeholders; also very frequent numbers."""
    shapes = shapes_of(*[f"/topic/{n}-title?page=2" for n in range(20)], *[f"/user/{n}.html" for n in range(20)])

    assert shape(shapes, "/topic/7-other?page=2") == shape(shapes, "/topic/8?page=9") == "/topic/*?page=*"
    assert shape(shapes, "/user/somebody.html") == "/user/*.html"
    assert shape(shapes, "/never/seen") == "/*/*"


def test_what_few_urls_have_is_not():
    """Seven URLs are too few, and so is less than a hundredth of all."""
    assert shape(shapes_of(*["/about/us"] * 7), "/about/us") == "/*/*"
    assert shape(shapes_of(*["/about/us"] * 8), "/about/us") == "/about/us"
    assert shape(shapes_of(*["/about/us"] * 8, *["/x/y"] * 900), "/about/us") == "/*/*"


@given(st.lists(site_urls, max_size=20), st.one_of(site_urls, urls))
def test_shapes_are_read_back(crawl, url):
    """Shapes survive JSON, and every URL has a shape that can be written."""
    shapes = Shapes.learn(map(normal_form, crawl))
    again = Shapes.from_json(JsonValue(json.loads(json.dumps(shapes.to_json())), "links.json"))

    assert again.of(normal_form(url)) == shapes.of(normal_form(url))
    assert isinstance(shape_text(shapes.of(normal_form(url))), str)


@given(st.lists(site_urls, max_size=20))
def test_what_is_remembered_is_bounded_and_changes_nothing(crawl):
    """A crawl needs the shapes of very many URLs repeatedly."""
    shapes = Shapes.learn(map(normal_form, crawl))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site_rules, "MAX_KNOWN", 3)
        for url in [*map(normal_form, crawl)] * 2:
            assert shapes.of(url) == Shapes(shapes.literals).of(url)
            assert len(shapes._known) <= 3
        long = f"{HOST}/?{'&'.join(map(str, range(1000)))}"
        assert shapes.of(long) == Shapes(shapes.literals).of(long)
        assert long not in shapes._known


def test_what_cannot_be_shapes():
    """One line that names the file."""
    for value in ([], {"path[0]": "topic"}, None):
        with pytest.raises(BadInputError, match=r"^links.json(, .*)?: expected a (table|list), found .*\.$"):
            Shapes.from_json(JsonValue(value, "links.json"))


FORUM = "http://forum.example"
SHAPES = Shapes.learn([f"{FORUM}/{kind}/{n}" for kind in ("topic", "post", "file") for n in range(20)])
TOPIC, POST, FILE = (SHAPES.of(f"{FORUM}/{kind}/7") for kind in ("topic", "post", "file"))
LINKS = HostLinks(
    frozenset({"page", "sid"}),
    False,
    SHAPES,
    {
        (TOPIC, POST): ReferrerRule(TOPIC, POST, MergeEvidence(96, 1), 500),
        (FILE, POST): ReferrerRule(FILE, POST, MergeEvidence(40, 0), 90, "page"),
    },
    {FILE: CoverageRule(FILE, MergeEvidence(300, 0), 900)},
)
numbers = st.one_of(st.integers(), st.floats(), st.text(max_size=3), st.none())
json_values = st.recursive(
    numbers, lambda part: st.lists(part, max_size=2) | st.dictionaries(st.text(max_size=3), part)
)


def test_what_was_written_is_read_back():
    """Rules, shapes and keys, through the text of the file."""
    for links in (LINKS, HostLinks(frozenset(), True, Shapes({}), {}, {})):
        read = HostLinks.from_json(JsonValue(json.loads(json.dumps(links.to_json())), "links.json"))

        assert read.to_json() == links.to_json()
        assert (read.query_names, read.is_ordered) == (links.query_names, links.is_ordered)
        assert (read.referrer_rules, read.coverage_rules) == (links.referrer_rules, links.coverage_rules)


@pytest.mark.parametrize(
    ("query", "is_left_alone"),
    [
        ("", False),
        ("?page=2", False),
        ("?sid&page=2", False),
        ("?page=2&new=1", True),
        ("?page=2&", True),
        ("?Page=2", True),
    ],
)
def test_a_url_with_an_unknown_query_name_is_left_alone(query, is_left_alone):
    """Whatever its value is; an empty name is a name too."""
    assert (LINKS.why_left_alone(f"{FORUM}/topic/7{query}") != "") is is_left_alone


def test_rules_are_looked_up_by_shape():
    """The pair of page and link for one kind, the link alone for the other."""
    assert LINKS.referrer_rule_of(f"{FORUM}/post/1", f"{FORUM}/topic/2", None) is not None
    assert LINKS.referrer_rule_of(f"{FORUM}/post/1", f"{FORUM}/post/2", None) is None
    assert LINKS.referrer_rule_of(f"{FORUM}/topic/1", f"{FORUM}/topic/2", None) is None
    assert LINKS.may_lead_back(f"{FORUM}/post/1")
    assert not LINKS.may_lead_back(f"{FORUM}/topic/1")
    assert LINKS.coverage_of(f"{FORUM}/file/7")
    assert LINKS.coverage_of(f"{FORUM}/file/7/8") is None


def test_a_rule_about_short_lists_asks_for_the_links_of_the_page():
    """It says nothing about a page with the name of further pages, or with unknown links."""
    link, page = f"{FORUM}/post/1", f"{FORUM}/file/2"
    assert LINKS.referrer_rule_of(link, page, frozenset({"sort"})) is not None
    assert LINKS.referrer_rule_of(link, page, frozenset({"sort", "page"})) is None
    assert LINKS.referrer_rule_of(link, page, None) is None


def test_values_that_page_and_link_share_are_one_value():
    """A rule learnt in some sections speaks about all, but only about links to the very topic of the page."""
    shapes = Shapes.learn([f"{FORUM}/forum/{n % 3}-section/topic/{n}/" for n in range(60)])
    page = f"{FORUM}/forum/1-section/topic/7/?page=2"
    on_page, link = shapes.of_link(page, f"{page}&post=70")
    assert (shape_text(on_page), shape_text(link)) == ("/forum/=/=/=/?page==", "/forum/=/=/=/?page==&post=*")
    assert shapes.of_link(
        f"{FORUM}/forum/2-section/topic/9/?page=1", f"{FORUM}/forum/2-section/topic/9/?page=1&post=3"
    ) == (
        on_page,
        link,
    )
    assert shapes.of_link(page, f"{FORUM}/forum/1-section/topic/9/?page=2&post=70")[1] != link


@pytest.mark.parametrize("part", ["query_names", "is_ordered", "literals", "referrer_rules", "coverage_rules"])
def test_a_part_that_is_missing(part):
    """The error names the file and the missing part."""
    written = {key: value for key, value in LINKS.to_json().items() if key != part}

    with pytest.raises(BadInputError, match=rf"^links\.json lacks '{part}'\.$"):
        HostLinks.from_json(JsonValue(written, "links.json"))


@given(st.sampled_from(["query_names", "literals", "referrer_rules", "coverage_rules"]), json_values, st.booleans())
def test_whatever_stands_there_is_read_or_refused(part, value, is_in_rule):
    """Only BadInputError is raised."""
    written = json.loads(json.dumps(LINKS.to_json()))
    if is_in_rule:
        written["coverage_rules"][0]["pages"] = value
    else:
        written[part] = value

    with contextlib.suppress(BadInputError):
        HostLinks.from_json(JsonValue(written, "links.json"))
