"""Shapes of URLs."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language import site_rules
from dedup_crawler.rules.language.site_rules import Shapes, written
from dedup_crawler.urls.normal import normal_form
from rule_strategies import site_urls
from url_strategies import urls

HOST = "http://site.example"


def shapes_of(*rests):
    return Shapes.learn([f"{HOST}{rest}" for rest in rests])


def shape(shapes, rest):
    return written(shapes.of(f"{HOST}{rest}"))


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
    assert isinstance(written(shapes.of(normal_form(url))), str)


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
