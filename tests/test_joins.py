"""Sets that grow together, and the way from one member to another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.labels.joins import Clustering, DisjointSets


def test_disjoint_sets() -> None:
    """Joined items share the smallest of them; sets are numbered by first appearance."""
    sets = DisjointSets(5)

    assert sets.join(4, 2)
    assert sets.join(3, 4)
    assert not sets.join(2, 3)
    assert [sets.find(item) for item in range(5)] == [0, 1, 2, 2, 2]
    assert sets.numbers() == [0, 1, 2, 2, 2]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=15))
def test_joins_connect_what_is_together(pairs: list[tuple[int, int]]) -> None:
    """Two items are in one set if and only if the kept joins lead from one to the other, step by step."""
    clustering = Clustering(10)
    for left, right in pairs:
        clustering.join(left, right, f"{left}-{right}")
    numbers = clustering.numbers()

    for left in range(10):
        for right in range(10):
            way = clustering.explain(left, right)
            assert bool(way) == (left != right and numbers[left] == numbers[right])
            reached = left
            for join in way:
                assert reached in (join.left, join.right)
                reached = join.left + join.right - reached
            assert not way or reached == right
