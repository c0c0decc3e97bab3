"""Counts of the URLs that a rule merges, and bounds of a share: equal to scipy's, and to printed tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv

from dedup_crawler.rules.language.statistics import NO_STATISTICS, count_merges, jeffreys_bound, share_interval, tail

members = st.lists(st.tuples(st.sampled_from("xyz"), st.integers(0, 2)), max_size=8)


@given(members, members)
def test_groups_give_what_pairs_would(changed, others):
    """Support and false pairs of WWW'10, counted pair by pair over the groups that the rule changed."""
    touched = {form for form, _ in changed}
    pairs = [
        one[1] != two[1] for one, two in combinations([*changed, *others], 2) if one[0] == two[0] and one[0] in touched
    ]

    counted = count_merges([form for form, _ in changed], [page for _, page in changed], others)

    assert (counted.n_urls, counted.n_support_pairs, counted.n_false_pairs) == (len(changed), len(pairs), sum(pairs))


def test_a_cluster_of_300_000_urls_is_counted_in_one_go():
    """Tens of billions of pairs, and one merge group."""
    counted = count_merges(["x"] * 300_000, [1] * 300_000, [])

    assert counted.n_support_pairs == 300_000 * 299_999 // 2
    assert (counted.evidence.n_groups, counted.false_positive_rate) == (1, 0.0)


def test_without_support_nothing_speaks_for_a_rule():
    """A rule that merges nothing has no error rate."""
    assert NO_STATISTICS.false_positive_rate == 1.0


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([0, 0.001, 0.02, 0.1, 0.5, 0.9, 0.999, 1]))
def test_tails_are_exact(n_hits, n, share):
    """Against the exact sum in fractions: at least 0 is certain, more than n is impossible."""
    p = Fraction(share)
    exact = sum((comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n_hits, n + 1)), Fraction(0))
    assert tail(n_hits, n, share) == pytest.approx(float(exact), rel=1e-9, abs=1e-15)


def test_tails_of_a_long_life_are_quick_and_finite():
    """A hundred million trials neither overflow nor take a step each."""
    assert 0 < tail(2_010_000, 100_000_000, 0.02) < 1e-10


@pytest.mark.parametrize(
    ("n_hits", "n", "low", "high"),
    [(0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (5, 10, 0.1871, 0.8129), (0, 0, 0.0, 1.0), (1, 100, 0.00025, 0.0545)],
)
def test_intervals_are_those_of_clopper_and_pearson(n_hits, n, low, high):
    """Values of the usual tables (0 of 10: 30.85 %)."""
    assert share_interval(n_hits, n) == pytest.approx((low, high), abs=1e-4)


@given(st.integers(0, 300), st.integers(0, 300))
def test_intervals_hold_the_share_that_was_seen(n_hits, n_others):
    """Law: low <= seen <= high, all in 0-1."""
    n = n_hits + n_others
    low, high = share_interval(n_hits, n)
    assert 0 <= low <= (n_hits / n if n else 0) + 1e-9
    assert (n_hits / n if n else 1) - 1e-9 <= high <= 1


@given(n_groups=st.integers(0, 10**6), share=st.floats(0, 1))
def test_jeffreys_bound_is_that_of_scipy(n_groups, share):
    """To nine digits, for any counts."""
    n_wrong = round(share * n_groups)
    expected = betaincinv(n_wrong + 0.5, n_groups - n_wrong + 0.5, 0.95) if n_groups else 1.0

    assert jeffreys_bound(n_groups, n_wrong) == pytest.approx(expected, abs=1e-9)
