"""The rewrite approach: a rule for every pair of duplicates, generalised where many rules differ in one key.

A. Dasgupta, R. Kumar, A. Sasturkar, "De-duping URLs via rewrite rules", KDD 2008; its text was read through T. Lei et
al., WWW 2010, who compare with it. *c* -> context, *t* -> transformation, *f* -> fan-out.

Every ordered pair of URLs of a cluster is a rule: the context is all of the first, the transformation says how the
second comes of it, by reference to a value of the first wherever there is one. Rules that are alike but for one key are
generalised in that key if it takes *f* values or more among them.

Decided here: a key that only the target has must be absent from the source; a rule that nothing was generalised in
(it speaks of one URL) is not kept; where generalised rules set a key to different literals, the key does not matter
(:class:`Star`).

Cost: c (c - 1) rules for a cluster of c URLs, so that at most *max_per_cluster* of them are taken, drawn evenly from
its URL shapes: O(R k) per level of generalisation for R rules of k keys, at most k levels; a level of more than
200,000 rules is sampled.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence

from dedup_crawler.rules.language.rule import ANY, Literal, Operation, Rule, Set, Star
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.pairs import STRUCTURE, PairKeys, pair_operations, stratified
from dedup_crawler.urls.keyvalue import KeyValues

_MAX_RULES = 200_000  # of one level
_WILD = "\0any"  # no value of a URL in normal form
_Row = tuple["str | None", ...]
_Operations = tuple["Operation | None", ...]
PairwiseRule = tuple[PairKeys, _Row, _Operations]


def rewrite_rules(crawl: MappedCrawl, origin: str, *, fan_out: int, max_per_cluster: int, seed: int) -> list[Rule]:
    """Generalised rules of a host, uncounted."""
    draw = random.Random(seed)  # noqa: S311 - draws examples, guards nothing
    pairwise: set[PairwiseRule] = set()
    for places in crawl.clusters.values():
        pairwise.update(
            pairwise_rules(stratified([crawl.urls[place].values for place in places], max_per_cluster, draw))
        )
    return [as_rule(crawl.host, found, origin) for found in generalized(pairwise, fan_out, draw)]


def pairwise_rules(maps: Sequence[KeyValues]) -> Iterable[PairwiseRule]:
    """A rule for each ordered pair of URLs."""
    for source in maps:
        counts = Counter(source.values())
        for target in maps:
            if source is not target:
                keys = tuple(sorted(source.keys() | target.keys()))
                operations = pair_operations(source, target, counts)
                pair_keys = PairKeys(keys, frozenset(key for key in target if key not in source))
                yield pair_keys, tuple(map(source.get, keys)), tuple(map(operations.get, keys))


def generalized(pairwise: Iterable[PairwiseRule], fan_out: int, draw: random.Random) -> list[PairwiseRule]:
    """All generalisations, level by level: the n-th level has n generalised keys."""
    level = sorted(pairwise, key=repr)  # sets have no order of their own
    found: list[PairwiseRule] = []
    while level:
        if len(level) > _MAX_RULES:
            level = draw.sample(level, _MAX_RULES)
        level = list(_next_level(level, fan_out))
        found += level
    return found


def as_rule(host: str, found: PairwiseRule, origin: str) -> Rule:
    """A generalised pairwise rule in the rule language."""
    (keys, added), row, operations = found
    return Rule(
        host,
        {
            key: ANY if value == _WILD else Literal(value)
            for key, value in zip(keys, row, strict=True)
            if key not in added
        },
        {key: operation for key, operation in zip(keys, operations, strict=True) if operation is not None},
        absent=added,
        origin=origin,
    )


def _next_level(level: Sequence[PairwiseRule], fan_out: int) -> list[PairwiseRule]:
    """Rules that are alike but for one key become one rule, if the key takes enough values."""
    wider: dict[PairwiseRule, None] = {}
    for i in range(max((len(row) for _, row, _ in level), default=0)):
        for rules in _alike(level, i).values():
            if len(rules) >= fan_out and len({row[i] for _, row, _ in rules}) >= fan_out:
                pair_keys, row, operations = rules[0]
                said = {operations[i] for _, _, operations in rules}
                operation = operations[i] if len(said) == 1 else Star()
                wider[
                    pair_keys, (*row[:i], _WILD, *row[i + 1 :]), (*operations[:i], operation, *operations[i + 1 :])
                ] = None
    return list(wider)


def _alike(level: Sequence[PairwiseRule], i: int) -> dict[tuple[object, ...], list[PairwiseRule]]:
    """Rules that differ in their key number *i* alone; one key at a time, for memory's sake."""
    alike: dict[tuple[object, ...], list[PairwiseRule]] = {}
    for rule in level:
        (keys, added), row, operations = rule
        if i < len(row) and row[i] != _WILD and keys[i] not in added:
            masked = _masked(keys[i], operations[i])
            rest = operations if masked is operations[i] else (*operations[:i], masked, *operations[i + 1 :])
            alike.setdefault((keys, added, row[:i], row[i + 1 :], rest), []).append(rule)
    return alike


def _masked(key: str, operation: Operation | None) -> object:
    """The part of the operation on the generalised key that has to be alike: no literal, unless it builds the URL."""
    return Set if isinstance(operation, Set) and key not in STRUCTURE else operation
