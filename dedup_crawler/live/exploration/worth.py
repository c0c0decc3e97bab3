"""Number of further tests of a rule that are worth their fetches, given earlier tests and the number of its drops.

A test costs a fetch. It lowers the expected error of the rule, and so the expected number of pages lost by its drops
(:mod:`dedup_crawler.rules.learning.belief`). Tests go on while the next one saves more than it costs.

The rules of a site were learnt together and change together. If many of them have held, a test of the next one is worth
less (a hierarchical prior: A. Gelman et al., "Bayesian Data Analysis", 2013, chapter 5).
"""

from __future__ import annotations

from functools import lru_cache

from dedup_crawler.rules.learning.belief import expected_error

COST_OF_LOSS = 20.0
"""Number of fetches that one lost page costs; the project demands more than ten."""
MAX_TESTS = 50
"""Maximum of further tests of a rule, besides those that every rule needs."""


def share_that_holds(n_held: int, n_failed: int) -> float:
    """Return the expected share (0-1) of a site's rules that hold, after *n_held* have held and *n_failed* have failed.

    >>> share_that_holds(0, 0), share_that_holds(8, 0)
    (0.5, 0.9)
    """
    return (1 + n_held) / (2 + n_held + n_failed)


def tests_worth(n_tested: int, n_wrong: int, n_dropped: int, share: float) -> int:
    """Return the number of further tests that are worth it, at most :data:`MAX_TESTS`.

    Parameters
    ----------
    n_tested, n_wrong
        Earlier tests, and how many of them went wrong.
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
