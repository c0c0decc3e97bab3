"""How many pages all rules together may lose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.rules.budget import expected_lost, within_budget
from dedup_crawler.rules.judge import MergeEvidence
from dedup_crawler.rules.statistics import RuleStatistics

counted = st.builds(
    lambda urls, groups, wrong: RuleStatistics(urls, urls, 0, MergeEvidence(groups, min(groups, wrong))),
    st.integers(1, 1000),
    st.integers(1, 500),
    st.integers(0, 50),
)


def test_a_rule_that_was_never_wrong_may_lose_half_a_page():
    """However often it was right; one that was wrong in three groups of a thousand may lose more."""
    assert expected_lost(RuleStatistics(evidence=MergeEvidence(400, 0))) == pytest.approx(0.5, abs=0.01)
    assert expected_lost(RuleStatistics(evidence=MergeEvidence(1000, 3))) == pytest.approx(3.5, abs=0.01)


def test_the_best_rules_are_kept():
    """Those that save most for what they may lose, in the order in which they came."""
    small, wrong, large = (
        RuleStatistics(urls, urls, 0, MergeEvidence(100, wrong)) for urls, wrong in ((30, 0), (900, 9), (800, 0))
    )

    assert within_budget([small, wrong, large], 20.0) == [small, wrong, large]
    assert within_budget([small, wrong, large], 1.0) == [large]
    assert within_budget([small, wrong], 0.1) == [wrong]


@given(st.lists(counted, max_size=8), st.floats(0, 20))
def test_the_budget_is_kept(rules, budget):
    """But for the first rule; a larger budget never drops what a smaller one keeps."""
    kept = within_budget(rules, budget)

    assert len(kept) <= 1 or sum(map(expected_lost, kept)) <= budget
    assert bool(kept) == bool(rules)
    assert len(within_budget(rules, budget + 1)) >= len(kept)
