"""Belief in rules: the expected error of a rule, and the expected losses of all rules."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from dedup_crawler.rules.language.statistics import MergeEvidence, RuleStatistics
from dedup_crawler.rules.learning.belief import (
    OTHER,
    RIGHT,
    RISKS,
    SHARE,
    Belief,
    Evidence,
    expected_error,
    expected_lost,
    within_budget,
)


def evidence(n_groups, n_wrong=0):
    return Evidence.of(MergeEvidence(n_groups, n_wrong))


def belief(risk="balanced"):
    return Belief(RISKS[risk])


def error_of(counted):
    return expected_error(counted.weight, counted.wrong_weight)


@pytest.mark.parametrize(("risk", "least"), [("eager", 8), ("balanced", 8), ("safe", 15)])
def test_how_many_groups_a_first_rule_needs(risk, least):
    """With no wrong group, on a site without other evidence."""
    assert belief(risk).why_not(evidence(least - 1))
    assert not belief(risk).why_not(evidence(least))


def test_groups_of_many_values_weigh_more():
    """Four groups of 25 URLs weigh more than four groups of two, and less than fifty groups."""
    few = evidence(4)
    many_values = replace(few, weight=4 * 5.0)

    assert belief().why_not(few)
    assert not belief().why_not(many_values)
    assert error_of(evidence(50)) < error_of(many_values)


@given(st.integers(0, 400), st.integers(0, 50))
def test_what_a_careful_profile_believes_a_less_careful_one_believes_too(n_groups, n_wrong):
    """For any counts; and the error stays within the profile's limit."""
    counted = evidence(n_groups, min(n_wrong, n_groups))
    believed = [not belief(risk).why_not(counted) for risk in ("safe", "balanced", "eager")]

    assert believed == sorted(believed)
    for risk, is_believed in zip(("safe", "balanced", "eager"), believed, strict=True):
        if is_believed:
            assert error_of(counted) <= RISKS[risk].max_error


@settings(max_examples=30)
@given(st.integers(0, 2000), st.integers(0, 60))
def test_the_mean_is_that_of_the_mixture(n, n_wrong):
    """It equals the sum over the error rate, with scipy's two beta distributions."""
    n_wrong = min(n, n_wrong)
    rates = (np.arange(20_000) + 0.5) / 20_000
    prior = SHARE * beta.pdf(rates, *RIGHT) + (1 - SHARE) * beta.pdf(rates, *OTHER)
    log_likelihood = n_wrong * np.log(rates) + (n - n_wrong) * np.log1p(-rates)
    weight = prior * np.exp(log_likelihood - log_likelihood.max())
    expected = (weight * rates).sum() / weight.sum()

    assert expected_error(n, n_wrong) == pytest.approx(expected, rel=0.02, abs=2e-5)


@given(st.floats(0, 1000), st.floats(0, 1000))
def test_more_right_groups_never_make_it_worse(n, more):
    """More wrong groups never make it better."""
    assert expected_error(n + more, 0) <= expected_error(n, 0) + 1e-12
    assert expected_error(n + more, more) >= expected_error(n + more, 0) - 1e-12


def test_extreme_counts_are_no_error():
    """A site with a hypothesis of very many groups."""
    assert expected_error(1e7, 0) < 1e-6
    assert expected_error(1e7, 1e7) > 0.99


counted = st.builds(
    lambda urls, groups, wrong: RuleStatistics(urls, urls, wrong, MergeEvidence(groups, min(groups, wrong))),
    st.integers(1, 1000),
    st.integers(1, 500),
    st.integers(0, 50),
)


def test_what_a_rule_may_lose():
    """Up to one page if it was always right; more if it was wrong, unless nothing was lost by that."""
    right = [expected_lost(RuleStatistics(evidence=MergeEvidence(n, 0))) for n in (8, 400, 100_000)]

    assert right == sorted(right)
    assert right == pytest.approx([0.1, 0.5, 1.0], abs=0.01)
    assert expected_lost(RuleStatistics(1000, 1000, 3, MergeEvidence(1000, 3))) == pytest.approx(2.86, abs=0.01)
    assert expected_lost(RuleStatistics(1000, 1000, 0, MergeEvidence(1000, 3))) < 1


def test_the_best_rules_are_kept():
    """Rules that save most for their expected losses stay, in their original order."""
    small, wrong, large = (
        RuleStatistics(urls, urls, wrong, MergeEvidence(100, wrong)) for urls, wrong in ((30, 0), (900, 9), (800, 0))
    )

    assert within_budget([small, wrong, large], 20.0) == [small, wrong, large]
    assert within_budget([small, wrong, large], 0.3) == [large]
    assert within_budget([small, wrong], 0.1) == [small]


@given(st.lists(counted, max_size=8), st.floats(0, 20))
def test_the_budget_is_kept(rules, budget):
    """Except for the first rule; a larger budget keeps all that a smaller one keeps."""
    kept = within_budget(rules, budget)

    assert len(kept) <= 1 or sum(map(expected_lost, kept)) <= budget
    assert bool(kept) == bool(rules)
    assert len(within_budget(rules, budget + 1)) >= len(kept)
