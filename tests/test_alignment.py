"""Multiple alignment of the URLs of a page."""

from dedup_crawler.rules.miners.duster import align
from dedup_crawler.urls.keyvalue import KEY_VALUES


def columns(*rests):
    maps = [KEY_VALUES.read(rest, "http") for rest in rests]
    return [(set(column.tokens), sorted(column.keys)) for column in align(maps)]


def test_what_is_alike_stands_in_one_column():
    """An inserted folder is a gap in the other URLs; the number stays in its column, at any place."""
    assert columns("/q/17", "/en/q/17", "/q/17") == [({"en"}, [1]), ({"q"}, [0, 1, 2]), ({"17"}, [0, 1, 2])]


def test_values_of_different_query_keys_are_never_aligned():
    """``a=1`` and ``b=2`` are two columns with a gap each."""
    assert sorted(columns("/?a=1", "/?b=2"), key=str) == [({"1"}, [0]), ({"2"}, [1])]


def test_a_value_that_moved_is_one_column():
    """The id in the path and the id in the query."""
    assert ({"17"}, [0, 1]) in columns("/story/17", "/story?id=17")


def test_the_most_alike_are_aligned_first():
    """Three spellings of one page: the number is one column of all."""
    assert ({"17"}, [0, 1, 2]) in columns("/questions/17/a-slug", "/q/17", "/questions/17")
