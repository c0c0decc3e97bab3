"""Evidence for and against a mapping of URLs, counted in merge groups.

A merge group is a set of two or more crawled URLs that a mapping gives one form. It is the unit of evidence, not the
pair: one cluster of 300 URLs would swamp all others. A group is *wrong* if its URLs show more than one page; singleton
clusters count like any other, they are the negatives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from dedup_crawler.rules.language.statistics import MergeEvidence

Source = TypeVar("Source", bound=Hashable)

UNKNOWN = -1
"""Cluster of a URL of which nobody knows what it shows."""


class PairJudge(Protocol):
    """Compares the pages that a rule would make one; ``evidence/`` has it, where the pages are known."""

    def alike(self, clusters: Sequence[int]) -> Sequence[int]:
        """Pages that may well show the same, for rules to be proposed: a number for each page, given its cluster."""

    def judge(self, pairs: Iterable[tuple[int, int]], groups: Iterable[int], n_same: int) -> Sequence[int]:
        """Verdict on each pair (places in the crawl) of a merge group: 1 the same, 0 different, -1 nothing to tell by.

        *n_same* groups of the rule more are known to show one page each.
        """


@dataclass(frozen=True)
class Evidence:
    """Merge groups for and against a hypothesis."""

    n_groups: int
    n_wrong: int
    """Number of wrong groups; more where the share of wrong trials is larger: one wrong group may lose many pages."""
    weight: float
    """Weight of the groups: each the square root of the trials in it, for a group of many is more than one of two."""
    wrong_weight: float
    """Weight of the wrong trials in the groups; at least one for each wrong group."""

    @classmethod
    def of(cls, counted: MergeEvidence) -> Evidence:
        """Groups that weigh one each."""
        return cls(counted.n_groups, counted.n_wrong, counted.n_groups, counted.n_wrong)


def judge(
    forms: Sequence[str],
    clusters: Sequence[int],
    sources: Sequence[Source | None],
    *,
    first_judged: int = 0,
) -> dict[Source, MergeEvidence]:
    """Count merge groups for whatever gave the URLs their forms; a source that made none is left out.

    Parameters
    ----------
    forms, clusters
        Of distinct URLs, in crawl order.
    sources
        ``sources[i]`` is what changed URL i to its form (a rule, a template), None if nothing did.
    first_judged
        Only groups with a URL at this place or later count: what was learnt on the URLs before it is judged on pages
        it has not seen.
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
