"""The rewrite approach: a rule for every pair of duplicates, generalised where many rules differ in one key.

A. Dasgupta, R. Kumar, A. Sasturkar, "De-duping URLs via rewrite rules", KDD 2008; its text was read through T. Lei et
al., WWW 2010, who compare with it. *c* -> context, *t* -> transformation, *f* -> fan-out.

Every ordered pair of URLs of a cluster is a rule: the context is all of the first, the transformation says how the
second comes of it, by reference to a value of the first wherever there is one. Rules that are alike but for one key are
generalised in that key if it takes *f* values or more among them. Rules that are wrong in more than 10 % of their pairs
are discarded, and the naive selection of WWW'10 is made of the rest.

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

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.rule_based import MapRuleBased
from dedup_crawler.rules.mapped_crawl import MappedCrawl
from dedup_crawler.rules.pairs import STRUCTURE, Shape, pair_operations, stratified
from dedup_crawler.rules.rule import ANY, Literal, Operation, Rule, Set, Star
from dedup_crawler.rules.selection import naive_selection, qualified
from dedup_crawler.urls.keyvalue import KeyValues

_MAX_RULES = 200_000  # of one level
_WILD = "\0any"  # no value of a URL in normal form
_Row = tuple["str | None", ...]
_Operations = tuple["Operation | None", ...]
_Pairwise = tuple[Shape, _Row, _Operations]
"""Keys of source and target; the context's values; operations, None for a key that stays; all in one order."""


class RewriteRules(MapRuleBased):
    """Rules from pairs of duplicates, generalised key by key (KDD'08).

    Parameters
    ----------
    fan_out
        Values that a key takes at least before it is generalised; smaller gives more and subtler rules. The papers
        use 10 and 5.
    max_fpr
        Share (0-1) of a rule's pairs that may be wrong on the training URLs.
    max_per_cluster
        URLs of one cluster that are compared with each other.
    seed
        Draws the URLs of larger clusters.
    """

    name = "rewrite-rules"

    def __init__(self, *, fan_out: int = 10, max_fpr: float = 0.10, max_per_cluster: int = 50, seed: int = 0) -> None:
        self.fan_out = fan_out
        self.max_fpr = max_fpr
        self.max_per_cluster = max_per_cluster
        self.seed = seed

    def _check_options(self) -> None:
        if self.fan_out < 2:
            raise BadInputError(f"rewrite-rules: fan_out is {self.fan_out}; give 2 values or more.")
        if not 0 <= self.max_fpr <= 1:
            raise BadInputError(f"rewrite-rules: max_fpr is {self.max_fpr}; give a share from 0 to 1.")
        if self.max_per_cluster < 2:
            raise BadInputError(f"rewrite-rules: max_per_cluster is {self.max_per_cluster}; give 2 URLs or more.")

    def _mine(self, crawl: MappedCrawl) -> list[Rule]:
        draw = random.Random(self.seed)  # noqa: S311 - draws examples, guards nothing
        pairwise: set[_Pairwise] = set()
        for places in crawl.clusters.values():
            if len(places) > 1:
                maps = stratified([crawl.urls[place].values for place in places], self.max_per_cluster, draw)
                pairwise.update(pairwise_rules(maps))
        rules = [as_rule(crawl.host, found) for found in generalized(pairwise, self.fan_out, draw)]
        return naive_selection(qualified(rules, crawl, max_fpr=self.max_fpr), crawl)


def pairwise_rules(maps: Sequence[KeyValues]) -> Iterable[_Pairwise]:
    """A rule for each ordered pair of URLs."""
    for source in maps:
        counts = Counter(source.values())
        for target in maps:
            if source is not target:
                keys = tuple(sorted(source.keys() | target.keys()))
                operations = pair_operations(source, target, counts)
                shape = Shape(keys, frozenset(key for key in target if key not in source))
                yield shape, tuple(map(source.get, keys)), tuple(map(operations.get, keys))


def generalized(pairwise: Iterable[_Pairwise], fan_out: int, draw: random.Random) -> list[_Pairwise]:
    """All generalisations, level by level: the n-th level has n generalised keys."""
    level = sorted(pairwise, key=repr)  # sets have no order of their own
    found: list[_Pairwise] = []
    while level:
        if len(level) > _MAX_RULES:
            level = draw.sample(level, _MAX_RULES)
        level = list(_next_level(level, fan_out))
        found += level
    return found


def as_rule(host: str, found: _Pairwise) -> Rule:
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
        origin=RewriteRules.name,
    )


def _next_level(level: Sequence[_Pairwise], fan_out: int) -> list[_Pairwise]:
    """Rules that are alike but for one key become one rule, if the key takes enough values."""
    wider: dict[_Pairwise, None] = {}
    for i in range(max((len(row) for _, row, _ in level), default=0)):
        for rules in _alike(level, i).values():
            if len(rules) >= fan_out and len({row[i] for _, row, _ in rules}) >= fan_out:
                shape, row, operations = rules[0]
                said = {operations[i] for _, _, operations in rules}
                operation = operations[i] if len(said) == 1 else Star()
                wider[shape, (*row[:i], _WILD, *row[i + 1 :]), (*operations[:i], operation, *operations[i + 1 :])] = (
                    None
                )
    return list(wider)


def _alike(level: Sequence[_Pairwise], i: int) -> dict[tuple[object, ...], list[_Pairwise]]:
    """Rules that differ in their key number *i* alone; one key at a time, for memory's sake."""
    alike: dict[tuple[object, ...], list[_Pairwise]] = {}
    for rule in level:
        (keys, added), row, operations = rule
        if i < len(row) and row[i] != _WILD and keys[i] not in added:
            masked = _masked(keys[i], operations[i])
            rest = operations if masked is operations[i] else (*operations[:i], masked, *operations[i + 1 :])
            alike.setdefault((keys, added, row[:i], row[i + 1 :], rest), []).append(rule)
    return alike


def _masked(key: str, operation: Operation | None) -> object:
    """What has to be alike of the operation on the generalised key: literals need not, but where they build the URL."""
    return Set if isinstance(operation, Set) and key not in STRUCTURE else operation
