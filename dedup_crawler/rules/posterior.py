"""How often a rule may be expected to be wrong, by its own evidence and by what hypotheses of a site are like.

The error rates of the hypotheses about a site fall into two heaps: what does not matter never matters (rates near 0),
and what does matter is wrong nearly everywhere else (any rate). So the prior is a mixture of two beta distributions
(A. Gelman et al., "Bayesian Data Analysis", 2013, section 2.4 for one, 22.1 for mixtures); the share of the first is
fitted to all hypotheses of the site by expectation maximisation. A site where hardly any hypothesis holds asks more of
the next one: this takes the place of a correction for the number of hypotheses tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

RIGHT = (1.0, 400.0)
"""Beta distribution of the error rates of rules that hold: 0.25 % in the mean."""
OTHER = (1.0, 1.0)
"""Of all others: uniform."""
DEFAULT_SHARE = 0.5
"""Share of the hypotheses that hold, as long as nothing is known of a site."""
DEFAULT_WEIGHT = 20.0
"""Hypotheses that the default counts for: what a site says outweighs it from there on."""
_N_STEPS = 50


@dataclass(frozen=True)
class Prior:
    """What hypotheses of a site are like before any evidence of their own."""

    share: float = DEFAULT_SHARE
    """Of the hypotheses that hold (0-1)."""

    @classmethod
    def fit(cls, counts: Iterable[tuple[float, float]]) -> Prior:
        """Fit to the merge groups and the wrong ones of each hypothesis of a site.

        >>> Prior.fit([]).share
        0.5
        >>> Prior.fit([(40, 0)] * 60 + [(40, 30)] * 20).share > 0.6
        True
        """
        odds = [math.exp(min(700.0, _log_odds(n, n_wrong))) for n, n_wrong in counts]
        share = DEFAULT_SHARE
        for _ in range(_N_STEPS):
            held = sum(share * each / (share * each + 1 - share) for each in odds)
            share = (held + DEFAULT_SHARE * DEFAULT_WEIGHT) / (len(odds) + DEFAULT_WEIGHT)
        return cls(share)

    def expected_error(self, n_groups: float, n_wrong: float) -> float:
        """Mean (0-1) of the posterior of a rule's error rate; groups may weigh more or less than one.

        >>> round(Prior().expected_error(8, 0), 4), round(Prior().expected_error(60, 1), 4)
        (0.0124, 0.0079)
        """
        odds = math.exp(min(700.0, _log_odds(n_groups, n_wrong)))
        held = self.share * odds / (self.share * odds + 1 - self.share)
        return held * _mean(RIGHT, n_groups, n_wrong) + (1 - held) * _mean(OTHER, n_groups, n_wrong)


def _mean(heap: tuple[float, float], n: float, n_wrong: float) -> float:
    return (heap[0] + n_wrong) / (sum(heap) + n)


def _log_odds(n: float, n_wrong: float) -> float:
    """How much likelier the counts are under the first heap."""
    return _log_likelihood(RIGHT, n, n_wrong) - _log_likelihood(OTHER, n, n_wrong)


def _log_likelihood(heap: tuple[float, float], n: float, n_wrong: float) -> float:
    return _log_beta(heap[0] + n_wrong, heap[1] + n - n_wrong) - _log_beta(*heap)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
