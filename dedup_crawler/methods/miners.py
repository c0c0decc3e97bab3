"""The miners of the papers that read URLs as maps: their options, and the selection of their rules.

The algorithms are in :mod:`dedup_crawler.rules.miners`. Rules are counted on the training URLs. Rules that are wrong
too often are discarded, and the rest is selected as in WWW'10.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.model.folder import ModelFiles
from dedup_crawler.methods.rule_based import RuleBased
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.language.substring_rule import AnyRule
from dedup_crawler.rules.miners.decision_tree import leaf_rules
from dedup_crawler.rules.miners.duster import consensus_rules
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.node_rules import NodeRule, node_rules
from dedup_crawler.rules.miners.rewrite_rules import rewrite_rules
from dedup_crawler.rules.miners.selection import graph_selection, naive_selection, qualified
from dedup_crawler.urls.keyvalue import UrlMap, learn_cuts

_CUTS_FILE = "deep_keys.json"


class MapRuleBased(RuleBased):
    """A miner that reads URLs as maps of keys to values."""

    @abstractmethod
    def _mine(self, crawl: MappedCrawl) -> list[Rule]:
        """Rules of one host, counted on its crawl."""

    def _mined(self, host: str, urls: Sequence[str], clusters: Sequence[int]) -> tuple[Sequence[AnyRule], UrlMap]:
        crawl = MappedCrawl(host, urls, clusters)
        return self._mine(crawl), crawl.url_map


class DeepRuleBased(MapRuleBased):
    """A miner that cuts values at the delimiters of the site; its rules use the pieces (``deep_keys.json``)."""

    def _mined(self, host: str, urls: Sequence[str], clusters: Sequence[int]) -> tuple[Sequence[AnyRule], UrlMap]:
        url_map = UrlMap(learn_cuts(url.values for url in MappedCrawl(host, urls, clusters).urls))
        found = self._mine(MappedCrawl(host, urls, clusters, url_map))
        return found, url_map.needed_by({key for rule in found for key in rule.spoken()})

    def _tables(self) -> dict[str, Any]:
        cuts = {host: url_map.to_json() for host, url_map in self.engine_.maps.items()}
        return {**super()._tables(), _CUTS_FILE: cuts}

    def _restored_maps(self, files: ModelFiles) -> Mapping[str, UrlMap]:
        return {host: UrlMap.from_json(cuts) for host, cuts in files.table(_CUTS_FILE).table().items()}


@dataclass(kw_only=True, eq=False, repr=False)
class RewriteRules(MapRuleBased):
    """Rules from pairs of duplicates, generalised key by key (KDD'08).

    Parameters
    ----------
    fan_out
        Smallest number of values for a key to be generalised; a smaller one gives more and subtler rules. The papers
        use 10 and 5.
    max_fpr
        Share (0-1) of a rule's pairs that may be wrong on the training URLs.
    max_per_cluster
        Largest number of URLs of one cluster that are compared with each other.
    seed
        Seed for the draw of URLs from larger clusters.
    """

    name = "rewrite-rules"
    _least: ClassVar = {"fan_out": 2, "max_per_cluster": 2}
    _shares: ClassVar = ("max_fpr",)

    fan_out: int = 10
    max_fpr: float = 0.10
    max_per_cluster: int = 50
    seed: int = 0

    def _mine(self, crawl: MappedCrawl) -> list[Rule]:
        rules = rewrite_rules(
            crawl, self.name, fan_out=self.fan_out, max_per_cluster=self.max_per_cluster, seed=self.seed
        )
        return naive_selection(qualified(rules, crawl, max_fpr=self.max_fpr), crawl)


@dataclass(kw_only=True, eq=False, repr=False)
class DecisionTree(DeepRuleBased):
    """Rules from chosen pairs of duplicates, generalised by a decision tree (WSDM'10).

    Parameters
    ----------
    max_fpr
        Share (0-1) of a rule's pairs that may be wrong on the training URLs.
    min_coverage
        Smallest number of URLs that a rule changes.
    seed
        Seed for the draw of URLs from larger clusters.
    """

    name = "decision-tree"
    _least: ClassVar = {"min_coverage": 1}
    _shares: ClassVar = ("max_fpr",)

    max_fpr: float = 0.10
    min_coverage: int = 10
    seed: int = 0

    def _mine(self, crawl: MappedCrawl) -> list[Rule]:
        return self.chosen(leaf_rules(crawl, self.name, seed=self.seed), crawl)

    def chosen(self, rules: Sequence[Rule], crawl: MappedCrawl) -> list[Rule]:
        """Rules that hold on the crawl, counted, and without conflicts."""
        return naive_selection(qualified(rules, crawl, max_fpr=self.max_fpr, min_urls=self.min_coverage), crawl)


@dataclass(kw_only=True, eq=False, repr=False)
class PatternTree(MapRuleBased):
    """Rules between URL patterns that show the same pages (WWW'10).

    Parameters
    ----------
    max_fpr
        Share (0-1) of a rule's pairs that may be wrong on the training URLs.
    selection
        ``"graph"`` (random walk to destinations, direct rules instead of chains) or ``"naive"``.
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


@dataclass(kw_only=True, eq=False, repr=False)
class Duster(DeepRuleBased):
    """Rules from the multiple alignment of each page's URLs (DUSTER).

    Parameters
    ----------
    max_fpr
        Share (0-1) of a rule's pairs that may be wrong on the training URLs.
    min_clusters
        Smallest number of pages with the same rule.
    min_urls
        Smallest number of URLs that a rule changes.
    max_per_cluster
        Largest number of URLs of one page that are aligned.
    seed
        Seed for the draw of pages and URLs.
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
