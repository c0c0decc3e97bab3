"""The rewrite approach: one rule for every pair of duplicates; rules that differ in one key are generalised.

A. Dasgupta, R. Kumar, A. Sasturkar, "De-duping URLs via rewrite rules", KDD 2008. We read it through T. Lei et al.,
WWW 2010, who compare with it. *c* -> context, *t* -> transformation, *f* -> fan-out.

Every ordered pair of URLs of a cluster gives a rule. Its context is the whole first URL. Its transformation makes the
second URL of the first; it copies values of the first URL where possible. Rules that differ only in one key are
generalised in that key if it has *f* values or more.

We decided: a key that only the target has must be absent from the source. A rule without any generalised key is
dropped, because it is about one URL. If the generalised rules set a key to different literals, the key does not matter
(:class:`Star`).

Cost: a cluster of c URLs has c (c - 1) rules, so at most *max_per_cluster* of its URLs are used, drawn evenly from
their sets of keys. A level of generalisation costs O(R k) for R rules of k keys, and there are at most k levels. A
level of more than 200,000 rules is sampled.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from dedup_crawler.rules.language.matchers import ANY, Literal
from dedup_crawler.rules.language.operations import Operation, Set, Star
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.miners.mapped_crawl import STRUCTURE, MappedCrawl, pair_operations, stratified
from dedup_crawler.urls.keyvalue import KeyValues

_MAX_RULES = 200_000  # rules of one level
_WILD, _ABSENT = "\0any", "\0absent"
"""Any value; a key that only the target has. No URL in normal form has these values."""
_Row = tuple["str | None", ...]
_Operations = tuple["Operation | None", ...]
PairwiseRule = tuple[tuple[str, ...], _Row, _Operations]
"""Keys of either URL, sorted; the value of the source and the operation on each key."""


def rewrite_rules(crawl: MappedCrawl, origin: str, *, fan_out: int, max_per_cluster: int, seed: int) -> list[Rule]:
    """Generalised rules of a host, without statistics."""
    draw = random.Random(seed)  # noqa: S311 - draws examples, guards nothing
    pairwise: set[PairwiseRule] = set()
    for maps in crawl.clusters.values():
        pairwise.update(pairwise_rules(stratified(maps, max_per_cluster, draw)))
    return [as_rule(crawl.host, found, origin) for found in generalized(pairwise, fan_out, draw)]


def pairwise_rules(maps: Sequence[KeyValues]) -> Iterable[PairwiseRule]:
    """A rule for each ordered pair of URLs."""
    for source in maps:
        for target in maps:
            if source is not target:
                keys = tuple(sorted(source.keys() | target.keys()))
                operations = pair_operations(source, target)
                yield keys, tuple(source.get(key, _ABSENT) for key in keys), tuple(map(operations.get, keys))


def generalized(pairwise: Iterable[PairwiseRule], fan_out: int, draw: random.Random) -> list[PairwiseRule]:
    """All generalisations, level by level: the n-th level has n generalised keys."""
    level = sorted(pairwise, key=repr)  # a fixed order
    found: list[PairwiseRule] = []
    while level:
        if len(level) > _MAX_RULES:
            level = draw.sample(level, _MAX_RULES)
        level = list(_next_level(level, fan_out))
        found += level
    return found


def as_rule(host: str, found: PairwiseRule, origin: str) -> Rule:
    """A generalised pairwise rule in the rule language."""
    keys, row, operations = found
    values = dict(zip(keys, row, strict=True))
    return Rule(
        host,
        {key: ANY if value == _WILD else Literal(value) for key, value in values.items() if value != _ABSENT},
        {key: operation for key, operation in zip(keys, operations, strict=True) if operation is not None},
        absent=frozenset(key for key, value in values.items() if value == _ABSENT),
        origin=origin,
    )


def _next_level(level: Sequence[PairwiseRule], fan_out: int) -> list[PairwiseRule]:
    """Generalise rules that differ only in one key, if the key has at least *fan_out* values."""
    wider: dict[PairwiseRule, None] = {}
    for i in range(max((len(row) for _, row, _ in level), default=0)):
        for rules in _alike(level, i).values():
            if len(rules) >= fan_out and len({row[i] for _, row, _ in rules}) >= fan_out:
                keys, row, operations = rules[0]
                said = {operations[i] for _, _, operations in rules}
                operation = operations[i] if len(said) == 1 else Star()
                wider[keys, (*row[:i], _WILD, *row[i + 1 :]), (*operations[:i], operation, *operations[i + 1 :])] = None
    return list(wider)


def _alike(level: Sequence[PairwiseRule], i: int) -> dict[tuple[object, ...], list[PairwiseRule]]:
    """Group rules that differ only in their key number *i*; one key at a time saves memory."""
    alike: dict[tuple[object, ...], list[PairwiseRule]] = {}
    for rule in level:
        keys, row, operations = rule
        if i < len(row) and row[i] not in (_WILD, _ABSENT):
            rest: tuple[object, ...] = operations
            if isinstance(operations[i], Set) and keys[i] not in STRUCTURE:  # other literals may differ
                rest = (*operations[:i], Set, *operations[i + 1 :])
            alike.setdefault((keys, row[:i], row[i + 1 :], rest), []).append(rule)
    return alike
