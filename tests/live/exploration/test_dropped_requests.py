"""Dropped requests, kept to be sent later: by rule, and by form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.live.exploration import dropped_requests
from dedup_crawler.live.exploration.dropped_requests import FORGOTTEN_AT_ONCE, MAX_ALL, DroppedRequest, DroppedRequests


def add(drops, rules, request, form=None):
    """Keep a request, as the only drop of its form if none is given; the request is its own URL."""
    drops.add(DroppedRequest(request, request, form or str(request).encode(), tuple(rules)))


def nothing_spoken(rule, form):
    """No form has a verdict yet."""
    return False


def taken(drops, rule):
    """Remove and return the requests of a rule."""
    return requests_of(drops.take(rule))


def requests_of(drops):
    return [drop.request for drop in drops]


def test_what_a_rule_dropped_comes_back_once():
    """Oldest first; drops of other rules stay."""
    drops = DroppedRequests()
    for request in ("/1", "/2"):
        add(drops, ["a"], request)
    add(drops, ["b"], "/3")
    assert taken(drops, "a") == ["/1", "/2"]
    assert taken(drops, "a") == []
    assert taken(drops, "b") == ["/3"]
    assert len(drops._dropped) == 0


def test_a_shared_drop_is_found_through_each_of_its_rules():
    """It is found through each rule, but returned once."""
    drops = DroppedRequests()
    add(drops, ["a", "b"], "/1")
    add(drops, ["b"], "/2")
    assert taken(drops, "b") == ["/1", "/2"]
    assert taken(drops, "a") == []


def test_all_drops_are_kept_up_to_a_number():
    """The oldest are forgotten, some at once; also those of a single rule, and those without a rule."""
    for rules in (["a"], []):
        drops = DroppedRequests()
        for i in range(2 * MAX_ALL):
            add(drops, rules, i)
        kept = requests_of(drops.take_all())
        assert MAX_ALL <= len(kept) < MAX_ALL + FORGOTTEN_AT_ONCE
        assert kept == [*range(2 * MAX_ALL - len(kept), 2 * MAX_ALL)]


def test_the_drops_of_a_form_come_back_oldest_first():
    """All requests of a form come back, or one that is asked for; they are drops of their rule no more."""
    drops = DroppedRequests()
    for n in range(5):
        add(drops, ["r"] if n else [], n, b"a")
    assert drops.has(b"a")
    assert drops.has(b"a", 3)
    assert drops.take_of(b"a", 3).request == 3
    assert drops.take_of(b"a", 3) is None
    assert not drops.has(b"a", 3)
    assert taken(drops, "r") == [1, 2, 4]
    assert drops.take_of(b"a").request == 0
    assert drops.take_of(b"a") is drops.take_of(b"b") is None
    assert not drops.has(b"a")


def test_when_all_is_full_the_fullest_rule_gives(monkeypatch):
    """A rule with very many drops does not displace the few drops of another."""
    monkeypatch.setattr(dropped_requests, "MAX_ALL", 100)
    drops = DroppedRequests()
    for i in range(-3, 0):
        add(drops, ["rare"], i)
    for i in range(3000):
        add(drops, ["busy"], i)
    assert taken(drops, "rare") == [-3, -2, -1]
    assert taken(drops, "busy")[-1] == 2999


def test_a_sample_is_taken_at_even_distances_and_once():
    """Each request comes back once, with its rules; one in ten of a hundred and ten, the last one included."""
    drops = DroppedRequests()
    for i in range(100):
        add(drops, ["a", "b"] if i % 2 else ["b"], i)
    first = drops.sample({"b": 10}, nothing_spoken)
    assert requests_of(first) == [*range(9, 100, 10)]
    assert all(("a" in drop.rules) == bool(drop.request % 2) for drop in first)
    rest = [drops.sample({"b": 40}, nothing_spoken) for _ in range(4)]
    assert [len(each) for each in rest] == [40, 40, 10, 0]
    assert sorted(drop.request for each in [first, *rest] for drop in each) == [*range(100)]
    assert len(drops._dropped) == 0


def test_forms_without_a_verdict_are_tested_first():
    """
    A rule dropped three URLs of each of ten pages, in three rows. Five pages have a verdict. The six tests begin with
    one of each other page; some more break up the long rows.
    """
    drops = DroppedRequests()
    for way in range(3):
        for page in range(10):
            add(drops, ["a"], (page, way), str(page).encode())
    tested = [page for page, _ in requests_of(drops.sample({"a": 6}, lambda rule, form: form >= b"5"))]
    assert {0, 1, 2, 3, 4} <= {*tested}
    assert 6 <= len(tested) <= 9


def test_no_long_row_of_drops_stays_untested():
    """
    Of forty drops of a rule eight in a row may stay without a test. It was tested after thirty of them: four of
    those come back, evenly spaced, and the middle one and the last of the ten since then. A rule whose few drops
    were tested in time returns nothing. A returned drop counts as a test, so it is not returned twice.
    """
    drops = DroppedRequests()
    for i in range(40):
        add(drops, ["a"], i)
        if i == 29:
            drops.tested(["a"])
    for i in range(100, 108):
        add(drops, ["b"], i)
        if i == 103:
            drops.tested(["b"])
    given = requests_of(drops.sample({"a": 0, "b": 0}, nothing_spoken))
    assert given == [6, 14, 21, 29, 34, 39]
    assert drops.sample({"a": 0, "b": 0}, nothing_spoken) == []
    for i in range(40, 52):
        add(drops, ["a"], i)
    assert requests_of(drops.sample({"a": 0}, nothing_spoken)) == [45, 51]


def test_a_rule_that_needs_no_test_is_not_looked_at():
    """A crawl asks each time it runs dry: a thousand drops are looked at once, and again when a long row has come."""
    looked: list[bytes] = []

    def has_spoken(rule, form):
        looked.append(form)
        return False

    drops = DroppedRequests()
    for i in range(1_000):
        add(drops, ["a"], i)
    assert len(drops.sample({"a": 0}, has_spoken)) == 5  # a fifth of all may stay untested
    assert len(looked) == 1_000
    for i in range(1_000, 1_030):
        add(drops, ["a"], i)
    assert drops.sample({"a": 0}, has_spoken) == []
    assert len(looked) == 1_000
    for i in range(1_030, 1_060):
        add(drops, ["a"], i)
    assert requests_of(drops.sample({"a": 0}, has_spoken)) == [1_059]  # of 1,060, 32 of the latest may stay untested


def test_all_are_taken_at_once():
    """With a new model, all drops of the old one come back."""
    drops = DroppedRequests()
    for i in range(10):
        add(drops, ["a", "b"] if i % 2 else ["b"], i)
    assert sorted(requests_of(drops.take_all())) == [*range(10)]
    assert len(drops._dropped) == 0
    assert drops.take("b") == []


@given(
    st.lists(st.tuples(st.lists(st.sampled_from("abcd"), unique=True, max_size=3), st.booleans()), max_size=200),
    st.integers(1, 12),
    st.integers(1, 4),
)
def test_bounds_hold_whatever_comes(steps, max_all, at_once):
    """Law: never more than the bounds, and no drop comes back twice, or in another order."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("MAX_ALL", max_all), ("FORGOTTEN_AT_ONCE", at_once)):
            patch.setattr(dropped_requests, name, value)
        drops = DroppedRequests()
        left: list[tuple[int, list[str]]] = []
        for i, (rules, is_take) in enumerate(steps):
            if is_take and rules:
                expected = [number for number, its_rules in left if rules[0] in its_rules]
                found = taken(drops, rules[0])
                assert found == [number for number in expected if number in found]
                left = [entry for entry in left if entry[0] not in expected]
            else:
                add(drops, rules, i)
                left.append((i, rules))
            assert len(drops._dropped) < max_all + at_once
            assert sum(map(len, drops._of_form.values())) == len(drops._dropped)


def test_drops_of_an_earlier_model_are_no_row_without_a_test():
    """
    When a new model decides them anew, only drops that came after tests were last chosen count as untested; so do all
    drops of a rule that was switched off.
    """
    drops = DroppedRequests()
    for n in range(40):
        add(drops, ["a"], n)
        if n == 29:
            chosen = {*requests_of(drops.sample({"a": 3}, nothing_spoken))}
    again = requests_of(drops.take_all())
    assert again == [n for n in range(40) if n not in chosen]
    for n in again:
        add(drops, ["b"], n)
    assert {*requests_of(drops.sample({"b": 0}, nothing_spoken))} <= {*range(30, 40)}
    for n in requests_of(drops.take_all()):
        add(drops, ["c"], n)
    assert drops.sample({"c": 0}, nothing_spoken) == []
    for n in taken(drops, "c"):
        add(drops, ["d"], n)
    assert drops.sample({"d": 0}, nothing_spoken) != []
