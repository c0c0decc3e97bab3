"""Rules that pages say alike of their aligned URLs: the mining of DUSTER.

K. W. L. Rodrigues et al., SPIRE 2013, TKDE 2015; what is decided here stands in :mod:`dedup_crawler.methods.duster`.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from dedup_crawler.rules.language.rule import (
    ANY,
    Copy,
    Drop,
    Literal,
    Matcher,
    OfClass,
    OneOf,
    Operation,
    Rule,
    Set,
    Star,
)
from dedup_crawler.rules.miners.alignment import align
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.pairs import STRUCTURE, Constants, KeyPattern, constants_of, key_pattern_of, stratified
from dedup_crawler.urls.keyvalue import KeyValues

_MAX_CLUSTERS = 10_000
_MAX_SEEN = 20  # values of a column that does not matter
_DIGITS = OfClass("digits")


class Candidate(NamedTuple):
    """Common part of the rules of several pages."""

    pattern: KeyPattern
    """Of the source, without the columns that do not matter."""
    free: frozenset[str]
    """Keys of those columns."""
    transformation: frozenset[tuple[str, Operation]]
    absent: frozenset[str]


def consensus_rules(
    crawl: MappedCrawl, origin: str, *, min_clusters: int, max_per_cluster: int, seed: int
) -> list[Rule]:
    """Rules that *min_clusters* pages say alike, uncounted."""
    draw = random.Random(seed)  # noqa: S311 - draws examples, guards nothing
    constants = constants_of([url.values for url in crawl.urls])
    repeated = [cluster for cluster, places in crawl.clusters.items() if len(places) > 1]
    if len(repeated) > _MAX_CLUSTERS:
        repeated = draw.sample(repeated, _MAX_CLUSTERS)
    sources: dict[Candidate, dict[int, list[KeyValues]]] = defaultdict(lambda: defaultdict(list))
    for cluster in repeated:
        maps = [crawl.urls[place].values for place in crawl.clusters[cluster]]
        for candidate, source in candidates(stratified(maps, max_per_cluster, draw), constants):
            sources[candidate][cluster].append(source)
    return [
        _rule(crawl.host, origin, candidate, [values for maps in of_clusters.values() for values in maps])
        for candidate, of_clusters in sources.items()
        if len(of_clusters) >= min_clusters
    ]


def candidates(maps: Sequence[KeyValues], constants: Constants) -> Iterator[tuple[Candidate, KeyValues]]:
    """Rules that lead from each URL of a page to its target, with that URL."""
    columns = align(maps)
    of_key: list[dict[str, int]] = [{} for _ in maps]
    for place, column in enumerate(columns):
        for number, key in column.keys.items():
            of_key[number][key] = place
    is_fixed = [len(column.tokens) == 1 and len(column.keys) == len(maps) for column in columns]

    def rank(number: int) -> tuple[object, ...]:
        values = maps[number]
        own = sum(not is_fixed[at] and (key, values[key]) not in constants for key, at in of_key[number].items())
        is_dynamic = any(key.startswith("query[") for key in values)
        pattern = sorted((key, value or "") for key, value in key_pattern_of(values, constants))
        return own, is_dynamic, len(values), pattern, sorted((key, value or "") for key, value in values.items())

    target = min(range(len(maps)), key=rank)
    for number, source in enumerate(maps):
        own_key = {at: key for key, at in of_key[number].items()}
        fixed_keys = {
            key: own_key[at] for key, at in of_key[target].items() if is_fixed[at]
        }  # of the target -> of the source
        operations = _operations(source, maps[target], fixed_keys, constants)
        if operations:
            free = frozenset(key for key, at in of_key[number].items() if not is_fixed[at])
            kept = {key: value for key, value in source.items() if key not in free}
            absent = frozenset(key for key in maps[target] if key not in source)
            yield Candidate(key_pattern_of(kept, constants), free, frozenset(operations.items()), absent), source


def _operations(
    source: KeyValues, target: KeyValues, fixed_keys: Mapping[str, str], constants: Constants
) -> dict[str, Operation] | None:
    """Turn *source* into *target*, but for keys that do not matter; None where a value would have to be made up."""
    operations: dict[str, Operation] = {key: Drop() for key in source if key not in target}
    for key, value in target.items():
        if key in fixed_keys:
            if fixed_keys[key] != key:
                operations[key] = Copy(fixed_keys[key])
        elif key in STRUCTURE or (key, value) in constants:
            if key not in source or source[key] != value:
                operations[key] = Set(value)
        elif key in source:
            operations[key] = Star()
        else:
            return None
    return operations


def _rule(host: str, origin: str, candidate: Candidate, sources: Sequence[KeyValues]) -> Rule:
    """The column test: what is the same on all pages is context, what differs is a slot.

    Of a column that does not matter the context is what was seen in it, if that is little, else anything.
    """
    context: dict[str, Matcher] = {}
    for key in sources[0]:
        values = frozenset(source[key] for source in sources)
        if len(values) == 1:
            context[key] = Literal(next(iter(values)))
        elif key in candidate.free and len(values) <= min(_MAX_SEEN, len(sources) // 2):
            context[key] = OneOf(values)
        else:
            context[key] = _DIGITS if all(map(_DIGITS.matches, values)) else ANY
    return Rule(host, context, dict(candidate.transformation), candidate.absent, origin)
