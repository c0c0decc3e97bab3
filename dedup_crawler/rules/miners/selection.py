"""Selection of rules: discards rules that are wrong too often, then resolves conflicts.

T. Lei et al., WWW 2010, section 4.3: a rule whose false-positive rate on the training URLs is too high is discarded
(SIGIR'17 used 0.10 for the methods of KDD'08 and WSDM'10 too). Finding the smallest set of the rest is NP-hard. Their
*naive* strategy keeps one rule for each source pattern, the one with the lowest rate. It prefers a rule on a more
general pattern to a special case that does the same. In a circle, it drops the rule with the smallest support.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.rule import ANY, Drop, Literal, Matcher, OneOf, Rule
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl

_MAX_ROUNDS = 100  # each round drops one rule of every circle that is left


def qualified(rules: Iterable[Rule], crawl: MappedCrawl, *, max_fpr: float, min_urls: int = 1) -> list[Rule]:
    """Count rules on the crawl; keep those with at least *min_urls* URLs and at most the rate *max_fpr* (0-1)."""
    counted = (crawl.counted(rule) for rule in rules)
    return [r for r in counted if r.statistics.n_urls >= min_urls and r.statistics.is_within(max_fpr)]


def naive_selection(rules: Sequence[Rule], crawl: MappedCrawl) -> list[Rule]:
    """Choose rules without conflicts; the order of *rules* does not matter."""
    best: dict[object, Rule] = {}
    for rule in sorted(rules, key=_preference):
        best.setdefault((frozenset(rule.context.items()), rule.absent), rule)
    return without_circles(_without_special_cases(best.values()), crawl)


def without_circles(rules: Sequence[Rule], crawl: MappedCrawl) -> list[Rule]:
    """Drop rules with small support until no URL of the crawl runs in a circle."""
    kept = list(rules)
    asked = [url.form for url in crawl.urls]
    for _ in range(_MAX_ROUNDS):
        engine = RuleEngine(kept, {crawl.host: crawl.url_map})
        traces = [(form, engine.circle(form)) for form in asked]
        dropped: set[int] = set()
        for _, circle in traces:
            if circle and dropped.isdisjoint(circle):
                dropped.add(max(circle, key=lambda number: _worth(kept[number])))
        if not dropped:
            break
        # other URLs have no circle, and the dropped rules do not concern them
        asked = [form for form, circle in traces if circle or not dropped.isdisjoint(engine.trace(form)[1])]
        kept = [rule for number, rule in enumerate(kept) if number not in dropped]
    return kept


def _without_special_cases(rules: Iterable[Rule]) -> list[Rule]:
    """Drop a rule if a more general one changes all the keys that it changes, and is not wrong more often."""
    kept: list[Rule] = []
    for rule in sorted(rules, key=lambda rule: (rule.specificity(), _preference(rule))):
        if not any(_replaces(other, rule) for other in kept):
            kept.append(rule)
    return kept


def _replaces(general: Rule, special: Rule) -> bool:
    return (
        general.transformation.keys() >= special.transformation.keys()
        and general.absent <= special.absent
        and general.statistics.false_positive_rate <= special.statistics.false_positive_rate
        and all(
            key in special.context and _covers(matcher, special.context[key])
            for key, matcher in general.context.items()
        )
    )


def _covers(general: Matcher, special: Matcher) -> bool:
    """Return True if *general* surely matches every value that *special* matches."""
    if isinstance(special, Literal):
        return general.matches(special.value)
    if isinstance(special, OneOf):
        return all(map(general.matches, special.values))
    return general in (ANY, special)


def _preference(rule: Rule) -> tuple[object, ...]:
    return rule.statistics.false_positive_rate, *_worth(rule)


def _worth(rule: Rule) -> tuple[object, ...]:
    """Sort key, smaller for better rules: more support, then more dropped keys, then fewer operations."""
    n_dropped = sum(isinstance(operation, Drop) for operation in rule.transformation.values())
    return -rule.statistics.n_support_pairs, -n_dropped, len(rule.transformation), str(rule)
