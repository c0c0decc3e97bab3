"""Pairs of duplicates: which to take, and how the second URL of a pair comes of the first."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dedup_crawler.rules.language.rule import Copy, Drop, Operation, Set
from dedup_crawler.urls.keyvalue import KeyValues

STRUCTURE = frozenset({"scheme", "path.length", "root", "slash", "ext"})
"""Keys that say how a URL is built: they are set, but no value is taken from them, and none is ignored."""


_ARGUMENT = "\0argument"  # no value of a URL in normal form
_MIN_SHARE, _MIN_URLS = 0.01, 5  # a value that fewer URLs have is nobody's constant

Constants = frozenset[tuple[str, "str | None"]]
"""Keys and values that enough URLs of a site have to be written as literals."""

KeyPattern = frozenset[tuple[str, "str | None"]]
"""Keys of a URL, with their values where these are constants."""


class PairKeys(NamedTuple):
    """Keys of a pair."""

    keys: tuple[str, ...]
    """Keys of both URLs, sorted."""
    added: frozenset[str]
    """Keys that only the target has."""


def constants_of(maps: Sequence[KeyValues]) -> Constants:
    """Values that 1 % of the URLs have, and five of them at least (the share is SIGIR'17's for function tokens)."""
    n_urls = Counter(item for values in maps for item in values.items())
    least = max(_MIN_URLS, _MIN_SHARE * len(maps))
    return frozenset(item for item, n in n_urls.items() if n >= least)


def key_pattern_of(values: KeyValues, constants: Constants) -> KeyPattern:
    """Pattern of a URL: its common part with others that do the same to something else."""
    return frozenset((key, value if (key, value) in constants else _ARGUMENT) for key, value in values.items())


def stratified(maps: Sequence[KeyValues], limit: int, draw: random.Random) -> list[KeyValues]:
    """At most *limit* maps, in turn from each set of keys, so that no kind of URL crowds out another."""
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


def pair_operations(source: KeyValues, target: KeyValues, n_keys: Mapping[str | None, int]) -> dict[str, Operation]:
    """Operations that turn *source* into *target*: a reference to another key's value before a literal.

    Parameters
    ----------
    n_keys
        Value -> how many keys of *source* have it: one that is alone with its value is referred to first.
    """
    operations: dict[str, Operation] = {}
    for key, value in target.items():
        if key not in source or source[key] != value:
            reference = _reference(source, value, n_keys) if key not in STRUCTURE else None
            operations[key] = Set(value) if reference is None else Copy(reference)
    for key in source:
        if key not in target:
            operations[key] = Drop()
    return operations


def _reference(source: KeyValues, value: str | None, n_keys: Mapping[str | None, int]) -> str | None:
    """The leftmost key with *value*, among those that say what a URL speaks of."""
    if not value or not n_keys.get(value):
        return None
    return next((key for key, its in source.items() if its == value and key not in STRUCTURE), None)
