"""DUSTER: all URLs of a page are aligned at once, and columns are compared across pages.

K. W. L. Rodrigues, M. Cristo, E. S. de Moura, A. S. da Silva, "Learning URL normalization rules using multiple
alignment of sequences", SPIRE 2013; "Removing DUST using multiple alignment of sequences", TKDE 2015. Only the
abstracts could be had: the alignment is theirs, the rest is decided here.

In the alignment of a page's URLs (:mod:`dedup_crawler.rules.miners.alignment`) a column with one token in all of them
is part of what the page is; any other does not matter, though its tokens may be constants of the site. The page's URL
with the fewest tokens of its own is the target. The same rule from at least *min_clusters* pages is a candidate: a
value that is the same on all of them is its context, one that differs from page to page is a slot of the page's own.

Cost: O(K^2 n^2) for a page of K URLs with n tokens; at most *max_per_cluster* URLs of a page are aligned, drawn evenly
from their shapes, and at most 10,000 pages of a host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dedup_crawler.methods.rule_based import DeepRuleBased
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.miners.consensus import consensus_rules
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.selection import naive_selection, qualified


@dataclass(kw_only=True, eq=False, repr=False)
class Duster(DeepRuleBased):
    """Rules from the multiple alignment of each page's URLs (DUSTER).

    Parameters
    ----------
    max_fpr
        Share (0-1) of a rule's pairs that may be wrong on the training URLs.
    min_clusters
        Pages that have to give the same rule.
    min_urls
        URLs that a rule changes at least.
    max_per_cluster
        URLs of one page that are aligned.
    seed
        Draws pages and URLs where there are too many.
    """

    name = "duster"
    _least: ClassVar = {"min_clusters": 1, "min_urls": 1, "max_per_cluster": 2}
    _shares: ClassVar = ("max_fpr",)

    max_fpr: float = 0.05
    min_clusters: int = 3
    min_urls: int = 10
    max_per_cluster: int = 10
    seed: int = 0

    def _mine(self, crawl: MappedCrawl) -> list[Rule]:
        rules = consensus_rules(
            crawl,
            self.name,
            min_clusters=self.min_clusters,
            max_per_cluster=self.max_per_cluster,
            seed=self.seed,
        )
        return naive_selection(qualified(rules, crawl, max_fpr=self.max_fpr, min_urls=self.min_urls), crawl)
