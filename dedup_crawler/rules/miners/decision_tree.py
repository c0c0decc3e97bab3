"""Generalisation of contexts by a decision tree: which URLs get which transformation.

H. S. Koppula et al., WSDM 2010: contexts of pairwise rules are rows, their transformation is the class; a path of tests
from the root to a leaf is the generalised context of the leaf's transformation. Their tree is ID3; here the *gain
ratio* (C4.5) chooses the tests, because plain gain picks keys with a value for every URL. A missing key is a value;
values that few rows have are pooled, and their branch takes any value but those that have branches of their own.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from dedup_crawler.rules.language.rule import ANY, Literal, Matcher, NoneOf, Operation
from dedup_crawler.rules.miners.key_columns import MISSING
from dedup_crawler.urls.keyvalue import KeyValues

MIN_PURITY = 0.9
MIN_ROWS = 10
_MIN_VALUE_ROWS, _MIN_VALUE_SHARE = 3, 0.01
_OTHERS = "\0others"  # no value of a URL in normal form

Transformation = frozenset[tuple[str, Operation]]
"""Empty: the URL stays as it is."""


class Row(NamedTuple):
    """One pairwise rule, or a URL that is to stay as it is."""

    context: KeyValues
    transformation: Transformation


class Leaf(NamedTuple):
    """A generalised rule."""

    context: Mapping[str, Matcher]
    absent: frozenset[str]
    transformation: Transformation


def generalized(rows: Sequence[Row]) -> Iterator[Leaf]:
    """Leaves with a transformation that is nearly the only one of their rows."""
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
                yield Leaf(context, absent, said[label])
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
    rows: Sequence[Row], labels: Sequence[int], places: Sequence[int], keys: Iterable[str]
) -> tuple[str, dict[str | None, list[int]]] | None:
    """The key with the highest gain ratio, and the rows of each of its values; None where nothing is gained."""
    before = _entropy(Counter(labels[place] for place in places).values())
    present = Counter(key for place in places for key in rows[place].context)
    best: tuple[float, str] | None = None
    for key in present.keys() & frozenset(keys):
        counts: dict[str | None, Counter[int]] = defaultdict(Counter)
        for value, place in zip(_values(rows, places, key), places, strict=True):
            counts[value][labels[place]] += 1
        sizes = [count.total() for count in counts.values()]
        if len(sizes) < 2:
            continue
        after = sum(size / len(places) * _entropy(c.values()) for size, c in zip(sizes, counts.values(), strict=True))
        if before - after > 1e-9:
            best = min(best or (0.0, ""), (-(before - after) / _entropy(sizes), key))
    if best is None or best[0] >= 0:
        return None
    parts: dict[str | None, list[int]] = defaultdict(list)
    for value, place in zip(_values(rows, places, best[1]), places, strict=True):
        parts[value].append(place)
    return best[1], dict(sorted(parts.items(), key=repr))


def _values(rows: Sequence[Row], places: Sequence[int], key: str) -> list[str | None]:
    values: list[str | None] = [rows[place].context.get(key, MISSING) for place in places]
    least = max(_MIN_VALUE_ROWS, _MIN_VALUE_SHARE * len(places))
    kept = {value for value, n in Counter(values).items() if n >= least} | {MISSING}
    return [value if value in kept else _OTHERS for value in values]


def _entropy(counts: Iterable[int]) -> float:
    counts = list(counts)
    total = sum(counts)
    return -sum(n / total * math.log(n / total) for n in counts)
