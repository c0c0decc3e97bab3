"""DUSTER: multiple alignment and the column test."""

import pytest

from dedup_crawler.methods.miners import Duster
from dedup_crawler.rules.miners.duster import align
from dedup_crawler.urls.keyvalue import KEY_VALUES
from planted_site import HOST


def test_a_value_may_move_from_the_path_to_the_query():
    """``/story/N`` and ``/story?id=N`` get one form, also for a new number."""
    visits = [(f"{HOST}{form}{i}", i) for i in range(100, 140) for form in ("/story/", "/story?id=")]
    method = Duster().fit([url for url, _ in visits], [page for _, page in visits])

    assert method.canonicalize(f"{HOST}/story?id=999") == method.canonicalize(f"{HOST}/story/999")
    assert method.canonicalize(f"{HOST}/story?id=998") != method.canonicalize(f"{HOST}/story/999")


def test_values_that_were_seen_are_the_context():
    """Known neutral sort orders are dropped; a new order may change something, and stays."""
    visits = [(f"{HOST}/dir{i}/{order}", i) for i in range(40) for order in ("", "?C=N", "?C=M", "?C=S")]
    method = Duster().fit([url for url, _ in visits], [page for _, page in visits])

    assert method.canonicalize(f"{HOST}/dir99/?C=M") == f"{HOST}/dir99/"
    assert method.canonicalize(f"{HOST}/dir99/?C=X") == f"{HOST}/dir99/?C=X"


def test_too_few_pages_teach_nothing():
    """Two pages are too few for a rule, which needs three."""
    visits = [(f"{HOST}/t/{i}{sid}", i) for i in range(2) for sid in ("", *(f"?sid={n}" for n in range(9)))]

    assert Duster().fit([url for url, _ in visits], [page for _, page in visits]).engine_.rules == []


@pytest.mark.parametrize(
    ("rests", "expected"),
    [
        # an inserted folder is a gap in the other URLs; the number stays in its column, at any place
        (("/q/17", "/en/q/17", "/q/17"), [({"en"}, [1]), ({"q"}, [0, 1, 2]), ({"17"}, [0, 1, 2])]),
        # values of different query keys are never aligned
        (("/?a=1", "/?b=2"), [({"1"}, [0]), ({"2"}, [1])]),
        # a value that moved from the path to the query is one column
        (("/story/17", "/story?id=17"), [({"17"}, [0, 1])]),
        # the most alike are aligned first: the number is one column of all three spellings
        (("/questions/17/a-slug", "/q/17", "/questions/17"), [({"17"}, [0, 1, 2])]),
    ],
)
def test_what_is_alike_stands_in_one_column(rests, expected):
    """Tokens of a column, and the numbers of the URLs that have one."""
    columns = align([KEY_VALUES.read(rest, "http") for rest in rests])
    found = [(set(column.tokens), sorted(column.keys)) for column in columns]

    assert all(column in found for column in expected)
