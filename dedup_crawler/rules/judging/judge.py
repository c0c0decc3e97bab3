"""Evidence for and against a mapping of URLs, counted in merge groups.

A merge group is a set of two or more crawled URLs to which a mapping gives one form. The unit of evidence is the group
and not the pair, because the pairs of one cluster of 300 URLs would outnumber all others. A group is *wrong* if its
URLs show more than one page. Singletons count too: they are the negative examples.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from dedup_crawler.rules.language.statistics import MergeEvidence

Source = TypeVar("Source", bound=Hashable)

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


def judge(
    forms: Sequence[str],
    clusters: Sequence[int],
    sources: Sequence[Source | None],
    *,
    first_judged: int = 0,
) -> dict[Source, MergeEvidence]:
    """Count the merge groups of each source that has any. A source is a rule or template that changes URLs.

    Parameters
    ----------
    forms, clusters
        Forms and clusters of distinct URLs, in crawl order.
    sources
        ``sources[i]`` changed URL i to its form; None if nothing did.
    first_judged
        Only groups with a URL at this place or later count, so that sources learnt on the URLs before it are judged on
        unseen pages.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for i, form in enumerate(forms):
        groups[form].append(i)
    n_groups: dict[Source, int] = defaultdict(int)
    n_wrong: dict[Source, int] = defaultdict(int)
    for members in groups.values():
        if len(members) < 2 or members[-1] < first_judged:
            continue
        is_wrong = len({clusters[i] for i in members}) > 1
        for source in {sources[i] for i in members}:
            if source is not None:
                n_groups[source] += 1
                n_wrong[source] += is_wrong
    return {source: MergeEvidence(n, n_wrong[source]) for source, n in n_groups.items()}
