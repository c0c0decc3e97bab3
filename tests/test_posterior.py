"""How much error is to be expected of a rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from dedup_crawler.rules.posterior import OTHER, RIGHT, Prior


@settings(max_examples=30)
@given(st.integers(0, 2000), st.integers(0, 60), st.floats(0.01, 0.99))
def test_the_mean_is_that_of_the_mixture(n, n_wrong, share):
    """The same as by summing over the error rate, with the two beta distributions that scipy has."""
    n_wrong = min(n, n_wrong)
    rates = (np.arange(20_000) + 0.5) / 20_000
    prior = share * beta.pdf(rates, *RIGHT) + (1 - share) * beta.pdf(rates, *OTHER)
    log_likelihood = n_wrong * np.log(rates) + (n - n_wrong) * np.log1p(-rates)
    weight = prior * np.exp(log_likelihood - log_likelihood.max())
    expected = (weight * rates).sum() / weight.sum()

    assert Prior(share).expected_error(n, n_wrong) == pytest.approx(expected, rel=0.02, abs=2e-5)


@given(st.floats(0, 1000), st.floats(0, 1000), st.floats(0.01, 0.99))
def test_more_right_groups_never_make_it_worse(n, more, share):
    """And more wrong ones never make it better."""
    prior = Prior(share)

    assert prior.expected_error(n + more, 0) <= prior.expected_error(n, 0) + 1e-12
    assert prior.expected_error(n + more, more) >= prior.expected_error(n + more, 0) - 1e-12


def test_the_share_of_what_holds_is_fitted():
    """To the hypotheses of the site, the more there are of them; with none it is the default."""
    held, failed = [(30.0, 0.0)], [(30.0, 20.0)]

    assert Prior.fit([]).share == pytest.approx(0.5)
    assert Prior.fit(held * 500 + failed * 500).share == pytest.approx(0.5, abs=0.02)
    assert Prior.fit(held * 50 + failed * 950).share == pytest.approx(0.04, abs=0.02)
    assert Prior.fit(failed).share > Prior.fit(failed * 100).share


def test_extreme_counts_are_no_error():
    """A site with a hypothesis of very many groups."""
    assert Prior().expected_error(1e7, 0) < 1e-6
    assert Prior().expected_error(1e7, 1e7) > 0.99
    assert Prior.fit([(1e7, 0.0), (1e7, 1e7)]).share == pytest.approx(0.5, abs=0.05)
