"""How many pages all rules together may be expected to lose, and which rules are worth it.

The bound of :mod:`dedup_crawler.rules.belief` is about one rule; a hundred rules that are each hardly ever wrong lose
pages all the same. What a rule may be expected to lose of a crawl like this one is its merge groups times the mean of
the posterior of its error rate (Jeffreys' prior): half a page for a rule that was never wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from dedup_crawler.rules.statistics import RuleStatistics


def expected_lost(statistics: RuleStatistics) -> float:
    """Pages that a rule may be expected to lose of a crawl like the one it was learnt from."""
    evidence = statistics.evidence
    return evidence.n_groups * (evidence.n_wrong + 0.5) / (evidence.n_groups + 1)


def within_budget(rules: Sequence[RuleStatistics], max_lost: float) -> list[RuleStatistics]:
    """The rules that save most for what they may lose, as many as may lose *max_lost* pages together.

    In their order; the first is kept whatever the budget, for half a page cannot be divided.
    """
    best_first = sorted(range(len(rules)), key=lambda place: -rules[place].n_urls / expected_lost(rules[place]))
    kept: set[int] = set()
    lost = 0.0
    for place in best_first:
        lost += expected_lost(rules[place])
        if kept and lost > max_lost:
            break
        kept.add(place)
    return [rule for place, rule in enumerate(rules) if place in kept]
