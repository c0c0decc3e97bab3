"""Rows that a decision tree learns rules from: the mining of WSDM'10.

H. S. Koppula et al., "Learning URL patterns for webpage de-duplication", WSDM 2010; what is decided here stands in
:mod:`dedup_crawler.methods.decision_tree`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dedup_crawler.rules.language.rule import Operation, Rule, Set, Star
from dedup_crawler.rules.miners.decision_tree import Row, Transformation, generalized
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.pairs import (
    STRUCTURE,
    Constants,
    KeyPattern,
    constants_of,
    key_pattern_of,
    pair_operations,
    stratified,
)
from dedup_crawler.urls.keyvalue import KeyValues

_MAX_SOURCES = 10  # of one set of keys and cluster


def leaf_rules(crawl: MappedCrawl, origin: str, *, seed: int) -> list[Rule]:
    """Rules of the leaves of a host's tree, uncounted."""
    clusters = {cluster: [crawl.urls[place].values for place in places] for cluster, places in crawl.clusters.items()}
    constants = constants_of([url.values for url in crawl.urls])
    votes = Counter(
        pattern
        for cluster, maps in clusters.items()
        for pattern in key_patterns_of_cluster(cluster, maps, constants=constants)
    )
    rows = [
        row
        for cluster, maps in clusters.items()
        for row in rows_of_cluster(cluster, maps, votes=votes, constants=constants, seed=seed)
    ]
    return [
        Rule(crawl.host, leaf.context, dict(leaf.transformation), leaf.absent, origin) for leaf in generalized(rows)
    ]


def key_patterns_of_cluster(cluster: int, maps: Sequence[KeyValues], *, constants: Constants) -> set[KeyPattern]:
    """Votes of a cluster of several URLs; a single URL has no choice."""
    return {key_pattern_of(values, constants) for values in maps} if len(maps) > 1 else set()


def rows_of_cluster(
    cluster: int,
    maps: Sequence[KeyValues],
    *,
    votes: Mapping[KeyPattern, int],
    constants: Constants,
    seed: int,
) -> list[Row]:
    """Pairwise rules from the sources of a cluster to its target, and the target's own row.

    Parameters
    ----------
    cluster, maps
        Key and values of this stage.
    votes
        Key pattern -> clusters that hold it: key patterns are chosen before URLs, lest clusters contradict each other.
    """
    draw = random.Random(f"{seed} {cluster}")  # noqa: S311 - draws examples, guards nothing
    n_urls = Counter(item for values in maps for item in set(values.values()))

    def rank(values: KeyValues) -> tuple[object, ...]:
        own = [item for item in values.items() if item not in constants and n_urls[item[1]] < 2]
        return len(own), *_target_rank(values, votes, constants)

    target = min(maps, key=rank)
    rows: list[Row] = []
    ignored: set[str] = set()
    for source in _sources(maps, target, draw):
        operations = pair_operations(source, target, Counter(source.values()))
        is_alike = key_pattern_of(source, constants) == key_pattern_of(target, constants)
        transformation = _transformation(operations, constants, is_alike=is_alike)
        if transformation is not None:
            rows.append(Row(source, transformation))
            ignored |= {key for key, operation in transformation if isinstance(operation, Star)}
    return [*rows, Row(target, frozenset((key, Star()) for key in ignored))]


def _target_rank(values: KeyValues, votes: Mapping[KeyPattern, int], constants: Constants) -> tuple[object, ...]:
    """Smaller is the better target; all but the last two are the same for all URLs of a key pattern."""
    is_dynamic = any(key.startswith("query[") for key in values)
    written = sorted((key, value or "") for key, value in values.items())
    length = sum(len(value) for _, value in written)
    return is_dynamic, -votes.get(key_pattern_of(values, constants), 0), len(values), length, written


def _sources(maps: Sequence[KeyValues], target: KeyValues, draw: random.Random) -> Iterable[KeyValues]:
    by_shape: dict[frozenset[str], list[KeyValues]] = {}
    for values in maps:
        if values is not target:
            by_shape.setdefault(frozenset(values), []).append(values)
    for alike in by_shape.values():
        yield from stratified(alike, _MAX_SOURCES, draw)


def _transformation(
    operations: Mapping[str, Operation], constants: Constants, *, is_alike: bool
) -> Transformation | None:
    """Operations with rare literals ignored between URLs of one key pattern; None where one would be made up."""
    said: dict[str, Operation] = {}
    for key, operation in operations.items():
        if isinstance(operation, Set) and key not in STRUCTURE and (key, operation.value) not in constants:
            if not is_alike:
                return None
            operation = Star()
        said[key] = operation
    return frozenset(said.items())
