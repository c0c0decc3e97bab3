"""Multiple alignment of the URLs of one page: which tokens stand in one place.

K. W. L. Rodrigues, M. Cristo, E. S. de Moura, A. S. da Silva, "Removing DUST using multiple alignment of sequences",
TKDE 2015, whose text could not be had. Sequences are aligned in pairs (Needleman-Wunsch), the most alike first, and an
alignment is from then on one sequence whose places hold sets of tokens (progressive alignment). The score of two places
is the Jaccard coefficient of their tokens if they are of one kind; places of different kinds are never aligned; a gap
costs 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dedup_crawler.urls.keyvalue import KeyValues

_GAP = -0.5


@dataclass(frozen=True)
class Column:
    """A place of an alignment."""

    kind: str
    """``path``, ``ext``, ``slash`` or the name of a query key: what may be aligned."""
    keys: Mapping[int, str]
    """Number of a URL -> the key of its token; a URL that is missing has a gap."""
    tokens: frozenset[str | None]


Profile = list[Column]


def align(maps: Sequence[KeyValues]) -> Profile:
    """Align the URLs of one page (one at least); cost O(K^2 n^2) for K URLs of n tokens."""
    profiles = {number: _sequence(number, values) for number, values in enumerate(maps)}
    pairs = {(a, b): _aligned(profiles[a], profiles[b]) for a in profiles for b in profiles if a < b}
    while len(profiles) > 1:
        a, b = max(pairs, key=lambda pair: (pairs[pair][0], -pair[0], -pair[1]))
        merged = pairs[a, b][1]
        del profiles[b]
        profiles[a] = merged
        pairs = {pair: found for pair, found in pairs.items() if not {a, b} & set(pair)}
        for other in profiles:
            if other != a:
                pair = (min(a, other), max(a, other))
                pairs[pair] = _aligned(profiles[pair[0]], profiles[pair[1]])
    return joined(next(iter(profiles.values())))


def joined(profile: Profile) -> Profile:
    """Columns that hold one and the same token, each for other URLs, are one: the token moved (path to query)."""
    columns: Profile = []
    for column in profile:
        for i, other in enumerate(columns):
            is_moved = len(column.tokens) == 1 and column.tokens == other.tokens and None not in column.tokens
            if is_moved and column.keys.keys().isdisjoint(other.keys):
                columns[i] = Column(other.kind, {**other.keys, **column.keys}, other.tokens)
                break
        else:
            columns.append(column)
    return columns


def _sequence(number: int, values: KeyValues) -> Profile:
    """Tokens of one URL: path pieces in their order, then extension, slash and query."""
    path = [key for key in values if key.startswith("path[")]
    path.sort(key=lambda key: [int(part) for part in key[5:].replace("]", "").split("@")])
    query = sorted(key for key in values if key.startswith("query["))
    kinds = [("path", key) for key in path] + [(key, key) for key in ("ext", "slash") if key in values]
    kinds += [(key, key) for key in query]
    return [Column(kind, {number: key}, frozenset((values[key],))) for kind, key in kinds]


def _aligned(left: Profile, right: Profile) -> tuple[float, Profile]:
    """Score per place and alignment of two profiles."""
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
                columns.append(Column(one.kind, {**one.keys, **other.keys}, one.tokens | other.tokens))
                i, j = i - 1, j - 1
                continue
        if i and scores[i][j] == scores[i - 1][j] + _GAP:
            i -= 1
            columns.append(left[i])
        else:
            j -= 1
            columns.append(right[j])
    return scores[-1][-1] / max(1, len(columns)), columns[::-1]


def _jaccard(one: Column, other: Column) -> float:
    return len(one.tokens & other.tokens) / len(one.tokens | other.tokens)
