"""Strategies of rules over few keys and values, so that rules interact."""

from hypothesis import strategies as st

from dedup_crawler.rules.language.matchers import ANY, CLASSES, Literal, NoneOf, OfClass, OneOf
from dedup_crawler.rules.language.operations import Copy, Cut, Drop, Lowercase, Set, Shorten, Spaces, Star, Unordered
from dedup_crawler.rules.language.rule import Rule

HOST = "h.example"
FREE_KEYS = ["path[0]", "path[1]", "query[a]", "query[b]", "query[a]#2", "ext"]
VALUES = ["a", "b", "17", "", "x/y", "é?#", "%41", "*", "A%2fB", "2a4b6c8d", "2a4b6c", "a+b%20c"]

values = st.one_of(st.sampled_from(VALUES), st.none())


def matchers_of(values):
    """Matchers of these values, of every kind."""
    return st.one_of(
        st.just(ANY),
        values.map(Literal),
        st.frozensets(values, min_size=1, max_size=3).map(OneOf),
        st.frozensets(values, min_size=1, max_size=2).map(NoneOf),
        st.sampled_from(CLASSES).map(OfClass),
    )


matchers = matchers_of(values)
cuts = st.builds(Cut, st.sampled_from("-/1"), is_last=st.booleans(), keeps_head=st.booleans())
edits = st.one_of(cuts, st.just(Lowercase()), st.just(Shorten(6)), st.just(Spaces("%20", "_")))
operations = st.one_of(values.map(Set), st.sampled_from(FREE_KEYS).map(Copy), st.just(Drop()), st.just(Star()), edits)
transformations = st.builds(
    lambda free, repeated, length, slash: {**free, **repeated, **length, **slash},
    st.dictionaries(st.sampled_from(FREE_KEYS), operations, min_size=1, max_size=3),
    st.one_of(st.just({}), st.booleans().map(lambda is_set: {"query[a]": Unordered(is_set)})),
    st.one_of(st.just({}), st.sampled_from("0123").map(lambda n: {"path.length": Set(n)})),
    st.sampled_from([{}, {"slash": Drop()}, {"slash": Set("/")}]),
)
rules = st.builds(
    Rule,
    host=st.sampled_from([HOST, "other.example"]),
    context=st.dictionaries(st.sampled_from([*FREE_KEYS, "path.length"]), matchers, max_size=3),
    transformation=transformations,
    absent=st.frozensets(st.sampled_from(FREE_KEYS), max_size=1),
)
site_urls = st.builds(
    lambda path, query: f"http://{HOST}/{'/'.join(path)}{'?' if query else ''}{'&'.join(query)}",
    st.lists(st.sampled_from(["a", "b", "17", "a.php"]), max_size=3),
    st.lists(st.sampled_from(["a=a", "a=b", "b=17", "b", "c=1", "a="]), max_size=4),
)
