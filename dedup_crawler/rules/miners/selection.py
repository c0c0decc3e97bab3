"""Selection of rules: discards rules that are wrong too often, then resolves conflicts.

T. Lei et al., WWW 2010, section 4.3: a rule whose false-positive rate on the training URLs is too high is discarded
(SIGIR'17 used 0.10 for the methods of KDD'08 and WSDM'10 too). Finding the smallest set of the rest is NP-hard. Their
*naive* strategy keeps one rule for each source pattern, the one with the lowest rate. It prefers a rule on a more
general pattern to a special case that does the same. In a circle, it drops the rule with the smallest support.

Their *graph* strategy (section 4.4) chooses destinations among the nodes of a pattern tree, and rules that lead to
them. Nodes are vertices. A rule is an edge of weight 1 - fpr, and each node has an edge of weight 1 to each ancestor. A
random walk starts with the number of URLs of each node as its energy. Nodes that end with much energy are destinations.
Rules that start at a destination are deleted, and chains of rules become direct rules. As printed, a node without edges
loses its energy, and a circle oscillates. Here such a node has an edge to itself, and half of the energy stays in each
step. A direct rule is counted anew, because the false-positive rate of a chain is not that of its parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dedup_crawler.grouping import grouped
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.matchers import ANY, Matcher, few_values
from dedup_crawler.rules.language.operations import STAR, Copy, Drop, Set, Star
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.node_rules import NodeRule
from dedup_crawler.rules.miners.pattern_tree import Node

_MAX_ROUNDS = 100  # each round drops one rule of every circle that is left
_N_STEPS = 200  # of the random walk


def qualified(rules: Iterable[Rule], crawl: MappedCrawl, *, max_fpr: float, min_urls: int = 1) -> list[Rule]:
    """Count rules on the crawl; keep those with at least *min_urls* URLs and at most the rate *max_fpr* (0-1)."""
    counted = (crawl.counted(rule) for rule in rules)
    return [r for r in counted if r.statistics.n_urls >= min_urls and r.statistics.is_within(max_fpr)]


def naive_selection(rules: Sequence[Rule], crawl: MappedCrawl) -> list[Rule]:
    """Choose rules without conflicts; the order of *rules* does not matter."""
    best: dict[object, Rule] = {}
    for rule in sorted(rules, key=_preference):
        best.setdefault((frozenset(rule.context.items()), rule.absent), rule)
    kept: list[Rule] = []
    for rule in sorted(best.values(), key=lambda rule: (rule.specificity(), _preference(rule))):
        if not any(_replaces(other, rule) for other in kept):
            kept.append(rule)
    return without_circles(kept, crawl)


def without_circles(rules: Sequence[Rule], crawl: MappedCrawl) -> list[Rule]:
    """Drop rules with small support until no URL of the crawl runs in a circle."""
    kept = list(rules)
    asked = crawl.forms
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


def _replaces(general: Rule, special: Rule) -> bool:
    """Return True if *general* changes all keys that a special case changes, and is not wrong more often."""
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
    values = few_values(special)
    return general in (ANY, special) if values is None else all(map(general.matches, values))


def _preference(rule: Rule) -> tuple[object, ...]:
    return rule.statistics.false_positive_rate, *_worth(rule)


def _worth(rule: Rule) -> tuple[object, ...]:
    """Sort key, smaller for better rules: more support, then more dropped keys, then fewer operations."""
    n_dropped = sum(isinstance(operation, Drop) for operation in rule.transformation.values())
    return -rule.statistics.n_support_pairs, -n_dropped, len(rule.transformation), str(rule)


def graph_selection(found: Sequence[NodeRule], crawl: MappedCrawl, *, max_fpr: float) -> list[Rule]:
    """Rules that lead directly to destinations, and rules that stay within a node."""
    own = [each.rule for each in found if each.source is each.target]
    between = [each for each in found if each.source is not each.target]
    nodes = list(dict.fromkeys(node for each in between for node in (each.source, each.target)))
    numbers = {node: number for number, node in enumerate(nodes)}
    edges: dict[int, dict[int, Rule | None]] = defaultdict(dict)
    for each in sorted(between, key=lambda each: -each.rule.statistics.false_positive_rate):
        edges[numbers[each.source]][numbers[each.target]] = each.rule  # the lowest rate overwrites the others
    for number, node in enumerate(nodes):
        for ancestor in node.ancestors():
            if ancestor in numbers:
                edges[number].setdefault(numbers[ancestor], None)
    direct = _direct_rules(_energy(nodes, edges), edges)
    return naive_selection([*own, *qualified(direct, crawl, max_fpr=max_fpr)], crawl)


def chained(first: Rule, second: Rule) -> Rule | None:
    """One rule that does what *first* and then *second* do; None if *second* copies what *first* drops."""
    operations = dict(first.transformation)
    for key, operation in second.transformation.items():
        before = first.transformation.get(key)
        if isinstance(operation, Copy):
            origin = first.transformation.get(operation.key)
            if isinstance(origin, Drop):
                return None
            operation = Set(STAR) if isinstance(origin, Star) else operation if origin is None else origin
        elif isinstance(operation, Star) and before is not None:
            operation = before if isinstance(before, (Drop, Star)) else Set(STAR)
        operations[key] = operation
    return replace(first, transformation={key: done for key, done in operations.items() if done != Copy(key)})


def _energy(nodes: Sequence[Node], edges: Mapping[int, Mapping[int, Rule | None]]) -> list[float]:
    energy = [float(len(node.places)) for node in nodes]
    shares: list[list[tuple[int, float]]] = []
    for number in range(len(nodes)):
        weights = {
            other: 1 - rule.statistics.false_positive_rate if rule is not None else 1.0
            for other, rule in edges.get(number, {}).items()
        }
        total = sum(weights.values())
        shares.append([(other, weight / total) for other, weight in weights.items()] if total else [(number, 1.0)])
    for _ in range(_N_STEPS):
        after = [half / 2 for half in energy]
        for number, its in enumerate(shares):
            for other, share in its:
                after[other] += energy[number] / 2 * share
        energy = after
    return energy


def _direct_rules(energy: Sequence[float], edges: Mapping[int, Mapping[int, Rule | None]]) -> list[Rule]:
    """For each node, the rule to the destination with most energy that it can reach; destinations have no rule."""
    into = grouped((other, number) for number, its in edges.items() for other in its)
    leads: dict[int, Rule | None] = {}
    for destination in sorted(range(len(energy)), key=lambda number: (-round(energy[number], 6), number)):
        if destination in leads:
            continue
        leads[destination] = None
        reached = [destination]
        for number in reached:  # grows: the shortest chain to the destination comes first
            for before in sorted(into[number]):
                if before not in leads:
                    first, rest = edges[before][number], leads[number]
                    leads[before] = chained(first, rest) if first is not None and rest is not None else first or rest
                    reached.append(before)
    return [rule for rule in leads.values() if rule is not None and rule.transformation]
