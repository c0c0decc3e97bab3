"""The latest drops of a rule, kept to be sent later."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.live.exploration.dropped_requests import Reservoir


def taken(reservoir, rule):
    """Return the requests alone."""
    return [request for request, _ in reservoir.take(rule)]


def test_what_a_rule_dropped_comes_back_once():
    """Oldest first; drops of other rules stay."""
    reservoir: Reservoir[str] = Reservoir()
    for request in ("/1", "/2"):
        reservoir.add(["a"], request)
    reservoir.add(["b"], "/3")
    assert taken(reservoir, "a") == ["/1", "/2"]
    assert taken(reservoir, "a") == []
    assert taken(reservoir, "b") == ["/3"]
    assert len(reservoir) == 0


def test_a_shared_drop_is_found_through_each_of_its_rules():
    """It is found through each rule, but returned once."""
    reservoir: Reservoir[str] = Reservoir()
    reservoir.add(["a", "b"], "/1")
    reservoir.add(["b"], "/2")
    assert taken(reservoir, "b") == ["/1", "/2"]
    assert taken(reservoir, "a") == []


def test_a_drop_without_a_rule_is_not_kept():
    """A drop without rules is never needed."""
    reservoir: Reservoir[str] = Reservoir()
    reservoir.add([], "/1")
    assert (len(reservoir), reservoir.n_forgotten) == (0, 0)


def test_a_rule_keeps_its_latest():
    """Forgotten drops are counted, because they cannot be sent."""
    reservoir: Reservoir[int] = Reservoir(max_of_rule=3)
    for i in range(5):
        reservoir.add(["a"], i)
    assert taken(reservoir, "a") == [2, 3, 4]
    assert reservoir.n_forgotten == 2


def test_when_all_is_full_the_fullest_rule_gives():
    """A rule with very many drops does not displace the few drops of another."""
    reservoir: Reservoir[int] = Reservoir(max_of_rule=100, max_all=100)
    for i in range(3):
        reservoir.add(["rare"], i)
    for i in range(300):
        reservoir.add(["busy"], i)
    assert taken(reservoir, "rare") == [0, 1, 2]
    assert taken(reservoir, "busy")[-1] == 299


def test_a_sample_is_taken_at_even_distances_and_once():
    """Each request comes back once, with its rules; one in ten of a hundred and ten, the last one included."""
    reservoir: Reservoir[int] = Reservoir()
    for i in range(100):
        reservoir.add(["a", "b"] if i % 2 else ["b"], i)
    first = reservoir.sample({"b": 10})
    assert [request for request, _ in first] == [*range(9, 100, 10)]
    assert all(("a" in rules) == bool(request % 2) for request, rules in first)
    rest = [reservoir.sample({"b": 40}) for _ in range(4)]
    assert [len(each) for each in rest] == [40, 40, 10, 0]
    assert sorted(request for each in [first, *rest] for request, _ in each) == [*range(100)]
    assert len(reservoir) == 0


def test_no_long_row_of_drops_stays_untested():
    """
    Of forty drops of a rule eight in a row may stay without a test. It was tested after thirty of them: four of
    those come back, evenly spaced, and the middle one and the last of the ten since then. A rule whose few drops
    were tested in time returns nothing. A returned drop counts as a test, so it is not returned twice.
    """
    reservoir: Reservoir[int] = Reservoir()
    for i in range(40):
        reservoir.add(["a"], i)
        if i == 29:
            reservoir.tested(["a"])
    for i in range(100, 108):
        reservoir.add(["b"], i)
        if i == 103:
            reservoir.tested(["b"])
    given = [request for request, _ in reservoir.sample({"a": 0, "b": 0})]
    assert given == [6, 14, 21, 29, 34, 39]
    assert reservoir.sample({"a": 0, "b": 0}) == []
    for i in range(40, 52):
        reservoir.add(["a"], i)
    assert [request for request, _ in reservoir.sample({"a": 0})] == [45, 51]


def test_all_are_taken_at_once():
    """With a new model, all drops of the old one come back."""
    reservoir: Reservoir[int] = Reservoir()
    for i in range(10):
        reservoir.add(["a", "b"] if i % 2 else ["b"], i)
    assert sorted(request for request, _ in reservoir.take_all()) == [*range(10)]
    assert len(reservoir) == 0
    assert reservoir.take("b") == []


@given(
    st.lists(st.tuples(st.lists(st.sampled_from("abcd"), max_size=3), st.booleans()), max_size=200),
    st.integers(1, 8),
    st.integers(1, 12),
)
def test_bounds_and_counts_hold_whatever_comes(steps, max_of_rule, max_all):
    """Law: never more than the bounds; every request that was added is kept, taken or counted as forgotten."""
    reservoir: Reservoir[int] = Reservoir(max_of_rule, max_all)
    n_added = n_taken = 0
    for i, (rules, is_take) in enumerate(steps):
        if is_take and rules:
            n_taken += len(reservoir.take(rules[0]))
        else:
            reservoir.add(rules, i)
            n_added += bool(rules)
        assert len(reservoir) <= max_all
        assert len(reservoir) + n_taken + reservoir.n_forgotten == n_added
