"""How many pages all rules together may lose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.rules.judging.budget import expected_lost, within_budget
from dedup_crawler.rules.judging.judge import MergeEvidence
from dedup_crawler.rules.language.statistics import RuleStatistics

counted = st.builds(
    lambda urls, groups, wrong: RuleStatistics(urls, urls, wrong, MergeEvidence(groups, min(groups, wrong))),
    st.integers(1, 1000),
    st.integers(1, 500),
    st.integers(0, 50),
)


def test_what_a_rule_may_lose():
    """Up to a page, however often it was right; more if it was wrong, unless nothing was lost by that."""
    right = [expected_lost(RuleStatistics(evidence=MergeEvidence(n, 0))) for n in (8, 400, 100_000)]

    assert right == sorted(right)
    assert right == pytest.approx([0.1, 0.5, 1.0], abs=0.01)
    assert expected_lost(RuleStatistics(1000, 1000, 3, MergeEvidence(1000, 3))) == pytest.approx(2.86, abs=0.01)
    assert expected_lost(RuleStatistics(1000, 1000, 0, MergeEvidence(1000, 3))) < 1


def test_the_best_rules_are_kept():
    """Those that save most for what they may lose, in the order in which they came."""
    small, wrong, large = (
        RuleStatistics(urls, urls, wrong, MergeEvidence(100, wrong)) for urls, wrong in ((30, 0), (900, 9), (800, 0))
    )

    assert within_budget([small, wrong, large], 20.0) == [small, wrong, large]
    assert within_budget([small, wrong, large], 0.3) == [large]
    assert within_budget([small, wrong], 0.1) == [small]


@given(st.lists(counted, max_size=8), st.floats(0, 20))
def test_the_budget_is_kept(rules, budget):
    """But for the first rule; a larger budget never drops what a smaller one keeps."""
    kept = within_budget(rules, budget)

    assert len(kept) <= 1 or sum(map(expected_lost, kept)) <= budget
    assert bool(kept) == bool(rules)
    assert len(within_budget(rules, budget + 1)) >= len(kept)
