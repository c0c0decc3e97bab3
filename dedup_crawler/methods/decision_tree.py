"""The decision-tree approach: deep tokens, chosen pairs, contexts generalised by a tree.

H. S. Koppula, K. P. Leela, A. Agarwal, K. P. Chitrapura, S. Garg, A. Sasturkar, "Learning URL patterns for webpage
de-duplication", WSDM 2010; a short version is A. Agarwal et al., CIKM 2009. Their texts could not be had: what is here
follows the abstract, patents of the same group, and SIGIR'17, who discard rules that are wrong in more than 10 %.

The stages are those of their MapReduce job, each a pure function of a key and its values, so that an engine may run
them on many machines: delimiters of a host (:func:`dedup_crawler.rules.applying.deep_keys.learn_cuts`), key patterns
summed per host and rows of a cluster (:mod:`dedup_crawler.rules.miners.tree_rows`), rules of a host
(:func:`dedup_crawler.rules.miners.decision_tree.generalized`). What is drawn for a cluster depends on the seed and the
cluster alone, never on the order of clusters.

Decided here: the target of a cluster is the URL with the fewest values that no other of its URLs has (they could not be
derived), then one without a query, of the key pattern of most clusters, with the fewest keys. From each set of keys ten
sources at most are taken. URLs of singleton clusters and targets are rows that stay as they are: the negatives.
A rare value of the target that comes from nowhere does not matter if the source has the same key pattern: both lose it;
else the pair is left out.

Cost: O(n k d log n) for n rows of k keys in a tree of depth d; a cluster gives at most ten rows a set of keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dedup_crawler.methods.rule_based import DeepRuleBased
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.selection import naive_selection, qualified
from dedup_crawler.rules.miners.tree_rows import leaf_rules


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionTree(DeepRuleBased):
    """Rules from chosen pairs of duplicates, generalised by a decision tree (WSDM'10).

    Parameters
    ----------
    max_fpr
        Share (0-1) of a rule's pairs that may be wrong on the training URLs.
    min_coverage
        URLs that a rule changes at least.
    seed
        Draws the URLs of larger clusters.
    """

    name = "decision-tree"
    _least: ClassVar = {"min_coverage": 1}
    _shares: ClassVar = ("max_fpr",)

    max_fpr: float = 0.10
    min_coverage: int = 10
    seed: int = 0

    def _mine(self, crawl: MappedCrawl) -> list[Rule]:
        rules = leaf_rules(crawl, self.name, seed=self.seed)
        kept = qualified(rules, crawl, max_fpr=self.max_fpr, min_urls=self.min_coverage)
        return naive_selection(kept, crawl)
