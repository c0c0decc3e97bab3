"""Proposals of the miners of the literature, about the duplicates that no rule explains yet.

The miners read only these URLs, which keeps them cheap. Their own filters are not used: a proposal needs enough right
merge groups among these URLs, and is then judged like any other hypothesis.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from dedup_crawler.rules.dust.dust import DustSearch
from dedup_crawler.rules.dust.url_list import UrlList
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.language.substring_rule import AnyRule
from dedup_crawler.rules.learning.belief import MIN_GROUPS, UNKNOWN
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.miners.decision_tree import leaf_rules
from dedup_crawler.rules.miners.duster import consensus_rules
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.node_rules import node_rules
from dedup_crawler.rules.miners.rewrite_rules import rewrite_rules

MAX_URLS = 2_000
"""Most URLs of unexplained duplicates that miners read; of more, whole pages are drawn."""
MAX_PROPOSALS = 10
"""Most proposals of one miner, those with most right merge groups."""
_MAX_PER_PAGE = 6
_FAN_OUT = 10  # of KDD'08
_SEED = 0


def _dust(crawl: MappedCrawl) -> list[AnyRule]:
    search = DustSearch(
        "dustbuster", min_support=MIN_GROUPS, max_tokens=35, max_bucket=11, n_tried=100, epsilon=0.1, seed=_SEED
    )
    return search.rules_of(UrlList(crawl.host, crawl.forms, crawl.pages, crawl.pages, are_clusters=True))


PROPOSERS: Mapping[str, Callable[[MappedCrawl], Iterable[AnyRule]]] = {
    "rewrite-rules": lambda crawl: rewrite_rules(
        crawl, "rewrite-rules", fan_out=_FAN_OUT, max_per_cluster=_MAX_PER_PAGE, seed=_SEED
    ),
    "decision-tree": lambda crawl: leaf_rules(crawl, "decision-tree", seed=_SEED),
    "pattern-tree": lambda crawl: [found.rule for found in node_rules(crawl, "pattern-tree")],
    "dustbuster": _dust,
    "duster": lambda crawl: consensus_rules(
        crawl, "duster", min_clusters=MIN_GROUPS, max_per_cluster=_MAX_PER_PAGE, seed=_SEED
    ),
}
"""Name of the method -> its miner, without the filter of the method."""


def proposals(columns: UrlColumns) -> list[AnyRule]:
    """Rules of all miners about the duplicates that are left, in a fixed order."""
    crawl = _unexplained(columns)
    if not crawl.forms:
        return []
    found: dict[tuple[object, ...], AnyRule] = {}
    for propose in PROPOSERS.values():
        rated = []
        for rule in propose(crawl):
            counted = crawl.counted(rule) if isinstance(rule, Rule) else rule
            evidence = counted.evidence
            n_right = evidence.n_groups - evidence.n_wrong
            if n_right >= MIN_GROUPS:
                rated.append((-n_right, str(rule), rule))
        for _, _, rule in sorted(rated, key=lambda entry: entry[:2])[:MAX_PROPOSALS]:
            found.setdefault(rule.identity(), rule)
    return list(found.values())


def _unexplained(columns: UrlColumns) -> MappedCrawl:
    """Rows whose page other rows show too; a sample of the pages if there are many."""
    rows_of_page: dict[int, list[int]] = defaultdict(list)
    for row, page in enumerate(columns.alike.tolist()):
        if page != UNKNOWN:
            rows_of_page[page].append(row)
    pages = [rows for rows in rows_of_page.values() if len(rows) > 1]
    random.Random(_SEED).shuffle(pages)  # noqa: S311 - draws examples, guards nothing
    taken: list[int] = []
    for rows in pages:
        if len(taken) < MAX_URLS:
            taken += rows[:MAX_URLS]
    taken.sort()
    urls = [f"{columns.row(row)['scheme']}://{columns.host}{columns.rest(row)}" for row in taken]
    return MappedCrawl(columns.host, urls, [int(columns.alike[row]) for row in taken])
