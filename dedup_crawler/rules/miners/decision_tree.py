"""The decision-tree approach: rules from chosen pairs of duplicates, with contexts generalised by a tree.

H. S. Koppula, K. P. Leela, A. Agarwal, K. P. Chitrapura, S. Garg, A. Sasturkar, "Learning URL patterns for webpage
de-duplication", WSDM 2010; a short version is A. Agarwal et al., CIKM 2009. We could not get these papers. This file
follows the abstract, patents of the same group, and SIGIR'17, which discards rules that are wrong in more than 10 %.

The contexts of pairwise rules are rows, and their transformations are classes. The tests from the root to a leaf are
the generalised context of the leaf's transformation. Their tree is ID3. Here the *gain ratio* (C4.5) chooses the tests,
because plain gain prefers keys with a different value in each URL. A missing key counts as a value. Rare values share a
branch, which matches all values without a branch of their own.

We decided the following. The target of a cluster is the URL with the fewest values that no other URL of the cluster
has, because these cannot be derived. Ties go to a URL without a query, then to the key pattern of most clusters, then
to the fewest keys. Each set of keys gives at most ten sources. Singletons and targets are rows without a change: the
negative examples. If a rare value of the target occurs nowhere in the source, both ignore it if they have the same key
pattern; otherwise the pair is left out. The draw for a cluster depends only on the seed and the cluster.

Cost: O(n k d log n) for n rows of k keys in a tree of depth d; a cluster gives at most ten rows for each set of keys.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from dedup_crawler.grouping import grouped
from dedup_crawler.rules.language.matchers import ANY, Literal, Matcher, NoneOf
from dedup_crawler.rules.language.operations import Operation, Set, Star
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.miners.mapped_crawl import (
    MISSING,
    STRUCTURE,
    Constants,
    KeyPattern,
    MappedCrawl,
    constants_of,
    key_pattern_of,
    pair_operations,
    stratified,
)
from dedup_crawler.urls.keyvalue import KeyValues

_MAX_SOURCES = 10  # sources for each set of keys in a cluster
MIN_PURITY = 0.9
"""Smallest share (0-1) of the rows of a leaf that have its transformation."""
MIN_ROWS = 10
"""Smallest number of rows of a leaf."""
_MIN_VALUE_ROWS, _MIN_VALUE_SHARE = 3, 0.01  # a value of fewer rows has no branch of its own
_OTHERS = "\0others"  # no URL in normal form has this value

Transformation = frozenset[tuple[str, Operation]]
"""Keys and operations; empty if the URL does not change."""


class TreeRow(NamedTuple):
    """One pairwise rule, or a URL that does not change."""

    context: KeyValues
    transformation: Transformation


class Cluster(NamedTuple):
    """The URLs of one page, and what is known of their host."""

    number: int
    maps: Sequence[KeyValues]
    votes: Mapping[KeyPattern, int]
    """Key pattern -> number of clusters that have it. The most frequent pattern is the target, so that clusters do not
    contradict each other."""
    constants: Constants

    def rows(self, *, seed: int) -> list[TreeRow]:
        """Pairwise rules from the sources of the cluster to its target, and the row of the target itself."""
        draw = random.Random(f"{seed} {self.number}")  # noqa: S311 - draws examples, guards nothing
        constants = self.constants
        n_urls = Counter(item for values in self.maps for item in set(values.values()))

        def rank(values: KeyValues) -> tuple[object, ...]:
            n_own = sum(item not in constants and n_urls[item[1]] < 2 for item in values.items())
            is_dynamic = any(key.startswith("query[") for key in values)
            n_votes = self.votes.get(key_pattern_of(values, constants), 0)
            written = sorted((key, value or "") for key, value in values.items())
            return n_own, is_dynamic, -n_votes, len(values), sum(len(value) for _, value in written), written

        target = min(self.maps, key=rank)
        rows: list[TreeRow] = []
        ignored: set[str] = set()
        for source in _sources(self.maps, target, draw):
            operations = pair_operations(source, target)
            is_alike = key_pattern_of(source, constants) == key_pattern_of(target, constants)
            transformation = _transformation(operations, constants, is_alike=is_alike)
            if transformation is not None:
                rows.append(TreeRow(source, transformation))
                ignored |= {key for key, operation in transformation if isinstance(operation, Star)}
        return [*rows, TreeRow(target, frozenset((key, Star()) for key in ignored))]


def leaf_rules(crawl: MappedCrawl, origin: str, *, seed: int) -> list[Rule]:
    """Rules of the leaves of a host's tree, without statistics."""
    rows = [row for each in clusters_of(crawl) for row in each.rows(seed=seed)]
    return list(rules_of_rows(crawl.host, rows, origin))


def clusters_of(crawl: MappedCrawl) -> list[Cluster]:
    """Clusters of a host, in crawl order."""
    constants = constants_of(crawl.maps)
    several = [maps for maps in crawl.clusters.values() if len(maps) > 1]
    votes = Counter(pattern for maps in several for pattern in {key_pattern_of(each, constants) for each in maps})
    return [Cluster(number, maps, votes, constants) for number, maps in crawl.clusters.items()]


def _sources(maps: Sequence[KeyValues], target: KeyValues, draw: random.Random) -> Iterable[KeyValues]:
    for alike in grouped((frozenset(values), values) for values in maps if values is not target).values():
        yield from stratified(alike, _MAX_SOURCES, draw)


def _transformation(
    operations: Mapping[str, Operation], constants: Constants, *, is_alike: bool
) -> Transformation | None:
    """Operations with :class:`Star` for rare literals if both URLs have one key pattern; None if they do not."""
    said: dict[str, Operation] = {}
    for key, operation in operations.items():
        if isinstance(operation, Set) and key not in STRUCTURE and (key, operation.value) not in constants:
            if not is_alike:
                return None
            operation = Star()
        said[key] = operation
    return frozenset(said.items())


def rules_of_rows(host: str, rows: Sequence[TreeRow], origin: str) -> Iterator[Rule]:
    """Rules of the leaves of the tree of *rows*: most rows of a leaf have one transformation, which changes the URL."""
    classes = {row.transformation: number for number, row in enumerate(rows)}
    labels = [classes[row.transformation] for row in rows]
    said = {number: transformation for transformation, number in classes.items()}
    keys = frozenset(key for row in rows for key in row.context)
    open_nodes: list[tuple[list[int], frozenset[str], dict[str, Matcher], frozenset[str]]] = [
        (list(range(len(rows))), keys, {}, frozenset())
    ]
    while open_nodes:
        places, keys, context, absent = open_nodes.pop()
        label, n = Counter(labels[place] for place in places).most_common(1)[0]
        if n >= MIN_PURITY * len(places) or len(places) < MIN_ROWS:
            if said[label] and len(places) >= MIN_ROWS:
                yield Rule(host, context, dict(said[label]), absent, origin)
            continue
        test = _best_test(rows, labels, places, keys)
        if test is None:
            continue
        key, parts = test
        named = frozenset(value for value in parts if value not in (MISSING, _OTHERS))
        for value, part in parts.items():
            if value == MISSING:
                open_nodes.append((part, keys - {key}, context, absent | {key}))
            else:
                others: Matcher = NoneOf(named) if named else ANY
                matcher = others if value == _OTHERS else Literal(value)
                open_nodes.append((part, keys - {key}, {**context, key: matcher}, absent))


def _best_test(
    rows: Sequence[TreeRow], labels: Sequence[int], places: Sequence[int], keys: frozenset[str]
) -> tuple[str, dict[str | None, list[int]]] | None:
    """The key with the highest gain ratio, and the rows of each of its values; None if no key gains anything."""
    before = _entropy(Counter(labels[place] for place in places).values())
    present = {key for place in places for key in rows[place].context}
    best = (0.0, "")
    for key in present & keys:
        parts = _parts(rows, places, key).values()
        after = sum(len(part) / len(places) * _entropy(Counter(labels[p] for p in part).values()) for part in parts)
        if len(parts) > 1 and before - after > 1e-9:
            best = min(best, (-(before - after) / _entropy(map(len, parts)), key))
    return (best[1], dict(sorted(_parts(rows, places, best[1]).items(), key=repr))) if best[0] < 0 else None


def _parts(rows: Sequence[TreeRow], places: Sequence[int], key: str) -> dict[str | None, list[int]]:
    """Rows of each value of a key; rare values share one part."""
    values: list[str | None] = [rows[place].context.get(key, MISSING) for place in places]
    least = max(_MIN_VALUE_ROWS, _MIN_VALUE_SHARE * len(places))
    kept = {value for value, n in Counter(values).items() if n >= least} | {MISSING}
    return grouped(zip((value if value in kept else _OTHERS for value in values), places, strict=True))


def _entropy(counts: Iterable[int]) -> float:
    counts = list(counts)
    total = sum(counts)
    return -sum(n / total * math.log(n / total) for n in counts)
