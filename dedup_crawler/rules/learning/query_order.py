"""Order of the keys in a query: it matters almost nowhere, but that too is for the crawl to say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from dedup_crawler.rules.judging.judge import UNKNOWN
from dedup_crawler.rules.language.statistics import MergeEvidence

MIN_WRONG = 3
"""So many contradictions are no accident."""
MAX_WRONG = 0.1
"""Share (0-1) of the groups that may be contradicted."""


def evidence_of_order(forms: Sequence[str], urls: Sequence[str], pages: Sequence[int]) -> MergeEvidence:
    """Groups of URLs that differ in the order of their query alone, and those that show several pages.

    *forms* are the URLs with their queries sorted; *pages* are negative where nobody knows them.
    """
    orders: dict[str, dict[str, int]] = defaultdict(dict)
    for form, url, page in zip(forms, urls, pages, strict=True):
        if page != UNKNOWN:
            orders[form].setdefault(url, page)
    groups = [set(shown.values()) for shown in orders.values() if len(shown) > 1]
    return MergeEvidence(len(groups), sum(len(shown) > 1 for shown in groups))


def order_matters(evidence: MergeEvidence) -> bool:
    """Return True if URLs have to keep their order: it is sorted, as Scrapy itself does, until that is contradicted."""
    return evidence.n_wrong >= MIN_WRONG and evidence.n_wrong > MAX_WRONG * evidence.n_groups
