"""How much error is to be expected of a rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from dedup_crawler.rules.judging.posterior import OTHER, RIGHT, SHARE, expected_error


@settings(max_examples=30)
@given(st.integers(0, 2000), st.integers(0, 60))
def test_the_mean_is_that_of_the_mixture(n, n_wrong):
    """The same as by summing over the error rate, with the two beta distributions that scipy has."""
    n_wrong = min(n, n_wrong)
    rates = (np.arange(20_000) + 0.5) / 20_000
    prior = SHARE * beta.pdf(rates, *RIGHT) + (1 - SHARE) * beta.pdf(rates, *OTHER)
    log_likelihood = n_wrong * np.log(rates) + (n - n_wrong) * np.log1p(-rates)
    weight = prior * np.exp(log_likelihood - log_likelihood.max())
    expected = (weight * rates).sum() / weight.sum()

    assert expected_error(n, n_wrong) == pytest.approx(expected, rel=0.02, abs=2e-5)


@given(st.floats(0, 1000), st.floats(0, 1000))
def test_more_right_groups_never_make_it_worse(n, more):
    """And more wrong ones never make it better."""
    assert expected_error(n + more, 0) <= expected_error(n, 0) + 1e-12
    assert expected_error(n + more, more) >= expected_error(n + more, 0) - 1e-12


def test_extreme_counts_are_no_error():
    """A site with a hypothesis of very many groups."""
    assert expected_error(1e7, 0) < 1e-6
    assert expected_error(1e7, 1e7) > 0.99
