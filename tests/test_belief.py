"""When a rule is believed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.rules.judging.belief import RISKS, Belief
from dedup_crawler.rules.judging.judge import Evidence
from dedup_crawler.rules.judging.posterior import expected_error


def evidence(n_groups, n_wrong=0):
    return Evidence.of_groups(n_groups, n_wrong)


def belief(risk="balanced"):
    return Belief(RISKS[risk])


def error_of(counted):
    return expected_error(counted.weight, counted.wrong_weight)


@pytest.mark.parametrize(("risk", "least"), [("eager", 8), ("balanced", 8), ("safe", 15)])
def test_how_many_groups_a_first_rule_needs(risk, least):
    """None of them wrong, on a site of which nothing else is known."""
    assert not belief(risk).holds(evidence(least - 1))
    assert belief(risk).holds(evidence(least))


def test_groups_of_many_values_weigh_more():
    """Four groups of twenty-five URLs say more than four of two, and less than fifty groups would."""
    few = evidence(4)
    many_values = replace(few, weight=4 * 5.0)

    assert not belief().holds(few)
    assert belief().holds(many_values)
    assert error_of(evidence(50)) < error_of(many_values)


@given(st.integers(0, 400), st.integers(0, 50))
def test_what_a_careful_profile_believes_a_less_careful_one_believes_too(n_groups, n_wrong):
    """Whatever the counts; and it stays within what the profile allows."""
    counted = evidence(n_groups, min(n_wrong, n_groups))
    believed = [belief(risk).holds(counted) for risk in ("safe", "balanced", "eager")]

    assert believed == sorted(believed)
    for risk, is_believed in zip(("safe", "balanced", "eager"), believed, strict=True):
        if is_believed:
            assert error_of(counted) <= RISKS[risk].max_error
