"""The URLs of a site in the usual grammar, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.urls.normal import normal_form
from dedup_crawler.urls.site_grammar import USUAL, SiteGrammar, is_same
from url_strategies import urls

START = "http://a.example"
PLACES = SiteGrammar(("jsessionid", "v"), has_enclosed=True)
grammars = st.builds(SiteGrammar, st.sampled_from([(), ("v",), ("b", "v"), ("v", "b")]), st.booleans(), st.booleans())
rests = st.text(alphabet="ab(;v=1/&?)S0%", max_size=30).map(lambda rest: f"{START}/{rest}")
pieces = st.lists(
    st.sampled_from(
        ["/a", "/", ";v=1", ";b=2", ";v=0/2", "/(S(x))", "/(S(x)F(y))", "?", "&", ";;v=1", ";()=0/S(x)", "="]
    ),
    max_size=10,
).map(lambda parts: f"{START}/{''.join(parts).removeprefix('/')}")


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("/item/3;jsessionid=A1B2", "/item/3?;jsessionid=A1B2"),
        ("/item/3;jsessionid=A1B2?x=1", "/item/3?;jsessionid=A1B2&x=1"),
        ("/shop;jsessionid=A1B2/item/3", "/shop/item/3?;jsessionid=0/A1B2"),
        ("/item/;jsessionid=A1B2", "/item/?;jsessionid=A1B2"),
        ("/item;jsessionid=A1B2/", "/item/?;jsessionid=0/A1B2"),
        ("/page.html;jsessionid=A1B2;v=2", "/page.html?;jsessionid=A1B2&;v=2"),
        ("/;v=2", "/?;v=2"),
        ("/(S(A1B2))/page.aspx", "/page.aspx?;()=0/S(A1B2)"),
        ("/app/(X(1)S(A1B2))/", "/app/?;()=1/X(1)S(A1B2)"),
        ("/a?;v=1", "/a?;;v=1"),
        ("/a;v=1?", "/a?&;v=1"),
    ],
)
def test_reads_what_stands_in_paths(url: str, read: str):
    """Parameters and sessions leave the path, whose parts stay where they are, and come back."""
    assert PLACES.read(START + url) == START + read
    assert PLACES.write(START + read) == START + url


@pytest.mark.parametrize(
    "url",
    [
        "/item/3;other=1",  # nobody knows the parameter
        "/item/3;v=1;jsessionid=A1",  # in another order: both would be read as one URL
        "/item/3;v=1;v=2",
        "/item/3;v",
        "/Foo;_Bar",
        "/item/(S(A1B2))",  # nothing stands behind it
        "/item/(of_many)/3",
        "/a;v=1&2",
    ],
)
def test_leaves_the_rest_where_it_is(url: str):
    """What cannot be told from a word of the path is one."""
    assert PLACES.read(START + url) == START + url


@given(grammars, st.one_of(urls.map(lambda url: f"{START}/{url}"), rests, pieces))
def test_every_url_comes_back(grammar: SiteGrammar, url: str):
    """Reading loses nothing, so that no two URLs are read as one; what is read is in normal form."""
    url = normal_form(url)
    read = grammar.read(url)

    assert grammar.write(read) == url
    assert normal_form(read) == read


@given(grammars, st.one_of(rests, pieces))
def test_what_is_written_reads_the_same(grammar: SiteGrammar, form: str):
    """Of any form that rules may make, there is a URL that reads so, or none is given."""
    form = normal_form(form)
    written = grammar.write(form)

    if written is not None:
        assert is_same(grammar.read(written), form)
        assert normal_form(written) == written


def test_is_learnt_from_eight_urls():
    """A few URLs with a semicolon are no grammar; order and names come from the site."""
    sessions = [f"{START}/item/{n};lang=en;jsessionid={n:x}" for n in range(8)]

    assert SiteGrammar.learn(sessions).parameters == ("lang", "jsessionid")
    assert SiteGrammar.learn(sessions[:7]) == USUAL
    assert SiteGrammar.learn([f"{START}/(S({n}))/a" for n in range(8)]) == SiteGrammar((), has_enclosed=True)
    assert not SiteGrammar.learn([f"{START}/item/{n};_{n}" for n in range(20)])


def test_semicolons_are_exchanged_where_they_are_what_separates():
    """``?a=1;b=2`` on a site that separates so, and not on one that mostly does not, nor where it is part of a text."""
    queries = [f"{START}/?p=git;a=commit;h={n:x}" for n in range(8)]
    grammar = SiteGrammar.learn(queries)

    assert grammar.has_semicolons
    assert grammar.read(f"{START}/?p=git;a=log") == f"{START}/?p=git&a=log"
    assert grammar.read(f"{START}/?p=a&b;a=log") == f"{START}/?p=a;b&a=log"
    assert not SiteGrammar.learn([*queries, *(f"{START}/?a=1&b={n}" for n in range(8))]).has_semicolons
    assert not SiteGrammar.learn([f"{START}/?q=one;two;{n}" for n in range(20)]).has_semicolons


@pytest.mark.parametrize(
    "value", [[], {}, {"parameters": [3], "enclosed": True}, {"parameters": ["a/b"], "enclosed": True}]
)
def test_refuses_what_is_no_grammar(value: object):
    """A model that somebody changed is one clear error."""
    with pytest.raises(BadInputError, match=r"grammar\.json"):
        SiteGrammar.from_json(value, "grammar.json")


@given(grammars)
def test_is_kept_as_json(grammar: SiteGrammar):
    """Written and read."""
    assert SiteGrammar.from_json(grammar.to_json(), "grammar.json") == grammar
