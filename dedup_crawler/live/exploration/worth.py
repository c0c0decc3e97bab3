"""How many tests of a rule are worth their fetches, given what earlier ones have shown and how much it has dropped.

A test costs a fetch. It lowers the error that is to be expected of the rule, and with it the pages that its drops may
have lost (:mod:`dedup_crawler.rules.posterior`). Tests go on while the next one saves more than it costs.
"""

from __future__ import annotations

from functools import lru_cache

from dedup_crawler.rules.posterior import expected_error

COST_OF_LOSS = 20.0
"""Fetches that a lost page is worth; the project says: more than ten."""
MAX_TESTS = 50
"""Tests of a rule beside those that are made in any case, at most: then it is known."""


def tests_worth(n_tested: int, n_wrong: int, n_dropped: int) -> int:
    """Further tests that are worth it, at most :data:`MAX_TESTS`.

    Parameters
    ----------
    n_tested, n_wrong
        Tests that were made, and how many of them went wrong.
    n_dropped
        Requests that the rule has dropped.

    >>> tests_worth(0, 0, 8), tests_worth(0, 0, 64), tests_worth(0, 0, 512), tests_worth(20, 0, 512)
    (5, 12, 26, 6)
    """
    return _tests_worth(n_tested, n_wrong, 1 << max(0, n_dropped - 1).bit_length())


@lru_cache(10_000)
def _tests_worth(n_tested: int, n_wrong: int, n_dropped: int) -> int:
    expected = expected_error(n_tested, n_wrong)
    for n in range(MAX_TESTS):
        after = expected_error(n_tested + n + 1, n_wrong)
        if COST_OF_LOSS * n_dropped * (expected - after) < 1:
            return n
        expected = after
    return MAX_TESTS
