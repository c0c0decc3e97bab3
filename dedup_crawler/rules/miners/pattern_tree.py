"""The tree of URL patterns of a host: WWW'10, algorithm 1.

T. Lei et al., WWW 2010, section 3: URLs are split by the key whose values have the smallest entropy; frequent
(*salient*) values have a child each, all others (*trivial*) share one, until every value is trivial.

As printed, equation 5 cuts the sorted frequencies at their smallest drop; it is the largest that is meant. Decided
here: a missing key is a value; numbers and hexadecimal strings count as one value each, but for those that many URLs
have (``page=1``); a salient value also has at least 5 URLs and 1 % of the node's; of two values both are salient if
each has 10 %; a drop to more than two thirds is none; after a split into URLs with and without a key its values
may split again; a node of less than 20 URLs is a leaf; a key that fewer URLs than that have does not split.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from dedup_crawler.rules.language.rule import ANY, Literal, Matcher, OfClass
from dedup_crawler.rules.miners.key_columns import ANY_DIGITS, ANY_HEX, KeyColumn, Numbers, key_columns
from dedup_crawler.urls.keyvalue import KeyValues

MIN_NODE = 20  # URLs of a node that may be split
_MIN_SALIENT, _MIN_SALIENT_SHARE = 5, 0.01
_MIN_EACH_OF_TWO = 0.10
_MIN_DROP = math.log(1.5)  # a smaller drop is chance: mirrors are used about equally often
_MIN_UNPOOLED_SHARE = 0.10  # of the URLs that have the key
_HEX = OfClass("hex")
_DIGITS = OfClass("digits")

_TRIVIAL = -3  # beside the numbers of values and of their classes

Value = TypeVar("Value")
Columns = Mapping[str, KeyColumn]
Integers = npt.NDArray[np.int64]


@dataclass
class Node:
    """URLs of one pattern."""

    places: Numbers
    """Places of the node's URLs in the crawl."""
    context: dict[str, Matcher]
    """The pattern: every key that all of its URLs have."""
    absent: frozenset[str]
    """Keys that none of its URLs has, of those that its ancestors were split by."""
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def ancestors(self) -> Iterator[Node]:
        """Yield the ancestors, from the parent up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


def build_tree(maps: Sequence[KeyValues]) -> Node:
    """Tree of all URLs of a host; ``places`` are places in *maps*."""
    columns = key_columns(maps)
    root = _node(columns, maps, np.arange(len(maps), dtype=np.int32), frozenset(), None)
    may_split = [key for key, column in columns.items() if column.n_having >= MIN_NODE]
    open_nodes: list[tuple[Node, list[str], frozenset[str]]] = [(root, may_split, frozenset())]
    while open_nodes:
        node, keys, done = open_nodes.pop()
        varying = _varying(columns, keys, node.places)
        split = _best_split(columns, varying, node.places)
        if split is None:
            continue
        key, parts = split
        node.children = [_node(columns, maps, part, done | {key}, node) for part in parts.values()]
        # where only presence was told apart, the values of the key are still to be looked at
        closed = done if parts.keys() == {0, _TRIVIAL} else done | {key}
        left = [key for key in varying if key not in closed]
        open_nodes += [(child, left, closed) for child in node.children]
    return root


def salient(counts: Mapping[Value, int], n_urls: int) -> set[Value]:
    """Values that have a child of their own: those before the largest drop of the logarithm of the frequency.

    >>> salient({"view": 90, "a0": 11, "a1": 10, "a2": 9}, 120)
    {'view'}
    """
    ordered = sorted(counts.items(), key=lambda item: -item[1])
    if len(ordered) == 1:
        return {ordered[0][0]}
    if len(ordered) == 2 and ordered[1][1] >= max(_MIN_SALIENT, _MIN_EACH_OF_TWO * n_urls):
        return set(counts)
    logs = [math.log(n) for _, n in ordered]
    drop, cut = max((logs[i - 1] - logs[i], -i) for i in range(1, len(logs)))
    if drop < _MIN_DROP:
        return set()
    least = max(_MIN_SALIENT, _MIN_SALIENT_SHARE * n_urls)
    return {value for value, n in ordered[:-cut] if n >= least}


class _Counts(NamedTuple):
    """Number of URLs with each value; numbers and hexadecimal strings count as one value each."""

    counts: Integers
    names: Integers
    """Number of the value, or of its class."""

    def entropy(self, n_urls: int) -> float:
        """Entropy of the key, in nats; equal for two keys that part the URLs alike, whatever their values are."""
        shares = np.sort(self.counts) / n_urls
        return -float((shares * np.log(shares)).sum())


def _varying(columns: Columns, keys: Iterable[str], places: Numbers) -> dict[str, Numbers]:
    """Numbers of the values of the keys that may split these URLs, or some of them."""
    if len(places) < MIN_NODE:
        return {}
    found = {}
    for key in keys:
        numbers = columns[key].of(places)
        if np.count_nonzero(numbers) >= MIN_NODE and numbers.min() != numbers.max():
            found[key] = numbers
    return found


def _best_split(
    columns: Columns, varying: Mapping[str, Numbers], places: Numbers
) -> tuple[str, dict[int, Numbers]] | None:
    """The key with the smallest entropy and the parts that it splits the URLs into; None for a leaf."""
    n_urls = len(places)
    least = max(MIN_NODE, _MIN_SALIENT_SHARE * n_urls)
    best: tuple[float, str] | None = None
    for key, numbers in varying.items():
        if np.count_nonzero(numbers) >= least:
            pooled, _ = _pooled(columns[key], *_counted(numbers, len(columns[key].values)))
            if len(pooled.counts) > 1:
                best = min(best or (math.inf, key), (pooled.entropy(n_urls), key))
    if best is None:
        return None
    key = best[1]
    values, value_of, n = np.unique(varying[key], return_inverse=True, return_counts=True)
    pooled, names = _pooled(columns[key], values.astype(np.int64, copy=False), n.astype(np.int64, copy=False))
    own = salient(dict(zip(pooled.names.tolist(), pooled.counts.tolist(), strict=True)), n_urls)
    if not own:
        return None
    part_of_value = np.where(np.isin(names, list(own)), names, _TRIVIAL)
    parts = _parted(places, part_of_value[value_of])
    return (key, parts) if len(parts) > 1 else None


def _counted(numbers: Numbers, n_values: int) -> tuple[Integers, Integers]:
    """The numbers that there are and how often."""
    if n_values > len(numbers):
        return np.unique(numbers, return_counts=True)
    counts = np.bincount(numbers)
    values = np.flatnonzero(counts)
    return values, counts[values]


def _pooled(column: KeyColumn, values: Integers, counts: Integers) -> tuple[_Counts, Integers]:
    """The counts by name, and the name of each value: its number or, where few URLs have it, that of its class."""
    n_having = counts.sum() - counts[values == 0].sum()
    is_rare = counts < max(MIN_NODE, _MIN_UNPOOLED_SHARE * n_having)
    kinds = column.pools[values]
    names = np.where(is_rare & (kinds < 0), kinds, values)
    pools = [(pool, n) for pool in (ANY_DIGITS, ANY_HEX) if (n := counts[names == pool].sum())]
    is_own = names >= 0
    by_name = _Counts(
        np.append(counts[is_own], [n for _, n in pools]), np.append(names[is_own], [pool for pool, _ in pools])
    )
    return by_name, names


def _parted(places: Numbers, names: Integers) -> dict[int, Numbers]:
    """The places of each part, in order of its first one."""
    order = np.argsort(names, kind="stable")
    known, firsts = np.unique(names[order], return_index=True)
    parts = dict(zip(known.tolist(), np.split(places[order], firsts[1:]), strict=True))
    return dict(sorted(parts.items(), key=lambda part: part[1][0]))


def _node(
    columns: Columns, maps: Sequence[KeyValues], places: Numbers, split_by: frozenset[str], parent: Node | None
) -> Node:
    """A node with its pattern: literal where its URLs have one value, a class or anything otherwise."""
    known = parent.context if parent is not None else {}
    context: dict[str, Matcher] = {}
    for key in maps[places[0]]:  # a key of all URLs is one of the first URL
        inherited = known.get(key)
        matcher = inherited if isinstance(inherited, Literal) else _matcher(columns[key], places)
        if matcher is not None:
            context[key] = matcher
    absent = frozenset(key for key in split_by if key not in context and not columns[key].of(places).any())
    return Node(places, context, absent, parent)


def _matcher(column: KeyColumn, places: Numbers) -> Matcher | None:
    """Matcher of what all URLs have; None where some lack the key."""
    numbers = column.of(places)
    least = int(numbers.min())
    if least == 0:
        return None
    if least == numbers.max():
        return Literal(column.values[least])
    kinds = ((_DIGITS, column.is_digits), (_HEX, column.is_hex))
    return next((kind for kind, is_of_kind in kinds if is_of_kind[numbers].all()), ANY)
