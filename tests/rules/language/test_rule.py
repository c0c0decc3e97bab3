"""The operations that cut values and order repeated keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.errors import BadInputError
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.matchers import ANY
from dedup_crawler.rules.language.operations import Cut, Drop, Lowercase, Shorten, Spaces, Unordered
from dedup_crawler.rules.language.rule import Rule

HOST = "h.example"
delimited = st.text(alphabet="ab7-:_é", max_size=8)
cuts = st.builds(Cut, st.sampled_from("-:_"), is_last=st.booleans(), keeps_head=st.booleans())
repeated = st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "b", "c"])), min_size=1, max_size=5)


def form(rule, rest):
    return RuleEngine([rule]).form(f"http://{HOST}{rest}").removeprefix(f"http://{HOST}")


def cut(key, delimiter, *, is_last=False, keeps_head=True):
    return Rule(HOST, {key: ANY}, {key: Cut(delimiter, is_last, keeps_head)})


def as_map(told):
    return {("query[f]" if i == 0 else f"query[f]#{i + 1}"): value for i, value in enumerate(told)}


FIRST, LAST = Cut("-", is_last=False, keeps_head=True), Cut("-", is_last=True, keeps_head=False)


@pytest.mark.parametrize(
    ("edit", "value", "parts"),
    [
        (FIRST, "7-a-title", ("7", "a-title")),
        (LAST, "a-title-7", ("7", "a-title")),
        # one of several delimiters stays: otherwise it would be cut again
        (Cut(":", is_last=True, keeps_head=True), "a:b:page", ("a:b:", "page")),
        (Cut(":", is_last=False, keeps_head=False), "wiki:a:page", (":a:page", "wiki")),
        # no cut that leaves or removes nothing
        (FIRST, "title", ("title", None)),
        (FIRST, "-title", ("-title", None)),
        (FIRST, "7-", ("7-", None)),
        (FIRST, "", ("", None)),
        (FIRST, None, (None, None)),
        (Shorten(7), "214a8d3e5b9c01", ("214a8d3", "e5b9c01")),
        (Shorten(7), "214A8D3E5B9C01", ("214A8D3", "E5B9C01")),
        (Shorten(7), "214a8d3", ("214a8d3", None)),
        # no hashes: a number, a word, a title, letters of both cases, nothing
        (Shorten(7), "20260214101500", ("20260214101500", None)),
        (Shorten(7), "effaceable", ("effaceable", None)),
        (Shorten(7), "deadbeeffacade", ("deadbeeffacade", None)),
        (Shorten(7), "214a8d3e5b9c01-fix", ("214a8d3e5b9c01-fix", None)),
        (Shorten(7), "214a8D3e5b9c01", ("214a8D3e5b9c01", None)),
        (Shorten(7), None, (None, None)),
        (Lowercase(), "About%2FUs", ("about%2Fus", "About%2FUs")),
        (Lowercase(), "%C3%84A", ("%C3%84a", "%C3%84A")),
        (Lowercase(), "about", ("about", None)),
        (Lowercase(), None, (None, None)),
        (Spaces("+", "%20"), "Main+Page", ("Main%20Page", "Main+Page")),
        (Spaces("%20", "_"), "Main%20Page_B", ("Main_Page_B", "Main%20Page_B")),
        (Spaces("%20", "_"), "C++", ("C++", None)),
        (Spaces("%20", "_"), None, (None, None)),
    ],
)
def test_what_an_edit_leaves_and_takes(edit, value, parts):
    """
    A value is cut at a delimiter, a hash is abbreviated, capitals become small letters, spaces are written in one way;
    other values stay.
    """
    assert edit.parts(value) == parts


@given(
    st.one_of(cuts, st.just(Lowercase()), st.integers(6, 9).map(Shorten), st.just(Spaces("+", "_"))),
    st.one_of(delimited, st.text("aB07f%2F+_", max_size=12)),
)
def test_a_value_is_edited_once(edit, value):
    """A second edit changes nothing, and the rest of a value is never empty."""
    kept, gone = edit.parts(value)

    assert edit.parts(kept) == (kept, None)
    assert bool(kept) == bool(value)
    assert (gone is None) == (kept == value)


@given(repeated, st.booleans())
def test_values_are_ordered_once(told, is_set):
    """A second ordering changes nothing; a bag keeps repetitions, a set does not; no key is lost."""
    rule = Rule(HOST, {}, {"query[f]": Unordered(is_set)})

    ordered = rule.apply(as_map(told))
    n_values = len(set(told)) if is_set else len(told)

    assert rule.apply(ordered) == ordered
    assert list(ordered) == [f"query[f]#{n}" if n > 1 else "query[f]" for n in range(1, n_values + 1)]
    assert set(ordered.values()) == set(told)
    assert rule.apply(as_map(told[::-1])) == ordered


def test_the_engine_cuts():
    """A title after an id is dropped, in the path and in the query; the id alone stays."""
    assert form(cut("path[1]", "-"), "/topic/7-a-title?page=2") == "/topic/7?page=2"
    assert form(cut("path[1]", "-"), "/topic/7") == "/topic/7"
    assert form(cut("query[id]", ":", is_last=True), "/?id=a:b:page&x=1") == "/?id=a:b:&x=1"


def test_the_engine_orders_repeated_keys():
    """As a bag or as a set; other keys stay in place, and so does a key with one value."""
    bag, each = (Rule(HOST, {"query[f]#2": ANY}, {"query[f]": Unordered(is_set)}) for is_set in (False, True))

    assert form(bag, "/?f=b&f=a&f=b&e=1") == "/?e=1&f=a&f=b&f=b"
    assert form(each, "/?f=b&f=a&f=b&e=1") == "/?e=1&f=a&f=b"
    assert form(each, "/?f=b&f=b") == form(each, "/?f=b") == "/?f=b"


@given(
    st.lists(
        st.one_of(
            cuts.map(lambda cut: Rule(HOST, {"path[0]": ANY}, {"path[0]": cut})),
            cuts.map(lambda cut: Rule(HOST, {"query[f]": ANY}, {"query[f]": cut, "query[g]": Unordered(is_set=True)})),
            st.booleans().map(lambda is_set: Rule(HOST, {"query[f]#2": ANY}, {"query[f]": Unordered(is_set)})),
        ),
        max_size=4,
    ),
    delimited,
    repeated,
)
def test_cuts_and_orders_settle(rules, path, told):
    """For any number of cuts: a form is its own form."""
    engine = RuleEngine(rules)
    query = "&".join("f" if value is None else f"f={value}-{value}" for value in told)

    settled = engine.form(f"http://{HOST}/{path}?{query}")

    assert engine.form(settled) == settled
    assert engine.circle(f"http://{HOST}/{path}?{query}") == []


@given(told=repeated, dropped=st.sets(st.integers(0, 4), min_size=1))
def test_values_behind_a_dropped_one_move_up(told, dropped):
    """The map after a rule is the map of the URL that is written, so learning sees the groups that a crawl sees."""
    keys = ["query[f]" if number == 0 else f"query[f]#{number + 1}" for number in dropped]
    rule = Rule(HOST, {}, dict.fromkeys(keys, Drop()))
    left = [value for number, value in enumerate(told) if number not in dropped]

    assert rule.apply({"root": "", **as_map(told)}) == {"root": "", **as_map(left)}


@pytest.mark.parametrize(
    ("key", "operation", "message"),
    [
        ("query[a]", Cut("--", is_last=False, keeps_head=True), "cannot be cut at '--': a delimiter is one character"),
        ("query[a]", Cut("", is_last=False, keeps_head=True), "cannot be cut at ''"),
        ("path.length", Cut("-", is_last=False, keeps_head=True), "path.length can be set or dropped"),
        ("query[h]", Shorten(5), "cannot be shortened to 5 digits, only to 6 to 128"),
        ("query[q]", Spaces("-", "+"), r"- in query\[q\] cannot be written as \+; known: \+ as %20, \+ as _, %20 as _"),
        ("path[0]", Spaces("+", "%20"), r"\+ in path\[0\] cannot be written as %20; known: %20 as _"),
        ("path.length", Lowercase(), "path.length can be set or dropped"),
        ("path[0]", Unordered(is_set=True), r"path\[0\] cannot be repeated, only query\[NAME\] can"),
        ("query[a]#2", Unordered(is_set=True), r"query\[a\]#2 cannot be repeated"),
    ],
)
def test_what_no_url_can_have_is_refused(key, operation, message):
    """The error names the key."""
    with pytest.raises(BadInputError, match=message):
        Rule(HOST, {}, {key: operation})
