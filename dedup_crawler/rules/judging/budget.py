"""How many pages all rules together may be expected to lose, and which rules are worth it.

A hundred rules that are each hardly ever wrong lose pages all the same. What a rule may be expected to lose of a crawl
like this one is its merge groups times the error that is to be expected of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from dedup_crawler.rules.judging.posterior import expected_error
from dedup_crawler.rules.language.statistics import RuleStatistics


def expected_lost(statistics: RuleStatistics) -> float:
    """Pages that a rule may be expected to lose of a crawl like the one it was learnt from.

    Contradictions that lose nothing, for other URLs show the page, do not count.
    """
    n_groups = statistics.evidence.n_groups
    n_wrong = statistics.evidence.n_wrong if statistics.n_false_pairs else 0
    return n_groups * expected_error(n_groups, n_wrong)


def within_budget(rules: Sequence[RuleStatistics], max_lost: float) -> list[RuleStatistics]:
    """The rules that save most for what they may lose, as many as may lose *max_lost* pages together.

    In their order; the first is kept whatever the budget, for less than a page cannot be lost.
    """
    lost_by = [expected_lost(rule) for rule in rules]
    best_first = sorted(range(len(rules)), key=lambda place: -rules[place].n_urls / max(lost_by[place], 1e-9))
    kept: set[int] = set()
    lost = 0.0
    for place in best_first:
        lost += lost_by[place]
        if kept and lost > max_lost:
            break
        kept.add(place)
    return [rule for place, rule in enumerate(rules) if place in kept]
