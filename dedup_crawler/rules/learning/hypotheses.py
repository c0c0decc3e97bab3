"""Makes hypotheses about the URLs of a host, each a rule for the whole host.

The coarsest come first: a whole key does not matter anywhere. For contradicted hypotheses,
:mod:`dedup_crawler.rules.learning.contexts` looks for contexts. Hypotheses about pieces of values come last.

Two spellings of a value may mean the same. Version control abbreviates the names of commits (``git rev-parse
--short``), and its web pages take both. Many servers and applications ignore the letter case of paths. Forms send
spaces as ``+``, wikis write them as ``_``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from dedup_crawler.rules.language.matchers import ANY, Literal
from dedup_crawler.rules.language.operations import (
    Cut,
    Drop,
    Edit,
    Lowercase,
    Operation,
    Set,
    Shorten,
    Spaces,
    Star,
    Unordered,
    cuts_at,
    is_hash,
    spaces_of,
)
from dedup_crawler.rules.language.rule import AnyRule, Rule, SubstringRule
from dedup_crawler.rules.learning.belief import MIN_GROUPS
from dedup_crawler.rules.learning.columns import Column, UrlColumns
from dedup_crawler.rules.learning.proposers import index_files, prefix_aliases, rests_of_pages, template_joins
from dedup_crawler.urls.keyvalue import KeyValues

_MAX_LENGTHS = 3  # lengths of hashes of one key
_LOWER = Lowercase()
STAGES = 3
MIN_URLS = 8
"""Smallest number of URLs with a key, a value or a delimiter, for a hypothesis about it."""
_MAX_DELIMITERS = 3
_MAX_SAMPLE = 2_000  # values of a key that are searched for delimiters


@dataclass(frozen=True)
class Hypothesis:
    """One rule to be tested, in ever finer contexts."""

    rule: AnyRule
    key: str | None
    """The key whose value the rule removes, if there is one. Its values can be part of the context."""
    stage: int = 0
    """0 for a whole key, 1 for another kind or spelling of URLs, 2 for a piece of a value; tested in this order."""

    def is_exact(self) -> bool:
        """Return True if the rule removes only literal values."""
        if isinstance(self.rule, SubstringRule):
            return False
        gone = [key for key, operation in self.rule.transformation.items() if isinstance(operation, (Drop, Star, Cut))]
        return bool(gone) and all(isinstance(self.rule.context.get(key), Literal) for key in gone)

    def copied(self) -> frozenset[str]:
        """Keys whose values the rule copies to others."""
        return frozenset() if isinstance(self.rule, SubstringRule) else self.rule.copied

    def dropped(self) -> list[str]:
        """Keys whose whole values the rule removes, unless it copies values."""
        if isinstance(self.rule, SubstringRule) or self.rule.copied:
            return []
        return [key for key, operation in self.rule.transformation.items() if isinstance(operation, (Drop, Star))]

    def touched(self) -> frozenset[str]:
        """Keys that the rule changes or copies, which cannot be conditions; none for a substring rule."""
        return frozenset() if isinstance(self.rule, SubstringRule) else self.copied() | self.rule.transformation.keys()

    def everywhere(self, keys: Collection[str]) -> Hypothesis | None:
        """The same hypothesis about all sections of the site, if the rule changes one of some *keys*.

        None for a substring rule about such a key that also names a part of a path.
        """
        if isinstance(self.rule, SubstringRule):
            path, _, query = self.rule.old.partition("?")
            is_about = any(key[len("query[") : -1] in query for key in keys if key.startswith("query["))
            return None if is_about and any(map(str.isalnum, path)) else self
        touched = self.touched()
        if touched.isdisjoint(keys):
            return self
        context = {key: matcher for key, matcher in self.rule.context.items() if key in touched}
        absent = frozenset(key for key in self.rule.absent if key.partition("#")[0] in touched)
        return replace(self, rule=replace(self.rule, context=context, absent=absent))


def hypotheses(columns: UrlColumns) -> Iterator[Hypothesis]:
    """All hypotheses about the URLs of a host that concern enough URLs, in a fixed order."""
    common = [column for column in columns.columns.values() if (column.numbers >= 0).sum() >= MIN_URLS]
    common.sort(key=lambda column: column.key)
    for column in common:
        if column.key.startswith("query["):
            yield from _of_query(columns, column)
        elif column.key in ("slash", "ext"):
            yield _changing(columns, column.key, Drop())
        elif column.key.startswith("path[") and _is_varied(column):
            yield _changing(columns, column.key, Star())
        elif column.key == "scheme" and _is_varied(column):
            secure = Rule(columns.host, {"scheme": Literal("http")}, {"scheme": Set("https")})
            yield Hypothesis(secure, None)
    yield from _shorter_paths(columns)
    for rule in (*spellings(columns), *template_joins(columns)):
        yield Hypothesis(rule, None, stage=1)
    rests = rests_of_pages(columns)
    for substring in (*prefix_aliases(columns.host, rests), *index_files(columns.host, rests)):
        yield Hypothesis(substring, None, stage=1)
    for column in common:
        if column.key.startswith(("path[", "query[")) and "#" not in column.key:
            for cut in cuts_at(_delimiters(column)):
                yield _changing(columns, column.key, cut, stage=2)


def _of_query(columns: UrlColumns, column: Column) -> Iterator[Hypothesis]:
    key, _, repeated = column.key.partition("#")
    if not repeated:
        yield Hypothesis(Rule(columns.host, {key: ANY}, {key: Drop()}, frozenset({f"{key}#2"})), key)
    elif repeated == "2":
        for is_set in (False, True):
            yield Hypothesis(Rule(columns.host, {f"{key}#2": ANY}, {key: Unordered(is_set)}), None)


def _changing(columns: UrlColumns, key: str, operation: Operation, *, stage: int = 0) -> Hypothesis:
    return Hypothesis(Rule(columns.host, {key: ANY}, {key: operation}), key if stage == 0 else None, stage)


def _shorter_paths(columns: UrlColumns) -> Iterator[Hypothesis]:
    """Hypotheses that the last path part does not matter (a title behind an id)."""
    column = columns.columns.get("path.length")
    if column is None:
        return
    lengths = Counter(column.values[number] or "" for number in column.numbers[column.numbers >= 0].tolist())
    for length in sorted((text for text, n in lengths.items() if n >= MIN_URLS), key=int):
        if int(length) >= 2:
            last = f"path[{int(length) - 1}]"
            changes: dict[str, Operation] = {"path.length": Set(str(int(length) - 1)), last: Drop()}
            yield Hypothesis(Rule(columns.host, {"path.length": Literal(length)}, changes), last)


def _is_varied(column: Column) -> bool:
    numbers = column.numbers[column.numbers >= 0]
    return bool((numbers != numbers[0]).any())


def _delimiters(column: Column) -> list[str]:
    found: Counter[str] = Counter()
    for value in column.values[:_MAX_SAMPLE]:
        found.update({character for character in value or "" if not character.isalnum() and character != "%"})
    return [delimiter for delimiter, n in found.most_common(_MAX_DELIMITERS) if n >= MIN_URLS]


def spellings(columns: UrlColumns) -> Iterator[Rule]:
    """Rules about one key each, and about the letter case of whole paths."""
    for key, column in sorted(columns.columns.items()):
        if key.startswith(("path[", "query[")):
            yield from (Rule(columns.host, {key: ANY}, {key: edit}) for edit in _edits(column))
    if len(cased := _keys_of_twins(columns)) > 1:
        yield Rule(columns.host, {}, dict.fromkeys(cased, _LOWER))


def _keys_of_twins(columns: UrlColumns) -> list[str]:
    """Keys of the path in which enough URLs differ from another one that is the same but for its letter case.

    A key in which none of them differ may have names that only their case tells apart.
    """
    first: dict[str, KeyValues] = {}
    n_twins: Counter[str] = Counter()
    for row in range(len(columns)):
        values = columns.row(row)
        twin = first.setdefault(columns.rest(row).lower(), values)
        n_twins.update(key for key, value in values.items() if twin.get(key) != value)
    return sorted(key for key, n in n_twins.items() if n >= MIN_GROUPS and (key.startswith("path[") or key == "ext"))


def _edits(column: Column) -> Iterator[Edit]:
    """Edits of a key that give enough of its values the spelling of others."""
    values = [value for value in column.values if value]  # all different
    known = set(values)
    if len(values) - len(set(map(str.lower, values))) >= MIN_GROUPS:
        yield _LOWER
    for edit in (Spaces(old, new) for old, new in spaces_of(column.key)):
        spaced = {written for value in values if edit.old in value and (written := edit.parts(value)[0]) != value}
        if len(spaced & known) >= MIN_GROUPS:
            yield edit
    hashes = list(filter(is_hash, values))
    for length, n in Counter(map(len, hashes)).most_common(_MAX_LENGTHS):
        if n >= MIN_GROUPS and sum(value[:length] in known for value in hashes if len(value) > length) >= MIN_GROUPS:
            yield Shorten(length)
