"""When a rule is believed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.rules.belief import RISKS, Belief
from dedup_crawler.rules.judge import Evidence
from dedup_crawler.rules.posterior import expected_error


def evidence(n_groups, n_wrong=0, n_late=20, n_late_wrong=0):
    return Evidence.of_groups(n_groups, n_wrong, n_late, n_late_wrong)


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


def test_a_rule_has_to_be_confirmed_late():
    """By two late groups at least, and without many contradictions among them."""
    assert not belief().holds(evidence(1000, n_late=1))
    assert belief().holds(evidence(1000, n_late=2))
    assert not belief().holds(evidence(1000, n_wrong=3, n_late=20, n_late_wrong=3))
    assert belief().holds(evidence(1000, n_wrong=2, n_late=20, n_late_wrong=2))


def test_what_is_no_longer_met_needs_no_late_group():
    """A breadth-first crawl moves on: a kind of URL that does not come late cannot be confirmed late."""
    assert belief().holds(replace(evidence(89, n_late=0), is_met_late=False))
    assert not belief().holds(evidence(89, n_late=0))


@given(st.integers(0, 400), st.integers(0, 50))
def test_what_a_careful_profile_believes_a_less_careful_one_believes_too(n_groups, n_wrong):
    """Whatever the counts; and it stays within what the profile allows."""
    counted = evidence(n_groups, min(n_wrong, n_groups), n_late_wrong=0)
    believed = [belief(risk).holds(counted) for risk in ("safe", "balanced", "eager")]

    assert believed == sorted(believed)
    for risk, is_believed in zip(("safe", "balanced", "eager"), believed, strict=True):
        if is_believed:
            assert error_of(counted) <= RISKS[risk].max_error
