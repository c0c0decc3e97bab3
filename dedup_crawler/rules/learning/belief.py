"""Decides whether to believe a rule: by its expected error rate, and by the pages that all rules together may lose.

The error rates of the hypotheses about a site are of two kinds. A rule that holds is hardly ever wrong (rates near 0);
for all others any rate is possible. So the prior is a mixture of two beta distributions (A. Gelman et al., "Bayesian
Data Analysis", 2013, section 2.4 for one, 22.1 for mixtures). With this prior no correction for the number of tested
hypotheses is needed.

A hundred rules that are each hardly ever wrong still lose pages, so there is a budget for all rules together.

The unit of evidence is the merge group: two or more crawled URLs to which a rule gives one form. It is not the pair,
because the pairs of one cluster of 300 URLs would outnumber all others. Right groups that show one page are one unit. A
group is *wrong* if its URLs show more than one page.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol

from dedup_crawler.rules.language.rule import AnyRule
from dedup_crawler.rules.language.site_rules import SiteRule
from dedup_crawler.rules.language.statistics import MergeEvidence, RuleStatistics

UNKNOWN = -1
"""Cluster number of a URL whose page is not known."""
NAMED = 2
"""Verdict on two pages that are the same but for lines that print the values in which their URLs differ."""
RIGHT = (1.0, 400.0)
"""Beta distribution of the error rates of rules that hold: 0.25 % in the mean."""
OTHER = (1.0, 1.0)
"""Beta distribution of the error rates of all other rules: uniform."""
SHARE = 0.5
"""Share (0-1) of the hypotheses that hold. A share fitted to each site saved less."""

MIN_GROUPS = 8
"""Smallest weight of the merge groups of a believed hypothesis."""
FEW_VALUES = 10
"""Smallest number of compared values of a key, for a rule to be about any value."""


@dataclass(frozen=True)
class Risk:
    """Losses that a user accepts."""

    max_error: float
    """Largest expected error rate (0-1) of a rule."""
    lost_per_thousand: float
    """Largest expected number of lost pages in a thousand, for all rules together."""


RISKS = {"safe": Risk(0.006, 1.0), "balanced": Risk(0.0125, 3.0), "eager": Risk(0.03, 10.0)}
"""Name -> profile."""


class PairJudge(Protocol):
    """Compares the pages that a rule would merge, if the pages are known. ``evidence/`` implements it."""

    def alike(self, clusters: Sequence[int]) -> Sequence[int]:
        """Join clusters whose pages probably show the same: a number for each URL. Only proposals use it."""

    def has_own_page(self, place: int) -> bool:
        """Return False if a URL answers with an error or a redirect."""

    def links_on(self, place: int) -> Iterable[str]:
        """Return the URLs that a page links; none if they are not known."""

    def is_excerpt(self, one: int, other: int) -> bool:
        """Return True if one of two pages has nearly all lines of the other, and more."""

    def judge(self, pairs: Iterable[tuple[int, int]], groups: Sequence[int]) -> Sequence[int]:
        """Compare all pairs of URLs (places in the crawl) of a rule: 1 the same page, 0 different, -1 silent.

        2 is the same page but for lines that print the values in which the two URLs differ. *groups* has the merge
        group of each pair.
        """


@dataclass(frozen=True)
class Evidence:
    """Merge groups for and against a hypothesis."""

    n_groups: int
    n_wrong: int
    """Number of wrong groups, or *n_groups* times the share of wrong trials if that is more."""
    weight: float
    """Weight of all groups: the sum of the square roots of their numbers of trials."""
    wrong_weight: float
    """Weight of the wrong trials in the groups; at least one for each wrong group."""

    @classmethod
    def of(cls, counted: MergeEvidence) -> Evidence:
        """Evidence of groups that weigh one each."""
        return cls(counted.n_groups, counted.n_wrong, counted.n_groups, counted.n_wrong)


class Belief:
    """Judges hypotheses within a *risk*, counts them in *n_tried*, and keeps the refused ones."""

    def __init__(self, risk: Risk) -> None:
        self.risk = risk
        self.n_tried = 0
        self.refused: dict[Hashable, tuple[AnyRule | SiteRule, str]] = {}
        """Name of each refused hypothesis -> its rule, and the reason."""
        self.excerpts: set[str] = set()
        """Keys that show more or less of some pages, and no section of the site tells where."""
        self._believed: set[Hashable] = set()

    def refuse(self, name: Hashable, rule: AnyRule | SiteRule, reason: str) -> None:
        """Note a refused hypothesis. It may be tested several times; the last refusal counts."""
        if name not in self._believed:
            self.refused[name] = rule, reason

    def note_believed(self, name: Hashable) -> None:
        """Note that a hypothesis holds, at least in some contexts: then it is not among the refused."""
        self._believed.add(name)
        self.refused.pop(name, None)

    def holds(self, weight: float, wrong_weight: float, stricter: int = 1) -> bool:
        """Return True if groups of this weight are enough to believe a hypothesis."""
        return weight >= MIN_GROUPS and expected_error(weight, wrong_weight) <= self.risk.max_error / stricter

    def believes(self, rule: SiteRule, evidence: Evidence, stricter: int = 1, doubt: str = "") -> bool:
        """Count and judge a rule. It is refused for its evidence or for another *doubt*, and the reason is kept."""
        self.n_tried += 1
        reason = self.why_not(evidence, stricter) or doubt
        if reason:
            self.refuse(rule, rule, reason)
        return not reason

    def why_not(self, evidence: Evidence, stricter: int = 1) -> str:
        """Reason why a hypothesis with this evidence is refused; empty if it is believed.

        *stricter* divides the allowed error.
        """
        if self.holds(evidence.weight, evidence.wrong_weight, stricter):
            return ""
        if evidence.weight < MIN_GROUPS:
            return f"{evidence.n_groups} groups are too few: {MIN_GROUPS} are needed, or fewer with many URLs each"
        expected, allowed = expected_error(evidence.weight, evidence.wrong_weight), self.risk.max_error / stricter
        doubt = "too few groups to be sure" if not evidence.n_wrong else "it would merge different pages"
        return f"{doubt}: expected error {expected:.2%}, allowed {allowed:.2%}".replace("%", " %")


def expected_error(n_groups: float, n_wrong: float, share: float | None = None) -> float:
    """Posterior mean (0-1) of a rule's error rate. Groups may weigh more or less than one.

    *share* (0-1) is the prior probability that the rule holds, by default :data:`SHARE`.

    >>> round(expected_error(8, 0), 4), round(expected_error(60, 1), 4)
    (0.0124, 0.0079)
    """
    share = SHARE if share is None else share
    log_odds = _log_likelihood(RIGHT, n_groups, n_wrong) - _log_likelihood(OTHER, n_groups, n_wrong)
    odds = math.exp(min(700.0, log_odds))
    held = share * odds / (share * odds + 1 - share)
    return held * _mean(RIGHT, n_groups, n_wrong) + (1 - held) * _mean(OTHER, n_groups, n_wrong)


def _mean(heap: tuple[float, float], n: float, n_wrong: float) -> float:
    return (heap[0] + n_wrong) / (sum(heap) + n)


def _log_likelihood(heap: tuple[float, float], n: float, n_wrong: float) -> float:
    return _log_beta(heap[0] + n_wrong, heap[1] + n - n_wrong) - _log_beta(*heap)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def expected_lost(statistics: RuleStatistics) -> float:
    """Expected number of pages that a rule loses in a crawl like the training crawl.

    Contradictions do not count if no page is lost, because other URLs show it.
    """
    n_groups = statistics.evidence.n_groups
    n_wrong = min(statistics.evidence.n_wrong, statistics.n_false_pairs)
    return n_groups * expected_error(n_groups, n_wrong)


def within_budget(rules: Sequence[RuleStatistics], max_lost: float) -> list[RuleStatistics]:
    """Keep the rules that save most for each page lost, until together they are expected to lose *max_lost* pages.

    The order of the rules stays. The best rule is always kept, because a budget below one page means nothing.
    """
    lost_by = [expected_lost(rule) for rule in rules]
    best_first = sorted(range(len(rules)), key=lambda place: -rules[place].n_urls / max(lost_by[place], 1e-9))
    lost = accumulate(lost_by[place] for place in best_first)  # by the best rule, by the two best ones, ...
    kept = set(best_first[: max(1, sum(each <= max_lost for each in lost))])
    return [rule for place, rule in enumerate(rules) if place in kept]
