"""DUSTER: aligns all URLs of a page, and compares the columns of the alignments across pages.

K. W. L. Rodrigues, M. Cristo, E. S. de Moura, A. S. da Silva, "Learning URL normalization rules using multiple
alignment of sequences", SPIRE 2013; "Removing DUST using multiple alignment of sequences", TKDE 2015. We could only get
the abstracts: the alignment is theirs, the rest is our decision.

Two sequences are aligned at a time (Needleman-Wunsch), the most similar ones first. The result is one sequence whose
places hold sets of tokens, and is aligned further (progressive alignment). The score of two places is the Jaccard
coefficient of their tokens if they are of one kind; places of different kinds are never aligned; a gap costs 0.5.

A column with one token in all URLs of a page identifies the page; any other column does not matter. The target is the
URL with the fewest tokens that only it has. A rule that at least *min_clusters* pages share is a candidate. A value
that is the same on all these pages is part of the context; a value that differs is free.

Cost: O(K^2 n^2) for a page of K URLs with n tokens. At most *max_per_cluster* URLs of a page are aligned, drawn evenly
from their sets of keys, and at most 10,000 pages of a host.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dedup_crawler.rules.language.matchers import ANY, Literal, Matcher, OfClass, OneOf
from dedup_crawler.rules.language.operations import Copy, Drop, Operation, Set, Star
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.miners.mapped_crawl import (
    STRUCTURE,
    Constants,
    KeyPattern,
    MappedCrawl,
    constants_of,
    key_pattern_of,
    stratified,
)
from dedup_crawler.urls.keyvalue import KeyValues

_GAP = -0.5
_MAX_CLUSTERS = 10_000
_MAX_SEEN = 20  # most values in the context of a column that does not matter
_DIGITS = OfClass("digits")


class Candidate(NamedTuple):
    """Common part of the rules of several pages."""

    pattern: KeyPattern
    """Key pattern of the source, without the columns that do not matter."""
    free: frozenset[str]
    """Keys of the columns that do not matter."""
    transformation: frozenset[tuple[str, Operation]]
    absent: frozenset[str]


def consensus_rules(
    crawl: MappedCrawl, origin: str, *, min_clusters: int, max_per_cluster: int, seed: int
) -> list[Rule]:
    """Rules that at least *min_clusters* pages share, without statistics."""
    draw = random.Random(seed)  # noqa: S311 - draws examples, guards nothing
    constants = constants_of(crawl.maps)
    repeated = [cluster for cluster, maps in crawl.clusters.items() if len(maps) > 1]
    if len(repeated) > _MAX_CLUSTERS:
        repeated = draw.sample(repeated, _MAX_CLUSTERS)
    sources: dict[Candidate, dict[int, list[KeyValues]]] = defaultdict(lambda: defaultdict(list))
    for cluster in repeated:
        for candidate, source in candidates(stratified(crawl.clusters[cluster], max_per_cluster, draw), constants):
            sources[candidate][cluster].append(source)
    return [
        _rule(crawl.host, origin, candidate, [values for maps in of_clusters.values() for values in maps])
        for candidate, of_clusters in sources.items()
        if len(of_clusters) >= min_clusters
    ]


def candidates(maps: Sequence[KeyValues], constants: Constants) -> Iterator[tuple[Candidate, KeyValues]]:
    """Rules from the URLs of a page to its target, each with its source URL."""
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
        # key of the target -> key of the source
        fixed_keys = {key: own_key[at] for key, at in of_key[target].items() if is_fixed[at]}
        if operations := _operations(source, maps[target], fixed_keys, constants):
            free = frozenset(key for key, at in of_key[number].items() if not is_fixed[at])
            kept = {key: value for key, value in source.items() if key not in free}
            absent = frozenset(key for key in maps[target] if key not in source)
            yield Candidate(key_pattern_of(kept, constants), free, frozenset(operations.items()), absent), source


def _operations(
    source: KeyValues, target: KeyValues, fixed_keys: Mapping[str, str], constants: Constants
) -> dict[str, Operation] | None:
    """Operations that turn *source* into *target*, except for keys that do not matter; None if a value is missing."""
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
    """Make the rule of a candidate: a value that is the same in all sources is a literal, any other is free.

    For a column that does not matter, the context lists the values if they are few.
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


@dataclass(frozen=True)
class AlignedColumn:
    """A place of an alignment."""

    kind: str
    """``path``, ``ext``, ``slash`` or a query key; only columns of one kind are aligned."""
    keys: Mapping[int, str]
    """Number of a URL -> the key of its token; a URL with a gap is missing."""
    tokens: frozenset[str | None]


Profile = list[AlignedColumn]


def align(maps: Sequence[KeyValues]) -> Profile:
    """Align the URLs of one page (at least one)."""
    profiles = {number: _sequence(number, values) for number, values in enumerate(maps)}
    pairs = {(a, b): _aligned(profiles[a], profiles[b]) for a in profiles for b in profiles if a < b}
    while len(profiles) > 1:
        a, b = max(pairs, key=lambda pair: (pairs[pair][0], -pair[0], -pair[1]))
        profiles[a] = pairs[a, b][1]
        del profiles[b]
        pairs = {pair: found for pair, found in pairs.items() if not {a, b} & set(pair)}
        for pair in [(min(a, other), max(a, other)) for other in profiles if other != a]:
            pairs[pair] = _aligned(profiles[pair[0]], profiles[pair[1]])
    return joined(next(iter(profiles.values())))


def joined(profile: Profile) -> Profile:
    """Join columns that hold the same single token for different URLs: the token moved, say from path to query."""
    columns: Profile = []
    for column in profile:
        for i, other in enumerate(columns):
            is_moved = len(column.tokens) == 1 and column.tokens == other.tokens and None not in column.tokens
            if is_moved and column.keys.keys().isdisjoint(other.keys):
                columns[i] = AlignedColumn(other.kind, {**other.keys, **column.keys}, other.tokens)
                break
        else:
            columns.append(column)
    return columns


def _sequence(number: int, values: KeyValues) -> Profile:
    """Tokens of one URL: path parts in their order, then extension, slash and query."""
    path = [key for key in values if key.startswith("path[")]
    path.sort(key=lambda key: [int(part) for part in key[5:].replace("]", "").split("@")])
    query = sorted(key for key in values if key.startswith("query["))
    kinds = [*(("path", key) for key in path), *((key, key) for key in ("ext", "slash", *query) if key in values)]
    return [AlignedColumn(kind, {number: key}, frozenset((values[key],))) for kind, key in kinds]


def _aligned(left: Profile, right: Profile) -> tuple[float, Profile]:
    """Align two profiles; returns the mean score of a place, and the alignment."""
    scores = [[_GAP * j for j in range(len(right) + 1)]]
    for i, one in enumerate(left, start=1):
        row = [_GAP * i]
        for j, other in enumerate(right, start=1):
            best = max(scores[i - 1][j], row[j - 1]) + _GAP
            if one.kind == other.kind:
                best = max(best, scores[i - 1][j - 1] + _jaccard(one, other))
            row.append(best)
        scores.append(row)
    columns: Profile = []
    i, j = len(left), len(right)
    while i or j:
        if i and j and left[i - 1].kind == right[j - 1].kind:
            one, other = left[i - 1], right[j - 1]
            if scores[i][j] == scores[i - 1][j - 1] + _jaccard(one, other):
                columns.append(AlignedColumn(one.kind, {**one.keys, **other.keys}, one.tokens | other.tokens))
                i, j = i - 1, j - 1
                continue
        if i and scores[i][j] == scores[i - 1][j] + _GAP:
            i -= 1
            columns.append(left[i])
        else:
            j -= 1
            columns.append(right[j])
    return scores[-1][-1] / max(1, len(columns)), columns[::-1]


def _jaccard(one: AlignedColumn, other: AlignedColumn) -> float:
    return len(one.tokens & other.tokens) / len(one.tokens | other.tokens)
