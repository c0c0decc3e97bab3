"""The URL maps of one host as columns of numbers, so that a few array operations test a hypothesis on all of them.

Every item (key and value) has a 64-bit hash. The hash of a map is the sum of the hashes of its items, so removing or
changing an item is one subtraction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import xxhash

from dedup_crawler.rules.applying.engine import RuleIndex
from dedup_crawler.rules.language.matchers import ANY
from dedup_crawler.rules.language.rule import AnyRule, Rule, SubstringIndex, SubstringRule
from dedup_crawler.rules.learning.belief import UNKNOWN, PairJudge
from dedup_crawler.urls.keyvalue import KEY_VALUES, KeyValues, values_of

Integers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

MAX_KEYS = 500
"""Most columns of a host. Rules say nothing about rarer keys; a column for each would cost memory like the square."""
_MAX_PASSES = 10


class Column:
    """The values of one key, numbered by first appearance."""

    def __init__(self, key: str, n_rows: int) -> None:
        self.key = key
        self.numbers: Integers = np.full(n_rows, -1, np.int64)
        """Number of the value in each row, (n_rows,); -1 if the key is missing."""
        self.values: list[str | None] = []
        self._number: dict[str | None, int] = {}
        self._hashes: list[int] = []

    def number(self, value: str | None) -> int:
        """Number of a value; a new value gets the next number."""
        found = self._number.get(value)
        if found is None:
            found = self._number[value] = len(self.values)
            self.values.append(value)
            self._hashes.append(item_hash(self.key, value))
        return found

    def some(self, numbers: Integers) -> frozenset[str | None]:
        """Values with these *numbers*, (any,)."""
        return frozenset([self.values[number] for number in numbers.tolist()])

    @property
    def hashes(self) -> Hashes:
        """Hash of the item of each value, (values,)."""
        return np.array(self._hashes, np.uint64)


class UrlColumns:
    """Distinct maps of the URLs of one host, one a row, in crawl order. Rules change rows; equal rows are merged.

    ``clusters[i]`` is the page that ``urls[i]`` shows; :data:`UNKNOWN` if it is not known. *evidence* compares the
    pages; without it, different clusters are different pages. *alike* are its joined clusters, if they are known.
    """

    def __init__(
        self,
        host: str,
        urls: Sequence[str],
        clusters: Sequence[int],
        evidence: PairJudge | None = None,
        alike: Sequence[int] | None = None,
    ) -> None:
        if alike is None:
            alike = evidence.alike(clusters) if evidence is not None else clusters
        self.host = host
        self.evidence = evidence
        self.columns: dict[str, Column] = {}
        self.telling: dict[str, set[int]] = {}
        """Key that was found to tell some pages apart -> numbers of its values on such pages."""
        self.first: Integers = np.arange(len(urls))
        """Place in the crawl of the first URL of each row, (rows,)."""
        self._maps: list[KeyValues] = list(map(values_of, urls))
        self._rests: list[str] | None = None  # written when they are first needed
        self._applied: list[Rule] = []
        self._index = RuleIndex(())
        n_of_key = Counter(key for values in self._maps for key in values)
        rarest = sorted(n_of_key, key=lambda key: (-n_of_key[key], key))[MAX_KEYS:]
        self._rare = frozenset(rarest)
        self._rare_hashes: Hashes = np.zeros(len(urls), np.uint64)  # (rows,): of the items without a column
        for row, values in enumerate(self._maps):
            self._write(row, values)
        self.clusters: Integers = np.array(clusters, np.int64)  # (rows,)
        self.alike: Integers = np.array(alike, np.int64)
        """Clusters joined with others whose pages are probably the same, (rows,). Only proposals use them."""
        self.alike[self.clusters == UNKNOWN] = UNKNOWN
        has_own_page = map(evidence.has_own_page, range(len(urls))) if evidence is not None else [True] * len(urls)
        self.has_own_page: Mask = np.fromiter(has_own_page, bool, len(urls))
        """False for a URL that answers with an error or a redirect, (urls,)."""
        self.hashes: Hashes = self._hashed()  # (rows,)
        self._merge_equal_rows()

    def __len__(self) -> int:
        return len(self.first)

    def row(self, row: int) -> KeyValues:
        """Map of one row; do not change it."""
        return self._maps[row]

    def rest(self, row: int) -> str:
        """Path and query of one row."""
        if self._rests is None:
            self._rests = [KEY_VALUES.write(values) for values in self._maps]
        return self._rests[row]

    def changed(self, rule: AnyRule) -> Iterator[tuple[int, KeyValues]]:
        """Rows that a rule changes, and their new maps."""
        if isinstance(rule, SubstringRule):
            index = SubstringIndex([(0, rule)])
            for row, values in enumerate(self._maps):
                if rule.old in self.rest(row) and (fired := index.fire(self.rest(row))) is not None:
                    yield row, KEY_VALUES.read(fired[1], str(values["scheme"]))
            return
        for row in np.flatnonzero(self.matching(rule)).tolist():
            after = rule.apply(self._maps[row])
            if after != self._maps[row]:
                yield row, after

    def matching(self, rule: Rule) -> Mask:
        """Mask (rows,) of the rows that a rule matches."""
        found = np.ones(len(self), bool)
        for key in rule.required():
            column = self.columns.get(key)
            if column is None:
                return np.zeros(len(self), bool)
            matcher = rule.context.get(key, ANY)
            fits = np.array([*map(matcher.matches, column.values), False])
            found &= fits[column.numbers]  # a missing key has the number -1: the last entry, False
        for key in rule.absent:
            if key in self.columns:
                found &= self.columns[key].numbers < 0
        return found

    def freed(self, rule: Rule) -> Mask:
        """Mask (rows,) of the rows that an applied rule may match only after *rule* has changed them.

        Rows in which repeated keys get other numbers are among them.
        """
        found = np.zeros(len(self), bool)
        for key in rule.behind_dropped:
            if key in self.columns:
                found |= self.columns[key].numbers >= 0
        touched = rule.transformation.keys()
        for applied in self._applied:
            if not touched.isdisjoint(applied.absent | applied.context.keys()):
                others = {key: matcher for key, matcher in applied.context.items() if key not in touched}
                found |= self.matching(replace(applied, context=others, absent=applied.absent - touched))
        return found

    def settled(self, values: KeyValues) -> KeyValues:
        """Apply the applied rules to a map that another rule has changed, as a crawl does, until none fires."""
        for _ in range(_MAX_PASSES):
            fired = self._index.fire(values)
            if fired is None:
                break
            values = fired[1]
        return values

    def apply(self, rule: AnyRule) -> None:
        """Apply a rule to all rows that it changes, and then the earlier rules that fire again."""
        changed = [(row, self.settled(after)) for row, after in self.changed(rule)]
        if isinstance(rule, Rule):
            self._applied.append(rule)
            self._index = RuleIndex(enumerate(self._applied))
        self._rests = None
        for row, after in changed:
            for key in self._maps[row].keys() - after.keys() - self._rare:
                self.columns[key].numbers[row] = -1
            self._maps[row] = after
            self._write(row, after)
        self.hashes = self._hashed()
        self._merge_equal_rows()

    def _write(self, row: int, values: Mapping[str, str | None]) -> None:
        if self._rare:
            self._rare_hashes[row] = map_hash({key: value for key, value in values.items() if key in self._rare})
            values = {key: value for key, value in values.items() if key not in self._rare}
        for key, value in values.items():
            column = self.columns.get(key)
            if column is None:
                column = self.columns[key] = Column(key, len(self))
            column.numbers[row] = column.number(value)

    def _hashed(self) -> Hashes:
        total: Hashes = self._rare_hashes.copy()
        for column in self.columns.values():
            total += np.append(column.hashes, np.uint64(0))[column.numbers]
        return total

    def _merge_equal_rows(self) -> None:
        """Keep the first of equal rows, with the first known page among them."""
        _, first, group = np.unique(self.hashes, return_index=True, return_inverse=True)  # (groups,), (rows,)
        if len(first) == len(self.hashes):
            return
        known = np.where(self.clusters == UNKNOWN, len(self.hashes), np.arange(len(self.hashes)))  # (rows,)
        earliest = np.full(len(first), len(self.hashes))
        np.minimum.at(earliest, group, known)  # (groups,): the first row with a known page
        pages = np.append(self.clusters, UNKNOWN)[earliest]
        order = np.argsort(first)
        kept = first[order]
        self.clusters = pages[order]
        self.alike = np.append(self.alike, UNKNOWN)[earliest][order]
        self.first, self.hashes, self._rare_hashes = self.first[kept], self.hashes[kept], self._rare_hashes[kept]
        self._maps = [self._maps[row] for row in kept.tolist()]
        for column in self.columns.values():
            column.numbers = column.numbers[kept]


def item_hash(key: str, value: str | None) -> int:
    """64-bit hash of an item of a map, the same in every run."""
    return xxhash.xxh3_64_intdigest(f"{key}={'' if value is None else '=' + value}".encode("utf-8", "surrogatepass"))


def map_hash(values: Mapping[str, str | None]) -> int:
    """Hash of a map: the sum of the hashes of its items."""
    return sum(item_hash(key, value) for key, value in values.items()) & (2**64 - 1)
