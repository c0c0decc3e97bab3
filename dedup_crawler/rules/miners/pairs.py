"""Pairs of duplicates: draws them, and finds the operations that turn one URL into the other."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from dedup_crawler.rules.language.rule import Copy, Drop, Operation, Set
from dedup_crawler.urls.keyvalue import KeyValues

STRUCTURE = frozenset({"scheme", "path.length", "root", "slash", "ext"})
"""Keys for the form of a URL. They can be set, but their values are neither copied nor ignored."""


_ARGUMENT = "\0argument"  # no URL in normal form has this value
_MIN_SHARE, _MIN_URLS = 0.01, 5  # a value of fewer URLs is no constant

Constants = frozenset[tuple[str, "str | None"]]
"""Keys and values that so many URLs of a site have that rules may set them as literals."""

KeyPattern = frozenset[tuple[str, "str | None"]]
"""Keys of a URL, with those values that are constants."""


class PairKeys(NamedTuple):
    """Keys of a pair."""

    keys: tuple[str, ...]
    """Keys of either URL, sorted."""
    added: frozenset[str]
    """Keys that only the target has."""


def constants_of(maps: Sequence[KeyValues]) -> Constants:
    """Values that 1 % of the URLs, and at least five, have (the share of SIGIR'17 for function tokens)."""
    n_urls = Counter(item for values in maps for item in values.items())
    least = max(_MIN_URLS, _MIN_SHARE * len(maps))
    return frozenset(item for item, n in n_urls.items() if n >= least)


def key_pattern_of(values: KeyValues, constants: Constants) -> KeyPattern:
    """Key pattern of a URL, shared by URLs that differ only in their arguments."""
    return frozenset((key, value if (key, value) in constants else _ARGUMENT) for key, value in values.items())


def stratified(maps: Sequence[KeyValues], limit: int, draw: random.Random) -> list[KeyValues]:
    """Draw at most *limit* maps, in turn from each set of keys, so that no kind of URL crowds out another."""
    if len(maps) <= limit:
        return list(maps)
    strata: dict[frozenset[str], list[KeyValues]] = defaultdict(list)
    for values in maps:
        strata[frozenset(values)].append(values)
    left = [draw.sample(stratum, min(limit, len(stratum))) for stratum in strata.values()]
    taken: list[KeyValues] = []
    while len(taken) < limit:
        left = [stratum for stratum in left if stratum]
        taken += [stratum.pop() for stratum in left[: limit - len(taken)]]
    return taken


def pair_operations(source: KeyValues, target: KeyValues) -> dict[str, Operation]:
    """Operations that turn *source* into *target*; a copy of another key's value is preferred to a literal."""
    operations: dict[str, Operation] = {}
    for key, value in target.items():
        if key not in source or source[key] != value:
            reference = _reference(source, value) if key not in STRUCTURE else None
            operations[key] = Set(value) if reference is None else Copy(reference)
    for key in source:
        if key not in target:
            operations[key] = Drop()
    return operations


def _reference(source: KeyValues, value: str | None) -> str | None:
    """The leftmost key with *value* that is not in :data:`STRUCTURE`."""
    return next((key for key, its in source.items() if its == value and key not in STRUCTURE), None) if value else None
