"""Number of tests of a rule that are worth their fetches, given the earlier ones and the size of the rule's drops.

A test costs a fetch. It lowers the error that is to be expected of the rule, and with it the pages that its drops may
have lost (:mod:`dedup_crawler.rules.judging.belief`). Tests go on while the next one saves more than it costs.

The rules of a site were learnt together and change together: where many of them have held, less is to be expected of a
test of the next one (a hierarchical prior: A. Gelman et al., "Bayesian Data Analysis", 2013, chapter 5).
"""

from __future__ import annotations

from functools import lru_cache

from dedup_crawler.rules.judging.belief import expected_error

COST_OF_LOSS = 20.0
"""Fetches that a lost page is worth; the project says: more than ten."""
MAX_TESTS = 50
"""Most tests of a rule beside those that are made in any case: then it is known."""


def share_that_holds(n_held: int, n_failed: int) -> float:
    """Share (0-1) of a site's rules that is expected to hold, after so many have been seen to hold or to fail.

    >>> share_that_holds(0, 0), share_that_holds(8, 0)
    (0.5, 0.9)
    """
    return (1 + n_held) / (2 + n_held + n_failed)


def tests_worth(n_tested: int, n_wrong: int, n_dropped: int, share: float) -> int:
    """Further tests that are worth it, at most :data:`MAX_TESTS`.

    Parameters
    ----------
    n_tested, n_wrong
        Tests that were made, and how many of them went wrong.
    n_dropped
        Requests that the rule has dropped.
    share
        See :func:`share_that_holds`.

    >>> tests_worth(0, 0, 8, 0.5), tests_worth(0, 0, 64, 0.5), tests_worth(0, 0, 512, 0.5), tests_worth(20, 0, 512, 0.5)
    (5, 12, 26, 6)
    >>> tests_worth(0, 0, 8, 0.9), tests_worth(0, 0, 64, 0.9), tests_worth(0, 0, 512, 0.9)
    (2, 5, 12)
    """
    return _tests_worth(n_tested, n_wrong, 1 << max(0, n_dropped - 1).bit_length(), share)


@lru_cache(10_000)
def _tests_worth(n_tested: int, n_wrong: int, n_dropped: int, share: float) -> int:
    expected = expected_error(n_tested, n_wrong, share)
    for n in range(MAX_TESTS):
        after = expected_error(n_tested + n + 1, n_wrong, share)
        if COST_OF_LOSS * n_dropped * (expected - after) < 1:
            return n
        expected = after
    return MAX_TESTS
