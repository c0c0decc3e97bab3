"""The latest drops of a rule, kept to be sent later."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.live.exploration import dropped_requests
from dedup_crawler.live.exploration.dropped_requests import FORGOTTEN_AT_ONCE, MAX_OF_RULE, Reservoir


def add(reservoir, rules, request):
    """Keep a request as the only drop of its form."""
    reservoir.add(rules, request, str(request).encode())


def nothing_spoken(rule, form):
    """No form has a verdict yet."""
    return False


def taken(reservoir, rule):
    """Return the requests alone."""
    return [request for request, _ in reservoir.take(rule)]


def test_what_a_rule_dropped_comes_back_once():
    """Oldest first; drops of other rules stay."""
    reservoir: Reservoir[str] = Reservoir()
    for request in ("/1", "/2"):
        add(reservoir, ["a"], request)
    add(reservoir, ["b"], "/3")
    assert taken(reservoir, "a") == ["/1", "/2"]
    assert taken(reservoir, "a") == []
    assert taken(reservoir, "b") == ["/3"]
    assert len(reservoir._dropped) == 0


def test_a_shared_drop_is_found_through_each_of_its_rules():
    """It is found through each rule, but returned once."""
    reservoir: Reservoir[str] = Reservoir()
    add(reservoir, ["a", "b"], "/1")
    add(reservoir, ["b"], "/2")
    assert taken(reservoir, "b") == ["/1", "/2"]
    assert taken(reservoir, "a") == []


def test_a_drop_without_a_rule_is_not_kept():
    """A drop without rules is never needed."""
    reservoir: Reservoir[str] = Reservoir()
    add(reservoir, [], "/1")
    assert len(reservoir._dropped) == 0


def test_a_rule_keeps_its_latest():
    """The oldest drops of a rule are forgotten, some at once."""
    reservoir: Reservoir[int] = Reservoir()
    for i in range(3 * MAX_OF_RULE):
        add(reservoir, ["a"], i)
    kept = taken(reservoir, "a")
    assert MAX_OF_RULE <= len(kept) < MAX_OF_RULE + FORGOTTEN_AT_ONCE
    assert kept == [*range(3 * MAX_OF_RULE - len(kept), 3 * MAX_OF_RULE)]


def test_when_all_is_full_the_fullest_rule_gives(monkeypatch):
    """A rule with very many drops does not displace the few drops of another."""
    monkeypatch.setattr(dropped_requests, "MAX_ALL", 100)
    reservoir: Reservoir[int] = Reservoir()
    for i in range(3):
        add(reservoir, ["rare"], i)
    for i in range(3000):
        add(reservoir, ["busy"], i)
    assert taken(reservoir, "rare") == [0, 1, 2]
    assert taken(reservoir, "busy")[-1] == 2999


def test_a_sample_is_taken_at_even_distances_and_once():
    """Each request comes back once, with its rules; one in ten of a hundred and ten, the last one included."""
    reservoir: Reservoir[int] = Reservoir()
    for i in range(100):
        add(reservoir, ["a", "b"] if i % 2 else ["b"], i)
    first = reservoir.sample({"b": 10}, nothing_spoken)
    assert [request for request, _ in first] == [*range(9, 100, 10)]
    assert all(("a" in rules) == bool(request % 2) for request, rules in first)
    rest = [reservoir.sample({"b": 40}, nothing_spoken) for _ in range(4)]
    assert [len(each) for each in rest] == [40, 40, 10, 0]
    assert sorted(request for each in [first, *rest] for request, _ in each) == [*range(100)]
    assert len(reservoir._dropped) == 0


def test_forms_without_a_verdict_are_tested_first():
    """
    A rule dropped three URLs of each of ten pages, in three rows. Five pages have a verdict. The six tests begin with
    one of each other page; some more break up the long rows.
    """
    reservoir: Reservoir[tuple[int, int]] = Reservoir()
    for way in range(3):
        for page in range(10):
            reservoir.add(["a"], (page, way), str(page).encode())
    tested = [page for (page, _), _ in reservoir.sample({"a": 6}, lambda rule, form: form >= b"5")]
    assert {0, 1, 2, 3, 4} <= {*tested}
    assert 6 <= len(tested) <= 9


def test_no_long_row_of_drops_stays_untested():
    """
    Of forty drops of a rule eight in a row may stay without a test. It was tested after thirty of them: four of
    those come back, evenly spaced, and the middle one and the last of the ten since then. A rule whose few drops
    were tested in time returns nothing. A returned drop counts as a test, so it is not returned twice.
    """
    reservoir: Reservoir[int] = Reservoir()
    for i in range(40):
        add(reservoir, ["a"], i)
        if i == 29:
            reservoir.tested(["a"])
    for i in range(100, 108):
        add(reservoir, ["b"], i)
        if i == 103:
            reservoir.tested(["b"])
    given = [request for request, _ in reservoir.sample({"a": 0, "b": 0}, nothing_spoken)]
    assert given == [6, 14, 21, 29, 34, 39]
    assert reservoir.sample({"a": 0, "b": 0}, nothing_spoken) == []
    for i in range(40, 52):
        add(reservoir, ["a"], i)
    assert [request for request, _ in reservoir.sample({"a": 0}, nothing_spoken)] == [45, 51]


def test_a_rule_that_needs_no_test_is_not_looked_at():
    """A crawl asks each time it runs dry: a thousand drops are looked at once, and again when a long row has come."""
    looked: list[bytes] = []

    def has_spoken(rule, form):
        looked.append(form)
        return False

    reservoir: Reservoir[int] = Reservoir()
    for i in range(1_000):
        add(reservoir, ["a"], i)
    assert len(reservoir.sample({"a": 0}, has_spoken)) == 5  # a fifth of all may stay untested
    assert len(looked) == 1_000
    for i in range(1_000, 1_150):
        add(reservoir, ["a"], i)
    assert reservoir.sample({"a": 0}, has_spoken) == []
    assert len(looked) == 1_000
    for i in range(1_150, 1_300):
        add(reservoir, ["a"], i)
    assert [request for request, _ in reservoir.sample({"a": 0}, has_spoken)] == [1_149, 1_299]


def test_all_are_taken_at_once():
    """With a new model, all drops of the old one come back."""
    reservoir: Reservoir[int] = Reservoir()
    for i in range(10):
        add(reservoir, ["a", "b"] if i % 2 else ["b"], i)
    assert sorted(request for request, _ in reservoir.take_all()) == [*range(10)]
    assert len(reservoir._dropped) == 0
    assert reservoir.take("b") == []


@given(
    st.lists(st.tuples(st.lists(st.sampled_from("abcd"), max_size=3), st.booleans()), max_size=200),
    st.integers(1, 8),
    st.integers(1, 12),
    st.integers(1, 4),
)
def test_bounds_hold_whatever_comes(steps, max_of_rule, max_all, at_once):
    """Law: never more than the bounds, and no drop comes back twice, or in another order."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("MAX_OF_RULE", max_of_rule), ("MAX_ALL", max_all), ("FORGOTTEN_AT_ONCE", at_once)):
            patch.setattr(dropped_requests, name, value)
        reservoir: Reservoir[int] = Reservoir()
        left: list[tuple[int, list[str]]] = []
        for i, (rules, is_take) in enumerate(steps):
            if is_take and rules:
                expected = [number for number, its_rules in left if rules[0] in its_rules]
                found = taken(reservoir, rules[0])
                assert found == [number for number in expected if number in found]
                left = [entry for entry in left if entry[0] not in expected]
            elif rules:
                add(reservoir, rules, i)
                left.append((i, rules))
            assert len(reservoir._dropped) < max_all + at_once


def test_drops_of_an_earlier_model_are_no_row_without_a_test():
    """When a new model decides them anew, only drops that came after tests were last chosen count as untested."""
    reservoir: Reservoir[int] = Reservoir()
    for n in range(40):
        reservoir.add(["a"], n, str(n).encode(), is_new=n >= 30)
    assert {n for n, _ in reservoir.sample({"a": 0}, nothing_spoken)} <= {*range(30, 40)}
    again: Reservoir[int] = Reservoir()
    for n in range(40):
        again.add(["a"], n, str(n).encode(), is_new=False)
    assert again.sample({"a": 0}, nothing_spoken) == []
    assert [n for n, _ in again.take("a")] == [*range(40)]


def test_drops_are_looked_at_when_tests_are_chosen():
    """Those that are kept then, and no later ones."""
    reservoir: Reservoir[int] = Reservoir()
    for n in range(20):
        reservoir.add(["a"], n, str(n).encode())
    assert reservoir.looked_at() == []
    chosen = {n for n, _ in reservoir.sample({"a": 3}, nothing_spoken)}
    reservoir.add(["a"], 20, b"20")
    assert chosen
    assert {*reservoir.looked_at()} == {*range(20)} - chosen
