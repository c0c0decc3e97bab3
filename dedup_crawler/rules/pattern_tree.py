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
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from dedup_crawler.rules.rule import ANY, Literal, Matcher, OfClass
from dedup_crawler.urls.keyvalue import KeyValues

MIN_NODE = 20  # URLs of a node that may be split
_MIN_SALIENT, _MIN_SALIENT_SHARE = 5, 0.01
_MIN_EACH_OF_TWO = 0.10
_MIN_DROP = math.log(1.5)  # a smaller drop is chance: mirrors are used about equally often
_MIN_UNPOOLED_SHARE = 0.10  # of the URLs that have the key
_HEX = OfClass("hex")
_DIGITS = OfClass("digits")
_MIN_HEX = 8  # characters: shorter ones are words as often

MISSING = "\0missing"  # no value of a URL in normal form
_TRIVIAL = "\0trivial"


@dataclass
class Node:
    """URLs of one pattern."""

    places: list[int]
    """In the crawl."""
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
        """From the parent up to the root."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent


def build_tree(maps: Sequence[KeyValues]) -> Node:
    """Tree of all URLs of a host; ``places`` are places in *maps*."""
    root = _node(maps, list(range(len(maps))), frozenset(), None)
    open_nodes: list[tuple[Node, frozenset[str]]] = [(root, frozenset())]
    while open_nodes:
        node, done = open_nodes.pop()
        split = _best_split(maps, node.places, done)
        if split is None:
            continue
        key, parts = split
        node.children = [_node(maps, part, done | {key}, node) for part in parts.values()]
        # where only presence was told apart, the values of the key are still to be looked at
        closed = done if parts.keys() == {MISSING, _TRIVIAL} else done | {key}
        open_nodes += [(child, closed) for child in node.children]
    return root


def salient(counts: Counter[str | None], n_urls: int) -> set[str | None]:
    """Values that have a child of their own: those before the largest drop of the logarithm of the frequency.

    >>> salient(Counter({"view": 90, "a0": 11, "a1": 10, "a2": 9}), 120)
    {'view'}
    """
    ordered = counts.most_common()
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


def _best_split(
    maps: Sequence[KeyValues], places: Sequence[int], done: frozenset[str]
) -> tuple[str, dict[str | None, list[int]]] | None:
    """The key with the smallest entropy and the parts that it splits the URLs into; None for a leaf."""
    n_urls = len(places)
    if n_urls < MIN_NODE:
        return None
    least = max(MIN_NODE, _MIN_SALIENT_SHARE * n_urls)
    n_having = Counter(chain.from_iterable(map(maps.__getitem__, places)))
    best: tuple[float, str] | None = None
    for key, n in n_having.items():
        if n >= least and key not in done:
            counts, _ = _pooled(_column(maps, places, key))
            if len(counts) > 1:
                best = min(best or (math.inf, key), (_entropy(counts.values(), n_urls), key))
    if best is None:
        return None
    key = best[1]
    column = _column(maps, places, key)
    counts, names = _pooled(column)
    own = salient(counts, n_urls)
    if not own:
        return None
    part_of = {value: name if name in own else _TRIVIAL for value, name in names.items()}
    parts: dict[str | None, list[int]] = {}
    for place, value in zip(places, column, strict=True):
        parts.setdefault(part_of[value], []).append(place)
    return (key, parts) if len(parts) > 1 else None


def _column(maps: Sequence[KeyValues], places: Sequence[int], key: str) -> list[str | None]:
    return [maps[place].get(key, MISSING) for place in places]


def _pooled(column: Sequence[str | None]) -> tuple[Counter[str | None], dict[str | None, str | None]]:
    """How many URLs have each value, numbers and hexadecimal strings told as one each; and value -> its name there."""
    counts = Counter(column)
    least = max(MIN_NODE, _MIN_UNPOOLED_SHARE * (len(column) - counts[MISSING]))
    names = {value: _class_name(value) if n < least else value for value, n in counts.items()}
    pooled: Counter[str | None] = Counter()
    for value, n in counts.items():
        if n:
            pooled[names[value]] += n
    return pooled, names


def _class_name(value: str | None) -> str | None:
    if _DIGITS.matches(value):
        return "\0digits"
    return "\0hex" if value is not None and len(value) >= _MIN_HEX and _HEX.matches(value) else value


def _entropy(counts: Iterable[int], n_urls: int) -> float:
    return -sum(n / n_urls * math.log(n / n_urls) for n in counts)


def _node(maps: Sequence[KeyValues], places: list[int], split_by: frozenset[str], parent: Node | None) -> Node:
    """A node with its pattern: literal where its URLs have one value, a class or anything otherwise."""
    context: dict[str, Matcher] = {}
    for key in maps[places[0]]:  # a key of all URLs is one of the first URL
        values = {maps[place].get(key, MISSING) for place in places}
        if MISSING not in values:
            context[key] = _matcher(values)
    absent = frozenset(key for key in split_by if not any(key in maps[place] for place in places))
    return Node(places, context, absent, parent)


def _matcher(values: set[str | None]) -> Matcher:
    if len(values) == 1:
        return Literal(next(iter(values)))
    return next((kind for kind in (_DIGITS, _HEX) if all(map(kind.matches, values))), ANY)
