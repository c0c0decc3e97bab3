"""When a rule is believed: a bound on how often it is wrong, corrected for the many that were tried.

The bound is that of :mod:`dedup_crawler.rules.judge`. Of thousands of hypotheses some look right by chance, so the
confidence grows with the number of those tried and falls with the number of those believed: the next hypothesis is
tested at the level a (1 + believed so far) / (tried so far). That is the level of Benjamini and Hochberg (1995) at the
rank that it would have, taken as hypotheses come; unlike LOND (Javanmard, Montanari, 2015), whose levels shrink so that
they add up to a, it guarantees no false discovery rate for an endless sequence.
"""

from __future__ import annotations

from dataclasses import dataclass

from dedup_crawler.rules.judge import Evidence, MergeEvidence
from dedup_crawler.rules.refusals import Refusals

LEVEL = 0.05
"""Level (0-1) at which a hypothesis would be tested that is tried alone."""
MIN_GROUPS = 8
"""Hypotheses with less for them are not even tried."""
MIN_LATE = 2
"""Groups late in the crawl that have to confirm a rule: what is met first is not what comes later."""


@dataclass(frozen=True)
class Risk:
    """How much a person is ready to lose."""

    max_wrong: float
    """Share (0-1) of a rule's merge groups that may be wrong at most, at the upper bound."""
    lost_per_thousand: float
    """Pages that all rules together may be expected to lose, of a thousand."""


RISKS = {"safe": Risk(0.05, 1.0), "balanced": Risk(0.1, 3.0), "eager": Risk(0.2, 10.0)}
"""Name -> profile."""


class Belief:
    """Counts the hypotheses tried and believed, and keeps the best of those refused."""

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.n_believed = 0
        self.refusals = Refusals()
        self._tried: set[tuple[str, bytes]] = set()

    @property
    def n_tried(self) -> int:
        """Hypotheses tried; two that speak of the same URLs are one."""
        return max(1, len(self._tried))

    def count(self, hypothesis: str, trials: bytes) -> None:
        """Say that a hypothesis is looked at on these trials (any digest of them)."""
        self._tried.add((hypothesis, trials))

    @property
    def confidence(self) -> float:
        """Confidence (0-1) that the next hypothesis has to reach."""
        return 1 - LEVEL * min(1.0, (1 + self.n_believed) / self.n_tried)

    def may_hold(self, n_groups: int, n_wrong: int) -> bool:
        """Whether the bound holds for so many groups."""
        if n_groups < MIN_GROUPS or n_wrong > self.risk.max_wrong * n_groups:
            return False
        return MergeEvidence(n_groups, n_wrong).error_bound(self.confidence) <= self.risk.max_wrong

    def holds(self, evidence: Evidence) -> bool:
        """Whether a hypothesis is to be believed: the bound holds, and the late groups say the same."""
        is_confirmed = evidence.n_late >= MIN_LATE and evidence.n_late_wrong <= self.risk.max_wrong * evidence.n_late
        return is_confirmed and self.may_hold(evidence.n_groups, evidence.n_wrong)

    def why_not(self, evidence: Evidence, stricter: int = 1) -> str:
        """Why a hypothesis with such evidence is not believed; empty where the evidence is not the reason.

        *stricter* divides the share that may be wrong.
        """
        allowed = self.risk.max_wrong / stricter
        if evidence.n_groups < MIN_GROUPS:
            return f"{evidence.n_groups} groups say too little; {MIN_GROUPS} are needed at least"
        bound = MergeEvidence(evidence.n_groups, evidence.n_wrong).error_bound(self.confidence)
        if bound > allowed:
            doubt = "too few groups to be sure" if not evidence.n_wrong else "it would merge different pages"
            tried = f"after {self.n_tried} hypotheses tried" if self.n_tried > 1 else "alone"
            return f"{doubt}: wrong in up to {bound:.1%} ({tried}), where {allowed:.1%} is allowed".replace("%", " %")
        if evidence.n_late < MIN_LATE:
            return f"only {evidence.n_late} groups late in the crawl confirm it; {MIN_LATE} are needed"
        if evidence.n_late_wrong > self.risk.max_wrong * evidence.n_late:
            return f"what came late in the crawl contradicts it: {evidence.n_late_wrong} of {evidence.n_late} groups"
        return ""
