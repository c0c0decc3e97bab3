"""The estimate of lost pages from explored drops."""

from __future__ import annotations

import random

from dedup_crawler.methods.model.evidence_file import lost_pages


def test_nothing_explored_means_that_nothing_is_known():
    """There is no estimate, and the interval reaches from nothing to everything."""
    assert lost_pages(1000, 0, 0) == (None, 0.0, 1000.0)


def test_drops_that_nothing_speaks_about_may_all_be_lost():
    """They widen the interval, whatever the tests of other rules."""
    tested, both = lost_pages(1000, 100, 0), lost_pages(1000, 100, 0, 50)
    assert both == (tested.estimate, tested.low, tested.high + 50)


def test_all_agreed():
    """No disagreement in 100 leaves up to 3.6 % open (1 - 0.025 ** (1 / 100))."""
    estimate, low, high = lost_pages(1000, 100, 0)
    assert (estimate, low) == (0.0, 0.0)
    assert 36.1 < high < 36.3


def test_the_interval_holds_the_truth_as_often_as_it_says():
    """1,000 crawls that lose 3 % of their drops: in at least 95 % of them the truth lies within."""
    draw = random.Random(5)
    n_held = 0
    for _ in range(1000):
        n_wrong = sum(draw.random() < 0.03 for _ in range(200))
        _, low, high = lost_pages(10_000, 200 - n_wrong, n_wrong)
        n_held += low <= 300 <= high
    assert n_held >= 950


def test_nothing_dropped_is_nothing_lost():
    """For any counts."""
    assert lost_pages(0, 3, 4) == (0.0, 0.0, 0.0)
