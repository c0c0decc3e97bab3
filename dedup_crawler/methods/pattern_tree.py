"""The pattern tree: rules between patterns of URLs, found from the top down.

T. Lei, R. Cai, J.-M. Yang, Y. Ke, X. Fan, L. Zhang, "A pattern tree-based approach to learning URL normalization
rules", WWW 2010. A tree of URL patterns is built from all URLs at once
(:mod:`dedup_crawler.rules.miners.pattern_tree`), rules lead between its nodes that show the same pages
(:mod:`dedup_crawler.rules.miners.node_rules`), those that are wrong too often on the training URLs are discarded, and
destinations are chosen by a random walk (:mod:`dedup_crawler.rules.miners.graph_selection`) or naively.

Cost: O(n k d) for n URLs of k keys in a tree of depth d; pairs of nodes are found by their pages, not tried. A page
shown by more than 100 nodes, or by more than 50 URLs of one node, is looked at in part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.rule_based import MapRuleBased
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.miners.graph_selection import graph_selection
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.node_rules import NodeRule, node_rules
from dedup_crawler.rules.miners.selection import naive_selection


@dataclass(kw_only=True, eq=False, repr=False)
class PatternTree(MapRuleBased):
    """Rules between URL patterns that show the same pages (WWW'10).

    Parameters
    ----------
    max_fpr
        Share (0-1) of a rule's pairs that may be wrong on the training URLs.
    selection
        ``"graph"`` (destinations by a random walk, chains made direct) or ``"naive"``.
    """

    name = "pattern-tree"
    _shares: ClassVar = ("max_fpr",)

    max_fpr: float = 0.05
    selection: str = "graph"

    def _check_options(self) -> None:
        super()._check_options()
        if self.selection not in ("graph", "naive"):
            raise BadInputError(f"pattern-tree: unknown selection {self.selection!r}; known: graph, naive.")

    def _mine(self, crawl: MappedCrawl) -> list[Rule]:
        found = [NodeRule(crawl.counted(each.rule), each.source, each.target) for each in node_rules(crawl, self.name)]
        proofed = [each for each in found if each.rule.statistics.is_within(self.max_fpr)]
        if self.selection == "naive":
            return naive_selection([each.rule for each in proofed], crawl)
        return graph_selection(proofed, crawl, max_fpr=self.max_fpr)
