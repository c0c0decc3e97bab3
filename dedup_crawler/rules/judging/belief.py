"""Belief in a rule: decided by the error that is to be expected of it."""

from __future__ import annotations

from dataclasses import dataclass

from dedup_crawler.rules.judging.judge import Evidence
from dedup_crawler.rules.judging.posterior import expected_error
from dedup_crawler.rules.language.refusals import Refusals

MIN_GROUPS = 8
"""Hypotheses with less for them are not even tried."""


@dataclass(frozen=True)
class Risk:
    """Losses that a person accepts."""

    max_error: float
    """Error rate (0-1) that may be expected of a rule at most."""
    lost_per_thousand: float
    """Pages that all rules together may be expected to lose, of a thousand."""


RISKS = {"safe": Risk(0.006, 1.0), "balanced": Risk(0.0125, 3.0), "eager": Risk(0.03, 10.0)}
"""Name -> profile."""


class Belief:
    """Judges hypotheses, counts those tried and believed, and keeps the best of those refused.

    Parameters
    ----------
    risk
        What may be lost.
    """

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.n_tried = 0
        self.n_believed = 0
        self.refusals = Refusals()

    def may_hold(self, weight: float, wrong_weight: float, stricter: int = 1) -> bool:
        """Tell whether groups of such a weight promise little error; *stricter* divides what is allowed."""
        allowed = self.risk.max_error / stricter
        return weight >= MIN_GROUPS and expected_error(weight, wrong_weight) <= allowed

    def holds(self, evidence: Evidence, stricter: int = 1) -> bool:
        """Return True if a hypothesis is to be believed."""
        return not self.why_not(evidence, stricter)

    def why_not(self, evidence: Evidence, stricter: int = 1) -> str:
        """Reason why a hypothesis with such evidence is not believed; empty where the evidence is not the reason.

        *stricter* divides the error that may be expected.
        """
        allowed = self.risk.max_error / stricter
        if evidence.weight < MIN_GROUPS:
            return f"{evidence.n_groups} groups say too little; {MIN_GROUPS} are needed, or fewer with many URLs each"
        expected = expected_error(evidence.weight, evidence.wrong_weight)
        if expected > allowed:
            doubt = "too few groups to be sure" if not evidence.n_wrong else "it would merge different pages"
            return f"{doubt}: wrong in {expected:.2%} to be expected, where {allowed:.2%} is allowed".replace("%", " %")
        return ""
