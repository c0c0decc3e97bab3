"""Evidence for one rule: pairs of URLs, as WWW'10 counts them, and merge groups, as our judge counts them.

T. Lei et al., WWW 2010, section 4.3: a *support pair* is two URLs to which a rule gives one form. A *false pair* is a
support pair that shows two pages. The false-positive rate is the share of false pairs. The pairs are not listed: n URLs
with one form make n(n-1)/2 pairs, and n_c(n_c-1)/2 of them show page c, so n URLs cost n steps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.judging.bounds import jeffreys_bound


@dataclass(frozen=True, slots=True)
class MergeEvidence:
    """Numbers of merge groups, and of wrong ones among them."""

    n_groups: int = 0
    n_wrong: int = 0

    def error_bound(self) -> float:
        """Upper bound (0-1) of the share of wrong groups at 95 % confidence; 1 without groups."""
        return jeffreys_bound(self.n_groups, self.n_wrong)


NO_EVIDENCE = MergeEvidence()


def merge_evidence_of(entry: JsonValue, groups: str = "groups") -> MergeEvidence:
    """Read the evidence in a table of a file, under the keys *groups* and ``wrong``; BadInputError without them."""
    n_groups, n_wrong = entry[groups].count(), entry["wrong"].count()
    if n_wrong > n_groups:
        entry["wrong"].refuse(f"at most as many as {groups!r}, {n_groups}")
    return MergeEvidence(n_groups, n_wrong)


@dataclass(frozen=True, slots=True)
class RuleStatistics:
    """Counts of one rule on the training URLs."""

    n_urls: int = 0
    """Number of URLs that the rule changes."""
    n_support_pairs: int = 0
    n_false_pairs: int = 0
    evidence: MergeEvidence = NO_EVIDENCE
    """Merge groups with at least one URL that the rule changes."""

    @property
    def false_positive_rate(self) -> float:
        """Share (0-1) of the support pairs that show two pages; 1 without support."""
        return self.n_false_pairs / self.n_support_pairs if self.n_support_pairs else 1.0

    def is_within(self, max_fpr: float) -> bool:
        """Return True if the rule has support pairs, and at most the share *max_fpr* (0-1) of them is false."""
        return self.n_support_pairs > 0 and self.false_positive_rate <= max_fpr


NO_STATISTICS = RuleStatistics()


def count_merges(
    forms: Sequence[str], pages: Sequence[Hashable], others: Iterable[tuple[str, Hashable]]
) -> RuleStatistics:
    """Count the pairs and merge groups of a rule.

    *forms* and *pages* are those of every URL that the rule changes; *others* the form and page of the other URLs, at
    least of those whose form is among *forms*.
    """
    groups: dict[str, list[Hashable]] = defaultdict(list)
    for form, page in zip(forms, pages, strict=True):
        groups[form].append(page)
    for form, page in others:
        if form in groups:
            groups[form].append(page)
    n_pairs = n_true = n_groups = n_wrong = 0
    for shown in groups.values():
        n_members = len(shown)
        if n_members > 1:
            is_right = shown.count(shown[0]) == n_members
            n_pairs += _pairs(n_members)
            n_true += _pairs(n_members) if is_right else sum(map(_pairs, Counter(shown).values()))
            n_groups += 1
            n_wrong += not is_right
    return RuleStatistics(len(forms), n_pairs, n_pairs - n_true, MergeEvidence(n_groups, n_wrong))


def _pairs(n: int) -> int:
    return n * (n - 1) // 2
