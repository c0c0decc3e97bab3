"""The URLs of a site in the usual grammar, and back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.json_values import JsonValue
from dedup_crawler.urls.normal import normal_form
from dedup_crawler.urls.site_grammar import USUAL, SiteGrammar, is_same
from url_strategies import urls

START = "http://a.example"
PLACES = SiteGrammar(("()", "jsessionid", "v"))
grammars = st.builds(
    SiteGrammar,
    st.sampled_from([(), ("v",), ("()",), ("b", "v"), ("v", "()", "b")]),
    st.sampled_from([(), ("v:", "b="), ("b=", "b:", "v:")]),
    st.booleans(),
    st.sampled_from([{}, {"v": ","}, {";v:": ",", "b": "%2C", ";b/": "+"}, {";v": ",", ";;v": ","}]),
)
rests = st.text(alphabet="abv(;:=1,/&?)S0%", max_size=30).map(lambda rest: f"{START}/{rest}")
_IN_PATHS = ["/a", "/", ";v=1", ";b=2", ";v=0/2", "/(S(x))", "/(S(x)F(y))", "/v:1", "/v:1,2", "/b=2", "/b:3", "="]
_IN_QUERIES = [
    "?",
    "&",
    "v=1",
    "v=1,2",
    "v=2,1",
    "b=1%2C2",
    ";v=1",
    ";v=1,2",
    ";;v=1",
    ";()=0/S(x)",
    "v;,=1",
    "v;;,=1",
    ";v:=1",
]
pieces = st.lists(st.sampled_from([*_IN_PATHS, *_IN_QUERIES, ";b/=2", ";v:;,=1", ";/=b/,v:"]), max_size=10).map(
    lambda parts: f"{START}/{''.join(parts).removeprefix('/')}"
)


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
        "/item/3;other=1",  # the parameter is unknown
        "/item/3;v=1;jsessionid=A1",  # in another order: both would be read as one URL
        "/item/3;v=1;v=2",
        "/item/3;v",
        "/Foo;_Bar",
        "/item/(S(A1B2))",  # no path part after it
        "/item/(of_many)/3",
        "/a;v=1&2",
    ],
)
def test_leaves_the_rest_where_it_is(url: str):
    """A part that looks like a word of the path stays a word."""
    assert PLACES.read(START + url) == START + url


@settings(max_examples=250)
@given(grammars, st.one_of(urls.map(lambda url: f"{START}/{url}"), rests, pieces))
def test_every_url_comes_back(grammar: SiteGrammar, url: str):
    """Reading is lossless, so no two URLs are read as one; the result is in normal form."""
    url = normal_form(url)
    read = grammar.read(url)

    assert grammar.write(read) == url
    assert normal_form(read) == read


@given(grammars, st.one_of(rests, pieces))
def test_what_is_written_reads_the_same(grammar: SiteGrammar, form: str):
    """Any form that rules may make is written as a URL that reads back, or refused."""
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
    assert SiteGrammar.learn([f"{START}/(S({n}))/a" for n in range(8)]) == SiteGrammar(("()",))
    assert not SiteGrammar.learn([f"{START}/item/{n};_{n}" for n in range(20)])


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("/all/scope:new/page:2/", "/all/?;page:=2&;scope:=new"),
        ("/all/page:2", "/all?;page:=2"),
        ("/all/page:2;v=1", "/all?;page:=2&;v=1"),
        ("/all/scope:new/tags:a,b", "/all?;scope:=new&;tags:;,=a&;tags:;,=b"),
        ("/all?ids=3%7C4&x=1", "/all?ids;,=3&ids;,=4&x=1"),
        ("/all?ids=3", "/all?ids;,=3"),
        ("/all?ids;,=3", "/all?ids;;,=3"),
        ("/all/page:2/scope:new/", "/all/?;/=page:,scope:&;page:=2&;scope:=new"),
        ("/all/page:2/page:3/", "/all/page:2/page:3/"),
        ("/all/page:2/other:3/", "/all/page:2/other:3/"),
        ("/scope:new/all", "/scope:new/all"),
        ("/scope:new", "/scope:new"),
        ("/scope:new/", "/?;scope:=new"),
        ("/all//scope:new", "/all//scope:new"),
        ("/all//scope:new/", "/all//?;scope:=new"),
        ("/all/Talk:Title", "/all/Talk:Title"),
        ("/all?ids=3%7C4&ids=5", "/all?ids=3%7C4&ids=5"),
    ],
)
def test_reads_names_and_lists(url: str, read: str):
    """Segments at the end of a path that are names and values, and values with several elements."""
    grammar = SiteGrammar(("v",), ("scope:", "tags:", "page:"), lists={";tags:": ",", "ids": "%7C"})

    assert grammar.read(START + url) == START + read
    assert is_same(grammar.read(str(grammar.write(START + read))), START + read)
    assert grammar.write(START + read) == START + url


def test_names_of_segments_stand_beside_others():
    """``sort=new/page=2`` is a list of names; a title with a prefix is none, nor are two of them."""
    lists = [f"{START}/all/scope:new/sort:age/page:{n}" for n in range(8)]
    two = [f"{START}/all/scope:new/page:{n}" for n in range(8)]
    assert SiteGrammar.learn([*lists, *two]).segments == ("scope:", "sort:", "page:")
    assert not SiteGrammar.learn(two)
    assert SiteGrammar.learn([f"{START}/all/sort=new/page={n}/" for n in range(8)]).segments == ("sort=", "page=")
    assert not SiteGrammar.learn([f"{START}/wiki/Talk:Title_{n}" for n in range(40)])
    assert not SiteGrammar.learn([f"{START}/wiki/Special:Links/Talk:Title_{n}" for n in range(40)])
    titles = [f"{START}/wiki/Talk:Title_{n}{'/Sub:Page/Of:It' if n < 10 else ''}" for n in range(40)]
    assert not SiteGrammar.learn(titles)


def test_lists_are_learnt_from_their_orders():
    """``tags=a,b`` beside ``tags=b,a`` shows that the comma separates elements; commas alone do not."""
    pairs = [(one, other) for one in "abcde" for other in "abcde" if one != other]

    assert SiteGrammar.learn([f"{START}/?tags={one},{other}" for one, other in pairs]).lists == {"tags": ","}
    assert SiteGrammar.learn([f"{START}/a/x=1/t={one}+{other}" for one, other in pairs]).lists == {";t/": "+"}
    assert not SiteGrammar.learn([f"{START}/?at={n},{n + 1}" for n in range(50)])


def test_semicolons_are_exchanged_where_they_are_what_separates():
    """``?a=1;b=2`` on a site with semicolons; not on one that mostly uses "&", nor in a text value."""
    queries = [f"{START}/?p=git;a=commit;h={n:x}" for n in range(8)]
    grammar = SiteGrammar.learn(queries)

    assert grammar.has_semicolons
    assert grammar.read(f"{START}/?p=git;a=log") == f"{START}/?p=git&a=log"
    assert grammar.read(f"{START}/?p=a&b;a=log") == f"{START}/?p=a;b&a=log"
    assert not SiteGrammar.learn([*queries, *(f"{START}/?a=1&b={n}" for n in range(8))]).has_semicolons
    assert not SiteGrammar.learn([f"{START}/?q=one;two;{n}" for n in range(20)]).has_semicolons


@pytest.mark.parametrize(
    "changed",
    [
        {"parameters": [3]},
        {"parameters": ["a/b"]},
        {"parameters": None},
        {"segments": ["scope"]},
        {"lists": {"tags": ""}},
        {"lists": [","]},
        {"lists": {"tags;": ","}},
        {"semicolons": 1},
    ],
)
def test_refuses_what_is_no_grammar(changed: dict[str, object]):
    """A manipulated model is one clear error."""
    for value in (USUAL.to_json() | changed, [], None):
        with pytest.raises(BadInputError, match=r"grammar\.json"):
            SiteGrammar.from_json(JsonValue(value, "grammar.json"))


@given(grammars)
def test_is_kept_as_json(grammar: SiteGrammar):
    """Written and read."""
    assert SiteGrammar.from_json(JsonValue(grammar.to_json(), "grammar.json")) == grammar
