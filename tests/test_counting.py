"""Counts in bounded memory."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.labels.counting import BoundedCounter


@given(st.lists(st.lists(st.integers(0, 40), max_size=8), max_size=40))
def test_counts_are_never_too_high(batches: list[list[int]]) -> None:
    """Held to ten keys, no count is above the true one, nor below it by more than the error."""
    counter: BoundedCounter[int] = BoundedCounter(max_keys=10)
    true: Counter[int] = Counter()
    for batch in batches:
        counter.update(batch)
        true.update(batch)

        assert len(counter) <= 10
    for key, n in true.items():
        assert n - counter.max_error <= counter[key] <= n
    assert {key for key, n in true.items() if n > counter.max_error} <= counter.at_least(1)


def test_what_is_frequent_survives_a_flood() -> None:
    """A key on every tenth of a million-key stream keeps its count within a percent, in a hundredth of the memory."""
    counter: BoundedCounter[int] = BoundedCounter(max_keys=1_000)
    for start in range(0, 100_000, 10):
        counter.update([-1, *range(start, start + 10)])

    assert counter[-1] >= 9_000
    assert counter.at_least(9_500) == {-1}
