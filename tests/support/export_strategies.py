"""Strategies of rules and URLs that interact in every way, for the laws of exports."""

from __future__ import annotations

from hypothesis import strategies as st

from dedup_crawler.rules.language.matchers import ANY, Literal, NoneOf, OfClass, OneOf
from dedup_crawler.rules.language.operations import Copy, Cut, Drop, Lowercase, Set, Shorten, Spaces, Star
from dedup_crawler.rules.language.rule import Rule
from rule_strategies import HOST, matchers_of

VALUES = ["a", "b", "17", "a-b", "1-2-3", "x.html", "a.b", "Q-R", "2a4b6c8d", "2a4b6c", "a+b"]
_ODD_VALUES = [*VALUES, "", "*", None]
_QUERY = ["query[a]", "query[b]", "query[c]"]
_KEYS = ["path[0]", "path[1]", "path[2]", *_QUERY, "ext", "slash", "path.length", "scheme"]
_MATCHERS = {
    "path.length": st.sampled_from([Literal("1"), Literal("2"), OneOf(frozenset("12")), OfClass("digits"), ANY]),
    "ext": st.sampled_from([Literal(".html"), OneOf(frozenset([".html", ".b"])), NoneOf(frozenset([".html"])), ANY]),
    "slash": st.sampled_from([Literal("/"), ANY]),
    "scheme": st.sampled_from([Literal("http"), Literal("https"), ANY]),
}


_cuts = st.builds(Cut, st.sampled_from("-1."), is_last=st.booleans(), keeps_head=st.booleans())
_edits = st.one_of(_cuts, st.just(Lowercase()), st.just(Shorten(6)), st.just(Spaces("%20", "_")))
_OF_QUERY = st.one_of(st.just(Drop()), st.just(Star()), _edits, st.sampled_from(_ODD_VALUES).map(Set))
_OPERATIONS = {
    "ext": st.sampled_from([Drop(), Set(".html"), Star()]),
    "slash": st.sampled_from([Drop(), Set("/")]),
    "scheme": st.sampled_from([Set("http"), Set("https")]),
    "path.length": st.sampled_from([Set("1"), Set("2")]),
    **dict.fromkeys(_QUERY, _OF_QUERY),
}
_OF_PATH = st.one_of(st.just(Star()), _edits, st.sampled_from(_ODD_VALUES).map(Set), st.just(Copy("path[0]")))


@st.composite
def any_rules(draw, *, only_drops=False):
    """A rule of the host, of any kind."""
    values = VALUES if only_drops else _ODD_VALUES
    absent = draw(st.frozensets(st.sampled_from([*_KEYS[1:6], "query[a]#2", "slash", "ext"]), max_size=1))
    keys = draw(st.lists(st.sampled_from(_KEYS), max_size=3, unique=True))
    of_value = matchers_of(st.sampled_from(values))
    context = {key: draw(_MATCHERS.get(key, of_value)) for key in keys if key not in absent}
    if not only_drops and draw(st.integers(0, 5)) == 0:
        length = draw(st.integers(1, 3))
        shorter = {"path.length": Set(str(length - 1)), f"path[{length - 1}]": Drop()}
        return Rule(HOST, {**context, "path.length": Literal(str(length))}, shorter, absent)
    if only_drops:
        changed = draw(st.lists(st.sampled_from(_QUERY), min_size=1, max_size=2, unique=True))
        return Rule(HOST, context, dict.fromkeys(changed, Drop()), absent)
    changed = draw(st.lists(st.sampled_from([*_QUERY, *_KEYS]), min_size=1, max_size=2, unique=True))
    return Rule(HOST, context, {key: draw(_OPERATIONS.get(key, _OF_PATH)) for key in changed}, absent)


_HOSTS = st.sampled_from([*[HOST] * 5, f"www.{HOST}", f"wwwx{HOST}", "other.example"])
_SEGMENTS = ["a", "b", "17", "a.b", "a-b", "1-2-3", "x.html", "a.php", "a.b.html", "c", "a-b.html", "a.b-c"]


def _url(scheme, host, segments, slash, parts):
    path = "/".join(segments) + ("/" if segments and slash else "")
    return f"{scheme}://{host}/{path}{'?' if parts else ''}{'&'.join(parts)}"


plain_urls = st.builds(
    _url,
    st.sampled_from(["http", "https"]),
    _HOSTS,
    st.lists(st.sampled_from(_SEGMENTS), max_size=4),
    st.booleans(),
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from([*VALUES, "zz"]), max_size=4).map(
        lambda query: [f"{name}={value}" for name, value in query.items()]
    ),
)
"""Plain URLs: each name once, with a value, all in lower case."""
