"""What the crawl says of one rule: pairs, as WWW'10 counts them, and merge groups, as the judge does.

T. Lei et al., WWW 2010, section 4.3: a *support pair* is two URLs that a rule gives one form, a *false pair* such a
pair that shows two pages, and the false-positive rate is their ratio. Pairs are counted by groups: a group of n URLs,
n_c of them showing page c, has n(n-1)/2 pairs of which sum n_c(n_c-1)/2 are true, so that a cluster of 300,000 URLs
costs 300,000 steps.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from dedup_crawler.rules.judge import NO_EVIDENCE, MergeEvidence, judge


@dataclass(frozen=True, slots=True)
class RuleStatistics:
    """Counts of one rule on the URLs that it was learnt from."""

    n_urls: int = 0
    """URLs that it changes."""
    n_support_pairs: int = 0
    n_false_pairs: int = 0
    evidence: MergeEvidence = NO_EVIDENCE
    """Merge groups with at least one URL that it changes."""

    @property
    def false_positive_rate(self) -> float:
        """Share (0-1) of the support pairs that show two pages; 1 without support."""
        return self.n_false_pairs / self.n_support_pairs if self.n_support_pairs else 1.0

    def is_within(self, max_fpr: float) -> bool:
        """Whether the rule merges something and is wrong in at most that share of its pairs."""
        return self.n_support_pairs > 0 and self.false_positive_rate <= max_fpr


NO_STATISTICS = RuleStatistics()


def count_merges(changed: Iterable[tuple[str, Hashable]], others: Iterable[tuple[str, Hashable]]) -> RuleStatistics:
    """Count what a rule merges.

    Parameters
    ----------
    changed
        New form and page of every URL that the rule changes.
    others
        Form and page of the URLs that it does not change, at least of those whose form is one of the new forms.
    """
    changed = list(changed)
    members = [*changed, *others]
    groups: dict[str, Counter[Hashable]] = defaultdict(Counter)
    for form, page in members:
        groups[form][page] += 1
    n_pairs = n_true = 0
    for form in {form for form, _ in changed}:
        n_pairs += _pairs(groups[form].total())
        n_true += sum(map(_pairs, groups[form].values()))
    forms, pages = [form for form, _ in members], [page for _, page in members]
    # only groups that the rule had a hand in are asked for: it is the source of the URLs that it changed
    numbers: dict[Hashable, int] = {}
    clusters = [numbers.setdefault(page, len(numbers)) for page in pages]
    sources = ["rule"] * len(changed) + [None] * (len(members) - len(changed))
    evidence = judge(forms, clusters, sources).of("rule")
    return RuleStatistics(len(changed), n_pairs, n_pairs - n_true, evidence)


def _pairs(n: int) -> int:
    return n * (n - 1) // 2
