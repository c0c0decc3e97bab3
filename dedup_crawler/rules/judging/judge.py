"""Evidence for and against a mapping of URLs, counted in merge groups.

A merge group is a set of two or more crawled URLs to which a mapping gives one form. The unit of evidence is the group
and not the pair, because the pairs of one cluster of 300 URLs would outnumber all others. A group is *wrong* if its
URLs show more than one page. Singletons count too: they are the negative examples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from dedup_crawler.rules.language.statistics import MergeEvidence

UNKNOWN = -1
"""Cluster number of a URL whose page is not known."""


class PairJudge(Protocol):
    """Compares the pages that a rule would merge, if the pages are known. ``evidence/`` implements it."""

    def alike(self, clusters: Sequence[int]) -> Sequence[int]:
        """Join clusters whose pages probably show the same: a number for each URL. Only proposals use it."""

    def judge(self, pairs: Iterable[tuple[int, int]], groups: Iterable[int], n_same: int) -> Sequence[int]:
        """Compare pairs of URLs (places in the crawl) of merge groups: 1 the same page, 0 different, -1 silent.

        *n_same* further groups of the rule show one page each.
        """


@dataclass(frozen=True)
class Evidence:
    """Merge groups for and against a hypothesis."""

    n_groups: int
    n_wrong: int
    """Number of wrong groups, or *n_groups* times the share of wrong trials if that is more."""
    weight: float
    """Weight of all groups: the sum of the square roots of their numbers of trials."""
    wrong_weight: float
    """Weight of the wrong trials in the groups; at least one for each wrong group."""

    @classmethod
    def of(cls, counted: MergeEvidence) -> Evidence:
        """Evidence of groups that weigh one each."""
        return cls(counted.n_groups, counted.n_wrong, counted.n_groups, counted.n_wrong)
