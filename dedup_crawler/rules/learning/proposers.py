"""Proposals of the miners of the literature, about the duplicates that nothing explains yet.

Each of them looks at these URLs alone, which keeps it cheap, and none is believed: what it says is a hypothesis like
any other. Their own filters are not asked, only whether enough of the URLs that are left fall together rightly.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from dedup_crawler.rules.dust.dust import DustSearch
from dedup_crawler.rules.dust.url_list import UrlList
from dedup_crawler.rules.judging.belief import MIN_GROUPS
from dedup_crawler.rules.judging.judge import UNKNOWN
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.language.substring_rule import AnyRule
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.miners.decision_tree import leaf_rules
from dedup_crawler.rules.miners.duster import consensus_rules
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.node_rules import node_rules
from dedup_crawler.rules.miners.rewrite_rules import rewrite_rules

MAX_URLS = 2_000
"""URLs of unexplained duplicates that are looked at; of more, whole pages are drawn."""
MAX_PROPOSALS = 10
"""Most proposals of one proposer, those that make most duplicates one."""
_MAX_PER_PAGE = 6
_FAN_OUT = 10  # of KDD'08
_SEED = 0


def _pairs(crawl: MappedCrawl) -> list[AnyRule]:
    return [*rewrite_rules(crawl, "rewrite-rules", fan_out=_FAN_OUT, max_per_cluster=_MAX_PER_PAGE, seed=_SEED)]


def _leaves(crawl: MappedCrawl) -> list[AnyRule]:
    return [*leaf_rules(crawl, "decision-tree", seed=_SEED)]


def _nodes(crawl: MappedCrawl) -> list[AnyRule]:
    return [found.rule for found in node_rules(crawl, "pattern-tree")]


def _consensus(crawl: MappedCrawl) -> list[AnyRule]:
    rules = consensus_rules(crawl, "duster", min_clusters=MIN_GROUPS, max_per_cluster=_MAX_PER_PAGE, seed=_SEED)
    return [*rules]


def _dust(crawl: MappedCrawl) -> list[AnyRule]:
    search = DustSearch(
        "dustbuster", min_support=MIN_GROUPS, max_tokens=35, max_bucket=11, n_tried=100, epsilon=0.1, seed=_SEED
    )
    pages = [url.cluster for url in crawl.urls]
    return search.rules_of(UrlList(crawl.host, [url.form for url in crawl.urls], pages, pages, are_clusters=True))


PROPOSERS: Mapping[str, Callable[[MappedCrawl], Iterable[AnyRule]]] = {
    "rewrite-rules": _pairs,
    "decision-tree": _leaves,
    "pattern-tree": _nodes,
    "dustbuster": _dust,
    "duster": _consensus,
}
"""Name of the method -> its mining, with no filter but the one that it needs to end."""


def proposals(columns: UrlColumns) -> list[AnyRule]:
    """Rules about duplicates that are left, of all proposers, in a fixed order."""
    crawl = _unexplained(columns)
    if not crawl.urls:
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
    """The rows whose page other rows show as well, of not too many pages."""
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
