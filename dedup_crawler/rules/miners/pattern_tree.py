"""The tree of URL patterns of a host: WWW'10, algorithm 1.

T. Lei et al., WWW 2010, section 3: URLs are split by the key whose values have the smallest entropy. Each frequent
(*salient*) value gets a child, and all other (*trivial*) values share one, until every value is trivial.

As printed, equation 5 cuts the sorted frequencies at their smallest drop; the largest drop must be meant. We decided:

* A missing key counts as a value.
* All numbers count as one value, and so do all hexadecimal strings, except frequent ones (``page=1``).
* A salient value has at least 5 URLs and 1 % of the node's URLs. Of two values, both are salient if each has 10 %.
* A drop by less than a third does not count.
* After a split into URLs with and without a key, the values of the key may split again.
* A node with fewer than 20 URLs is a leaf. A key that fewer URLs have does not split.

To count nodes fast, the maps are read once, into one array of small numbers for each key: reading one value from each
of 100,000 dictionaries is slow, because they are scattered over the memory.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dedup_crawler.rules.language.matchers import ANY, Literal, Matcher, OfClass
from dedup_crawler.rules.miners.mapped_crawl import MISSING
from dedup_crawler.urls.keyvalue import KeyValues

MIN_NODE = 20
"""Smallest number of URLs of a node that may be split."""
_MIN_SALIENT, _MIN_SALIENT_SHARE = 5, 0.01
_MIN_EACH_OF_TWO = 0.10
_MIN_DROP = math.log(1.5)  # a smaller drop is chance: mirrors are used about equally often
_MIN_UNPOOLED_SHARE = 0.10  # a number of a smaller share of the URLs with the key counts with its class
_HEX = OfClass("hex")
_DIGITS = OfClass("digits")
_TRIVIAL = -3  # number of the child for trivial values; ANY_DIGITS and ANY_HEX are -1 and -2

ANY_DIGITS, ANY_HEX = -1, -2
"""Numbers that stand for any number, and for any hexadecimal string of 8 characters or more."""
_MIN_HEX = 8  # shorter hexadecimal strings are often words
_DENSE = 16  # a key that one URL in 16 has is stored for all URLs, any other key only for the URLs that have it

Value = TypeVar("Value")
Numbers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Columns = Mapping[str, "KeyColumn"]
Integers = npt.NDArray[np.int64]


class KeyColumn:
    """The values of one key in *n_rows* URLs; 0 is the number of a missing key.

    *rows* are the places of the URLs that have the key, ascending; *values* their values.
    """

    def __init__(self, rows: Sequence[int], values: Sequence[str | None], n_rows: int) -> None:
        number_of: dict[str | None, int] = defaultdict(count(1).__next__)
        numbers = np.fromiter(map(number_of.__getitem__, values), np.int32, len(values))  # (URLs with the key,)
        self.values: list[str | None] = [MISSING, *number_of]
        self.n_having = len(rows)
        self._rows: Numbers | None = np.array(rows, np.int32)
        self._numbers = numbers
        if len(rows) * _DENSE >= n_rows:
            self._numbers = np.zeros(n_rows, np.int32)  # (n_rows,)
            self._numbers[self._rows] = numbers
            self._rows = None

    def of(self, places: Numbers) -> Numbers:
        """Numbers of the values at *places*, of the same shape."""
        if self._rows is None:
            return self._numbers[places]
        at = np.minimum(np.searchsorted(self._rows, places), len(self._rows) - 1)
        return np.where(self._rows[at] == places, self._numbers[at], np.int32(0))

    @cached_property
    def masks(self) -> Mapping[OfClass, Flags]:
        """Mask (values,) of the values of each class: of the numbers, and of the hexadecimal strings."""
        return {kind: np.fromiter(map(kind.matches, self.values), bool) for kind in (_DIGITS, _HEX)}

    @cached_property
    def pools(self) -> Numbers:
        """Class of each value, (values,): ANY_DIGITS, ANY_HEX or 0."""
        is_long = np.fromiter((value is not None and len(value) >= _MIN_HEX for value in self.values), bool)
        pools = np.where(self.masks[_DIGITS], ANY_DIGITS, np.where(self.masks[_HEX] & is_long, ANY_HEX, 0))
        return pools.astype(np.int32)


def key_columns(maps: Sequence[KeyValues]) -> dict[str, KeyColumn]:
    """Key -> column of its values in all maps; values are numbered from 1 in order of appearance."""
    found: dict[str, tuple[list[int], list[str | None]]] = defaultdict(lambda: ([], []))
    for place, its in enumerate(maps):
        for key, value in its.items():
            rows, values = found[key]
            rows.append(place)
            values.append(value)
    return {key: KeyColumn(rows, values, len(maps)) for key, (rows, values) in found.items()}


@dataclass(eq=False)
class Node:
    """URLs of one pattern."""

    places: Numbers
    """Places of the node's URLs in the crawl, (urls,)."""
    context: dict[str, Matcher]
    """The pattern: a matcher for every key that all URLs of the node have."""
    absent: frozenset[str]
    """Keys that no URL of the node has, out of the keys by which its ancestors were split."""
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
    """Build the tree of all URLs of a host; ``places`` are places in *maps*."""
    columns = key_columns(maps)
    root = _node(columns, maps, np.arange(len(maps), dtype=np.int32), frozenset(), None)
    may_split = [key for key, column in columns.items() if column.n_having >= MIN_NODE]
    open_nodes: list[tuple[Node, list[str], frozenset[str]]] = [(root, may_split, frozenset())]
    while open_nodes:
        node, keys, done = open_nodes.pop()
        varying = _varying(columns, keys, node.places)
        key, parts = _best_split(columns, varying, node.places)
        if not parts:
            continue
        node.children = [_node(columns, maps, part, done | {key}, node) for part in parts.values()]
        # a split into URLs with and without the key leaves its values for a later split
        closed = done if parts.keys() == {0, _TRIVIAL} else done | {key}
        left = [key for key in varying if key not in closed]
        open_nodes += [(child, left, closed) for child in node.children]
    return root


def salient(counts: Mapping[Value, int], n_urls: int) -> set[Value]:
    """Values that get a child of their own: those before the largest drop in the logarithm of the frequency.

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


def _varying(columns: Columns, keys: Iterable[str], places: Numbers) -> dict[str, Numbers]:
    """Keys that may split these URLs, or some of them -> numbers of their values, (places,)."""
    found = ((key, columns[key].of(places)) for key in keys if len(places) >= MIN_NODE)
    frequent = ((key, numbers) for key, numbers in found if np.count_nonzero(numbers) >= MIN_NODE)
    return {key: numbers for key, numbers in frequent if numbers.min() != numbers.max()}


def _best_split(columns: Columns, varying: Mapping[str, Numbers], places: Numbers) -> tuple[str, dict[int, Numbers]]:
    """The key with the smallest entropy, and the parts into which it splits the URLs; no parts for a leaf."""
    n_urls = len(places)
    least = max(MIN_NODE, _MIN_SALIENT_SHARE * n_urls)
    best = (math.inf, "")
    for key, numbers in varying.items():
        if np.count_nonzero(numbers) >= least:
            _, counts, _ = _pooled(columns[key], *_counted(numbers, len(columns[key].values)))
            if len(counts) > 1:
                best = min(best, (_entropy(counts, n_urls), key))
    key = best[1]
    if not key:
        return key, {}
    values, value_of, n = np.unique(varying[key], return_inverse=True, return_counts=True)  # (values,), (places,)
    names, counts, name_of = _pooled(columns[key], values.astype(np.int64, copy=False), n.astype(np.int64, copy=False))
    own = salient(dict(zip(names.tolist(), counts.tolist(), strict=True)), n_urls)
    part_of_value = np.where(np.isin(name_of, list(own)), name_of, _TRIVIAL)
    parts = _parted(places, part_of_value[value_of])
    return key, parts if len(parts) > 1 else {}


def _counted(numbers: Numbers, n_values: int) -> tuple[Integers, Integers]:
    """Distinct numbers, and how often each occurs."""
    if n_values > len(numbers):
        return np.unique(numbers, return_counts=True)
    counts = np.bincount(numbers)
    values = np.flatnonzero(counts)
    return values, counts[values]


def _pooled(column: KeyColumn, values: Integers, counts: Integers) -> tuple[Integers, Integers, Integers]:
    """Names, (names,), their counts, (names,), and the name of each value, (values,).

    The name of a value is its number, or the number of its class if few URLs have it.
    """
    n_having = counts.sum() - counts[values == 0].sum()
    is_rare = counts < max(MIN_NODE, _MIN_UNPOOLED_SHARE * n_having)
    kinds = column.pools[values]
    name_of = np.where(is_rare & (kinds < 0), kinds, values)
    pools = [(pool, n) for pool in (ANY_DIGITS, ANY_HEX) if (n := counts[name_of == pool].sum())]
    is_own = name_of >= 0
    names = np.append(name_of[is_own], [pool for pool, _ in pools])
    return names, np.append(counts[is_own], [n for _, n in pools]), name_of


def _entropy(counts: Integers, n_urls: int) -> float:
    """Entropy in nats. Sorting makes it exactly equal for keys that split the URLs in the same way."""
    shares = np.sort(counts) / n_urls
    return -float((shares * np.log(shares)).sum())


def _parted(places: Numbers, names: Integers) -> dict[int, Numbers]:
    """Places of each part, ordered by the first place."""
    order = np.argsort(names, kind="stable")
    known, firsts = np.unique(names[order], return_index=True)
    parts = dict(zip(known.tolist(), np.split(places[order], firsts[1:]), strict=True))
    return dict(sorted(parts.items(), key=lambda part: part[1][0]))


def _node(
    columns: Columns, maps: Sequence[KeyValues], places: Numbers, split_by: frozenset[str], parent: Node | None
) -> Node:
    """A node with its pattern: a literal for keys with one value, otherwise a class or any value."""
    known = parent.context if parent is not None else {}
    context: dict[str, Matcher] = {}
    for key in maps[places[0]]:  # the first URL has every key that all URLs have
        inherited = known.get(key)
        matcher = inherited if isinstance(inherited, Literal) else _matcher(columns[key], places)
        if matcher is not None:
            context[key] = matcher
    absent = frozenset(key for key in split_by if key not in context and not columns[key].of(places).any())
    return Node(places, context, absent, parent)


def _matcher(column: KeyColumn, places: Numbers) -> Matcher | None:
    """Matcher of the values at *places*; None if a URL lacks the key."""
    numbers = column.of(places)
    least = int(numbers.min())
    if least == 0:
        return None
    if least == numbers.max():
        return Literal(column.values[least])
    return next((kind for kind, is_of_kind in column.masks.items() if is_of_kind[numbers].all()), ANY)
