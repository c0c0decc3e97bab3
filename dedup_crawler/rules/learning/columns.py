"""The URL maps of one host as columns of numbers, so that a hypothesis about all of them is a few array operations.

Every item (key and value) has a 64-bit hash, a map the sum of those of its items: what a map becomes when an item goes
or changes is a subtraction, whatever the size of the map.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import xxhash

from dedup_crawler.rules.applying.substring_index import SubstringIndex
from dedup_crawler.rules.judging.judge import UNKNOWN, PairJudge
from dedup_crawler.rules.language.rule import ANY, KEY_VALUES, Rule, values_of
from dedup_crawler.rules.language.substring_rule import AnyRule, SubstringRule
from dedup_crawler.urls.keyvalue import KeyValues

Integers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


class Column:
    """The values of one key, numbered by first appearance."""

    def __init__(self, key: str, n_rows: int) -> None:
        self.key = key
        self.numbers: Integers = np.full(n_rows, -1, np.int64)
        """Number of the value of each row; -1 where the key is missing."""
        self.values: list[str | None] = []
        self._number: dict[str | None, int] = {}
        self._hashes: list[int] = []

    def number(self, value: str | None) -> int:
        """Number of a value, a new one if it has not been seen."""
        found = self._number.get(value)
        if found is None:
            found = self._number[value] = len(self.values)
            self.values.append(value)
            self._hashes.append(item_hash(self.key, value))
        return found

    @property
    def hashes(self) -> Hashes:
        """Hash of the item of each value number."""
        return np.array(self._hashes, np.uint64)


class UrlColumns:
    """Distinct maps of the URLs of one host, in crawl order; rules change them, and rows that become equal become one.

    Parameters
    ----------
    host
        With its port.
    urls
        In normal form, all of this host.
    clusters
        ``clusters[i]`` names the page that ``urls[i]`` shows; :data:`UNKNOWN` where that is not known.
    evidence
        Compares the pages, where they are known; else different clusters are different pages.
    """

    def __init__(
        self,
        host: str,
        urls: Sequence[str],
        clusters: Sequence[int],
        evidence: PairJudge | None = None,
    ) -> None:
        self.host = host
        self.evidence = evidence
        self.n_urls = len(urls)
        self.columns: dict[str, Column] = {}
        self._maps: list[KeyValues] = []
        self._rests: list[str] | None = None  # written when they are first asked for
        for row, url in enumerate(urls):
            self._maps.append(values_of(url))
            self._write(row, self._maps[row], len(urls))
        self.clusters: Integers = np.array(clusters, np.int64)
        self.alike: Integers = np.array(evidence.alike(clusters) if evidence is not None else clusters, np.int64)
        """Clusters that also join pages that may well be the same: proposals are made from them."""
        self.alike[self.clusters == UNKNOWN] = UNKNOWN
        self.first: Integers = np.arange(len(urls))
        """Place in the crawl of the first URL of each row."""
        self.hashes: Hashes = self._hashed()
        self._merge_equal_rows()

    def __len__(self) -> int:
        return len(self.first)

    def row(self, row: int) -> KeyValues:
        """Map of one row; not to be changed."""
        return self._maps[row]

    def rest(self, row: int) -> str:
        """Path and query of one row."""
        if self._rests is None:
            self._rests = [KEY_VALUES.write(values) for values in self._maps]
        return self._rests[row]

    def changed(self, rule: AnyRule) -> Iterator[tuple[int, KeyValues]]:
        """Rows that a rule changes, and what it makes of them."""
        if isinstance(rule, SubstringRule):
            yield from self._replaced(rule)
            return
        for row in np.flatnonzero(self.matching(rule)).tolist():
            after = rule.apply(self._maps[row])
            if after != self._maps[row]:
                yield row, after

    def _replaced(self, rule: SubstringRule) -> Iterator[tuple[int, KeyValues]]:
        index = SubstringIndex([(0, rule)])
        for row, values in enumerate(self._maps):
            rest = self.rest(row)
            found = index.fire(rest) if rule.old in rest else None
            if found is not None:
                yield row, KEY_VALUES.read(found[1], str(values["scheme"]))

    def matching(self, rule: Rule) -> Mask:
        """Rows that a rule may be applied to."""
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

    def apply(self, rule: AnyRule) -> None:
        """Apply a rule once to all rows that it changes."""
        changed = list(self.changed(rule))
        self._rests = None
        for row, after in changed:
            for key in self._maps[row].keys() - after.keys():
                self.columns[key].numbers[row] = -1
            self._maps[row] = after
            self._write(row, after, len(self))
        self.hashes = self._hashed()
        self._merge_equal_rows()

    def _write(self, row: int, values: Mapping[str, str | None], n_rows: int) -> None:
        for key, value in values.items():
            column = self.columns.get(key)
            if column is None:
                column = self.columns[key] = Column(key, n_rows)
            column.numbers[row] = column.number(value)

    def _hashed(self) -> Hashes:
        total = np.zeros(len(self.first) if hasattr(self, "first") else self.n_urls, np.uint64)
        for column in self.columns.values():
            total += np.append(column.hashes, np.uint64(0))[column.numbers]
        return total

    def _merge_equal_rows(self) -> None:
        """Keep the first row of equal ones; it keeps its page, unless nobody knew it."""
        _, first, group = np.unique(self.hashes, return_index=True, return_inverse=True)
        if len(first) == len(self.hashes):
            return
        known = np.where(self.clusters == UNKNOWN, len(self.hashes), np.arange(len(self.hashes)))
        earliest = np.full(len(first), len(self.hashes))
        np.minimum.at(earliest, group, known)
        pages = np.append(self.clusters, UNKNOWN)[earliest]
        order = np.argsort(first)
        kept = first[order]
        self.clusters = pages[order]
        self.alike = np.append(self.alike, UNKNOWN)[earliest][order]
        self.first, self.hashes = self.first[kept], self.hashes[kept]
        self._maps = [self._maps[row] for row in kept.tolist()]
        for column in self.columns.values():
            column.numbers = column.numbers[kept]


def item_hash(key: str, value: str | None) -> int:
    """64-bit hash of an item of a map, the same in every run."""
    return xxhash.xxh3_64_intdigest(f"{key}={'' if value is None else '=' + value}".encode("utf-8", "surrogatepass"))


def map_hash(values: Mapping[str, str | None]) -> int:
    """Hash of a map: the sum of those of its items."""
    return sum(item_hash(key, value) for key, value in values.items()) & (2**64 - 1)
