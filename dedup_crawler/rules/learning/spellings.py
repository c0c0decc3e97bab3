"""Hypotheses that two spellings of a value mean the same: abbreviated hashes, the letter case, spaces.

Version control abbreviates the names of commits (``git rev-parse --short``), and its web pages take both. Many servers
and applications ignore the letter case of paths. Forms send spaces as ``+``, wikis write them as ``_``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dedup_crawler.rules.language.matchers import ANY
from dedup_crawler.rules.language.operations import SPACES, Edit, Lowercase, Shorten, Spaces, is_hash
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.learning.columns import Column, UrlColumns

MIN_VALUES = 8
"""Smallest number of values (or URLs) in two spellings, for a hypothesis about them."""
_MAX_LENGTHS = 3  # lengths of hashes of one key
_LOWER = Lowercase()
_SPELLINGS = (_LOWER, *map(Spaces, SPACES))


def spellings(columns: UrlColumns) -> Iterator[Rule]:
    """Rules about one key each, and about the letter case of whole paths."""
    varied = []
    for key, column in sorted(columns.columns.items()):
        if key.startswith(("path[", "query[")):
            edits: list[Edit] = [edit for edit in _SPELLINGS if _n_twins(edit, column) >= MIN_VALUES]
            edits += map(Shorten, _short_lengths(column))
            yield from (Rule(columns.host, {key: ANY}, {key: edit}) for edit in edits)
        if key.startswith("path[") or key == "ext":
            varied += [key] * any(_LOWER.parts(value)[1] is not None for value in column.values)
    if len(varied) > 1 and _n_other_cases(columns) >= MIN_VALUES:
        yield Rule(columns.host, {}, dict.fromkeys(varied, _LOWER))


def _short_lengths(column: Column) -> list[int]:
    """Numbers of digits to which enough longer hashes are found abbreviated, the most frequent first."""
    values = {value for value in column.values if value}
    hashes = [value for value in values if is_hash(value)]
    found = []
    for length, n in Counter(map(len, hashes)).most_common(_MAX_LENGTHS):
        if n >= MIN_VALUES and sum(value[:length] in values for value in hashes if len(value) > length) >= MIN_VALUES:
            found.append(length)
    return found


def _n_twins(edit: Edit, column: Column) -> int:
    """Number of values that an edit makes equal to an earlier one."""
    return len(column.values) - len({edit.parts(value)[0] for value in column.values})


def _n_other_cases(columns: UrlColumns) -> int:
    """Number of URLs whose path differs from that of an earlier one in nothing but the letter case."""
    paths = (columns.rest(row).partition("?") for row in range(len(columns)))
    n_of = Counter((_LOWER.parts(path)[0], query) for path, _, query in paths)
    return sum(n - 1 for n in n_of.values())
