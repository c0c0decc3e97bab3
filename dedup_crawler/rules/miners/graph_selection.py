"""The graph selection of WWW'10: chooses destinations among the nodes of a pattern tree, and rules that lead to them.

T. Lei et al., WWW 2010, section 4.4: nodes are vertices. A rule is an edge of weight 1 - fpr, and each node has an edge
of weight 1 to each ancestor. A random walk starts with the number of URLs of each node as its energy. Nodes that end
with much energy are destinations. Rules that start at a destination are deleted, and chains of rules become direct
rules.

As printed, a node without edges loses its energy, and a circle oscillates. Here such a node has an edge to itself, and
half of the energy stays in each step. A direct rule is counted anew, because the false-positive rate of a chain is not
that of its parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dedup_crawler.rules.language.rule import STAR, Copy, Drop, Operation, Rule, Set, Star
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.node_rules import NodeRule
from dedup_crawler.rules.miners.pattern_tree import Node
from dedup_crawler.rules.miners.selection import naive_selection, qualified

_N_STEPS = 200


def graph_selection(found: Sequence[NodeRule], crawl: MappedCrawl, *, max_fpr: float) -> list[Rule]:
    """Rules that lead directly to destinations, and rules that stay within a node."""
    own = [each.rule for each in found if each.source is each.target]
    between = [each for each in found if each.source is not each.target]
    nodes = list({id(node): node for each in between for node in (each.source, each.target)}.values())
    numbers = {id(node): number for number, node in enumerate(nodes)}
    edges: dict[int, dict[int, Rule | None]] = defaultdict(dict)
    for each in sorted(between, key=lambda each: -each.rule.statistics.false_positive_rate):
        edges[numbers[id(each.source)]][numbers[id(each.target)]] = each.rule  # the lowest rate overwrites the others
    for number, node in enumerate(nodes):
        for ancestor in node.ancestors():
            if id(ancestor) in numbers:
                edges[number].setdefault(numbers[id(ancestor)], None)
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
    kept: dict[str, Operation] = {key: done for key, done in operations.items() if done != Copy(key)}
    return replace(first, transformation=kept)


def _energy(nodes: Sequence[Node], edges: Mapping[int, Mapping[int, Rule | None]]) -> list[float]:
    energy = [float(len(node.places)) for node in nodes]
    shares: list[list[tuple[int, float]]] = []
    for number in range(len(nodes)):
        weights = {
            other: 1 - rule.statistics.false_positive_rate if rule is not None else 1.0
            for other, rule in edges.get(number, {}).items()
        }
        total = sum(weights.values())
        shares.append([(o, w / total) for o, w in weights.items()] if total else [(number, 1.0)])
    for _ in range(_N_STEPS):
        after = [half / 2 for half in energy]
        for number, its in enumerate(shares):
            for other, share in its:
                after[other] += energy[number] / 2 * share
        energy = after
    return energy


def _direct_rules(energy: Sequence[float], edges: Mapping[int, Mapping[int, Rule | None]]) -> list[Rule]:
    """For each node, the rule to the destination with most energy that it can reach; destinations have no rule."""
    into: dict[int, list[int]] = defaultdict(list)
    for number, its in edges.items():
        for other in its:
            into[other].append(number)
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
