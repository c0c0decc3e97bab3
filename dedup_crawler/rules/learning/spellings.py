"""Hypotheses that two spellings of a value mean the same: abbreviated hashes, the letter case, spaces.

Version control abbreviates the names of commits (``git rev-parse --short``), and its web pages take both. Many servers
and applications ignore the letter case of paths. Forms send spaces as ``+``, wikis write them as ``_``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from dedup_crawler.rules.language.matchers import ANY
from dedup_crawler.rules.language.operations import Edit, Lowercase, Shorten, Spaces, is_hash, spaces_of
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.learning.belief import MIN_GROUPS
from dedup_crawler.rules.learning.columns import Column, UrlColumns

_MAX_LENGTHS = 3  # lengths of hashes of one key
_LOWER = Lowercase()


def spellings(columns: UrlColumns) -> Iterator[Rule]:
    """Rules about one key each, and about the letter case of whole paths."""
    cased = []  # keys of the path with capitals
    for key, column in sorted(columns.columns.items()):
        if key.startswith(("path[", "query[")):
            yield from (Rule(columns.host, {key: ANY}, {key: edit}) for edit in _edits(column))
        has_capitals = any(value and value != value.lower() for value in column.values)
        if has_capitals and (key.startswith("path[") or key == "ext"):
            cased.append(key)
    if len(cased) > 1 and _n_twins(columns.rest(row) for row in range(len(columns))) >= MIN_GROUPS:
        yield Rule(columns.host, {}, dict.fromkeys(cased, _LOWER))


def _edits(column: Column) -> Iterator[Edit]:
    """Edits of a key that give enough of its values the spelling of others."""
    values = [value for value in column.values if value]
    if _n_twins(values) >= MIN_GROUPS:
        yield _LOWER
    for old, new in spaces_of(column.key):
        spaced = {value.replace(old, new) for value in values if old in value}
        if len(spaced) >= MIN_GROUPS and len(spaced.intersection(values)) >= MIN_GROUPS:
            yield Spaces(old, new)
    yield from map(Shorten, _short_lengths(values))


def _short_lengths(values: Sequence[str]) -> Iterator[int]:
    """Numbers of digits to which enough longer hashes are found abbreviated, the most frequent first."""
    known = set(values)
    hashes = list(filter(is_hash, known))
    for length, n in Counter(map(len, hashes)).most_common(_MAX_LENGTHS):
        if n >= MIN_GROUPS and sum(value[:length] in known for value in hashes if len(value) > length) >= MIN_GROUPS:
            yield length


def _n_twins(texts: Iterable[str]) -> int:
    """Number of texts that differ from an earlier one in nothing but the letter case."""
    different = set(texts)
    return len(different) - len({text.lower() for text in different})
