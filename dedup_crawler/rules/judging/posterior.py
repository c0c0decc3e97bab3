"""Expected error of a rule, by its own evidence and by what hypotheses about sites are like.

The error rates of the hypotheses about a site fall into two heaps: what does not matter never matters (rates near 0),
and what does matter is wrong nearly everywhere else (any rate). So the prior is a mixture of two beta distributions
(A. Gelman et al., "Bayesian Data Analysis", 2013, section 2.4 for one, 22.1 for mixtures). It takes the place of a
correction for the number of hypotheses tried.
"""

from __future__ import annotations

import math

RIGHT = (1.0, 400.0)
"""Beta distribution of the error rates of rules that hold: 0.25 % in the mean."""
OTHER = (1.0, 1.0)
"""Of all others: uniform."""
SHARE = 0.5
"""Share (0-1) of the hypotheses that hold; fitting it to each site saved less."""


def expected_error(n_groups: float, n_wrong: float, share: float = SHARE) -> float:
    """Mean (0-1) of the posterior of a rule's error rate; groups may weigh more or less than one.

    *share* (0-1) of the rules hold, as far as is known before any of these groups was seen.

    >>> round(expected_error(8, 0), 4), round(expected_error(60, 1), 4)
    (0.0124, 0.0079)
    """
    odds = math.exp(min(700.0, _log_odds(n_groups, n_wrong)))
    held = share * odds / (share * odds + 1 - share)
    return held * _mean(RIGHT, n_groups, n_wrong) + (1 - held) * _mean(OTHER, n_groups, n_wrong)


def _mean(heap: tuple[float, float], n: float, n_wrong: float) -> float:
    return (heap[0] + n_wrong) / (sum(heap) + n)


def _log_odds(n: float, n_wrong: float) -> float:
    """Logarithm of how much likelier the counts are under the first heap."""
    return _log_likelihood(RIGHT, n, n_wrong) - _log_likelihood(OTHER, n, n_wrong)


def _log_likelihood(heap: tuple[float, float], n: float, n_wrong: float) -> float:
    return _log_beta(heap[0] + n_wrong, heap[1] + n - n_wrong) - _log_beta(*heap)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
