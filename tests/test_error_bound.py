"""Jeffreys' bound without scipy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup_crawler.rules.judging.error_bound import jeffreys_bound
from dedup_crawler.rules.judging.judge import MergeEvidence


@given(n_groups=st.integers(0, 10**6), share=st.floats(0, 1), confidence=st.sampled_from([0.5, 0.95, 0.99]))
def test_it_is_the_bound_that_judges(n_groups, share, confidence):
    """To nine digits, whatever was counted."""
    n_wrong = round(share * n_groups)

    expected = MergeEvidence(n_groups, n_wrong).error_bound(confidence)
    assert jeffreys_bound(n_groups, n_wrong, confidence) == pytest.approx(expected, abs=1e-9)
