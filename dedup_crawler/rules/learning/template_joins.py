"""Hypotheses that one kind of URL is another: ``/index.php?title=X&printable=yes`` is ``/X``.

Pairs of URLs of one page propose them, as in A. Dasgupta, R. Kumar, A. Sasturkar, "De-duping URLs via rewrite rules",
KDD 2008: a value of the target that the source has somewhere is copied, what else the target has is written, what it
has not is dropped. A proposal that enough pages make is a hypothesis; it is judged like any other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import numpy as np

from dedup_crawler.rules.judging.judge import UNKNOWN
from dedup_crawler.rules.language.rule import ANY, Copy, Drop, Literal, Matcher, Operation, Rule, Set
from dedup_crawler.rules.learning.columns import UrlColumns, item_hash
from dedup_crawler.urls.keyvalue import KeyValues

MIN_PAGES = 8
"""Pages that make a proposal, at least."""
MAX_PROPOSALS = 60
_MAX_URLS = 6  # of one page, of different kinds
_ALWAYS_SET = ("path.length", "slash", "ext")  # how a URL is built is never copied


def template_joins(columns: UrlColumns) -> list[Rule]:
    """Rules between different kinds of URLs, those that most pages propose first."""
    votes: Counter[tuple[object, ...]] = Counter()
    rules: dict[tuple[object, ...], Rule] = {}
    for rows in _pages(columns).values():
        proposed: dict[tuple[object, ...], Rule] = {}
        for source, target in _pairs([columns.row(row) for row in rows]):
            for rule in _proposals(columns.host, source, target):
                proposed[rule.identity()] = rule
        votes.update(proposed.keys())
        for identity, rule in proposed.items():
            rules.setdefault(identity, rule)
    enough = [(n, rules[identity]) for identity, n in votes.items() if n >= MIN_PAGES]
    enough.sort(key=lambda entry: (-entry[0], str(entry[1])))
    return [rule for _, rule in enough[:MAX_PROPOSALS]]


def _pages(columns: UrlColumns) -> Mapping[int, list[int]]:
    """Page -> one row of each of its kinds (by their keys), a few."""
    of_keys = np.zeros(len(columns), np.uint64)
    for key, column in columns.columns.items():
        of_keys[column.numbers >= 0] += np.uint64(item_hash(key, None))
    kinds: dict[int, dict[int, int]] = defaultdict(dict)
    for row, (page, kind) in enumerate(zip(columns.alike.tolist(), of_keys.tolist(), strict=True)):
        if page != UNKNOWN and len(kinds[page]) < _MAX_URLS:
            kinds[page].setdefault(kind, row)
    return {page: list(rows.values()) for page, rows in kinds.items() if len(rows) > 1}


def _pairs(maps: list[KeyValues]) -> Iterator[tuple[KeyValues, KeyValues]]:
    """From the map with more items to that with fewer; of two that have as many, to the one that comes first."""
    maps = sorted(maps, key=lambda values: (-len(values), sorted(values)))
    for place, source in enumerate(maps):
        for target in maps[place + 1 :]:
            yield source, target


def _proposals(host: str, source: KeyValues, target: KeyValues) -> Iterator[Rule]:
    """Rules from one map to another: for the values that go, and for any in their place."""
    transformation: dict[str, Operation] = {key: Drop() for key in source if key not in target}
    copied = set()
    for key, value in target.items():
        if source.get(key, "") != value or key not in source:
            origin = None if key in _ALWAYS_SET else _origin(source, value)
            if origin is not None:
                copied.add(origin)
            transformation[key] = Copy(origin) if origin is not None else Set(value)
    if len(transformation) < 2:
        return  # about one key: the coarse hypotheses ask that
    changed = [key for key in transformation if key in source and key not in copied]
    absent = frozenset(key for key in target if key not in source)
    literal: dict[str, Matcher] = {key: Literal(source[key]) for key in changed}
    general: dict[str, Matcher] = {
        key: ANY if key.startswith("query[") else matcher for key, matcher in literal.items()
    }
    anything: dict[str, Matcher] = dict.fromkeys(copied, ANY)
    for context in (general, literal):
        yield Rule(host, {**context, **anything}, transformation, absent)


def _origin(source: KeyValues, value: str | None) -> str | None:
    """The key of the source that has this value; the first one, if several have."""
    if not value:
        return None
    return next((key for key, known in source.items() if known == value and key not in _ALWAYS_SET), None)
