"""The miners of the papers: their options, and the selection of their rules.

The algorithms are in :mod:`dedup_crawler.rules.miners`. All methods but DustBuster read URLs as maps. Their rules are
counted on the training URLs, those that are wrong too often are discarded, and the rest is selected as in WWW'10.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.base import training_digest
from dedup_crawler.methods.rule_based import MapRuleBased, RuleBased
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.rule import AnyRule, Rule
from dedup_crawler.rules.miners.decision_tree import leaf_rules
from dedup_crawler.rules.miners.dust import DustSearch
from dedup_crawler.rules.miners.duster import consensus_rules
from dedup_crawler.rules.miners.mapped_crawl import MappedCrawl
from dedup_crawler.rules.miners.node_rules import node_rules
from dedup_crawler.rules.miners.rewrite_rules import rewrite_rules
from dedup_crawler.rules.miners.selection import graph_selection, naive_selection, qualified
from dedup_crawler.rules.miners.url_list import UrlList
from dedup_crawler.urls.keyvalue import KEY_VALUES, UrlMap
from dedup_crawler.urls.normal import normal_form, places_by_host

if TYPE_CHECKING:
    from typing_extensions import Self

_MAX_OF_PAGE = 10_000  # URLs of one page that DustBuster uses: more of them teach nothing new


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
class DecisionTree(MapRuleBased):
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
    _cuts_values: ClassVar = True
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
        found = [replace(each, rule=crawl.counted(each.rule)) for each in node_rules(crawl, self.name)]
        proofed = [each for each in found if each.rule.statistics.is_within(self.max_fpr)]
        if self.selection == "naive":
            return naive_selection([each.rule for each in proofed], crawl)
        return graph_selection(proofed, crawl, max_fpr=self.max_fpr)


@dataclass(kw_only=True, eq=False, repr=False)
class Duster(MapRuleBased):
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
    _cuts_values: ClassVar = True
    _least: ClassVar = {"min_clusters": 1, "min_urls": 1, "max_per_cluster": 2}
    _shares: ClassVar = ("max_fpr",)

    max_fpr: float = 0.05
    min_clusters: int = 3
    min_urls: int = 10
    max_per_cluster: int = 10
    seed: int = 0

    def _mine(self, crawl: MappedCrawl) -> list[Rule]:
        rules = consensus_rules(
            crawl, self.name, min_clusters=self.min_clusters, max_per_cluster=self.max_per_cluster, seed=self.seed
        )
        return naive_selection(qualified(rules, crawl, max_fpr=self.max_fpr, min_urls=self.min_urls), crawl)


@dataclass(kw_only=True, eq=False, repr=False)
class DustBuster(RuleBased):
    """Substring and parameter rules, tried on a sample of URLs (DustBuster).

    Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST: different URLs with similar text", poster, WWW
    2006, and WWW 2007; we read the poster. *alpha* -> old, *beta* -> new; *MS* -> min_support, *S* -> max_tokens, *T*
    -> max_bucket, *N* -> validate. The steps are in :mod:`dedup_crawler.rules.miners.dust`.

    :meth:`fit_sizes` learns from page sizes, such as in a web-server log. :meth:`fit` learns from a labelled crawl:
    there two URLs may show the same page if they are in one cluster.

    Parameters
    ----------
    min_support
        Smallest number of URL pairs that differ only by the rule and may show the same page.
    max_tokens
        Largest number of tokens (words and single other characters) that a rule replaces.
    max_bucket
        Largest number of URLs that differ in one place; if there are more, that place is an id.
    validate
        Number of pairs of training URLs on which each rule is tried; 0 keeps all likely rules.
    epsilon
        Share (0-1) of the tried pairs that may fail.
    seed
        Seed for the draw of pairs.
    """

    name = "dustbuster"
    _least: ClassVar = {"min_support": 1, "max_tokens": 1, "max_bucket": 2, "validate": 0}

    min_support: int = 5
    max_tokens: int = 35
    max_bucket: int = 11
    validate: int = 100
    epsilon: float = 0.10
    seed: int = 0

    def fit_sizes(self, urls: Sequence[str], sizes: Sequence[tuple[int, int]]) -> Self:
        """Learn from the sizes of pages: ``sizes[i]`` is the smallest and the largest one (bytes) of ``urls[i]``.

        URLs with only empty answers are ignored. BadInputError if the lengths differ, there is no URL, or an option is
        out of range.
        """
        if len(urls) != len(sizes):
            raise BadInputError(f"{len(urls)} URLs and {len(sizes)} sizes; give one range of sizes per URL.")
        if not urls:
            raise BadInputError("there are no URLs to learn from; only accesses by GET with status 200 count.")
        self._check_options()
        forms = [normal_form(url) for url in urls]
        pages = [f"{low}-{high}" for low, high in sizes]
        self._remember(forms, pages, training_digest((*row, None) for row in zip(forms, pages, strict=True)))
        rows = [(form, low, high) for form, (low, high) in zip(forms, sizes, strict=True) if high > 0]
        rules: list[AnyRule] = []
        for host, places in sorted(places_by_host(form for form, _, _ in rows).items()):
            its_urls, lows, highs = zip(*(rows[place] for place in places), strict=True)
            rules += self._search().rules_of(UrlList(host, its_urls, lows, highs, are_clusters=False))
        self.keep(rules)
        return self

    def keep(self, rules: Sequence[AnyRule]) -> None:
        """Replace the rules of the model by *rules*, for example by those that hold on the live site."""
        self.engine_ = RuleEngine(rules)
        self._told_rules = None
        self.quality_ = self._quality()

    def _check_options(self) -> None:
        super()._check_options()
        if self.max_tokens > 255:
            raise BadInputError(f"dustbuster: max_tokens is {self.max_tokens}; give 255 or less.")
        if not 0 <= self.epsilon < 1:
            raise BadInputError(f"dustbuster: epsilon is {self.epsilon}; give a share from 0 to less than 1.")

    def _mined(self, host: str, urls: Sequence[str], clusters: Sequence[int]) -> tuple[Sequence[AnyRule], UrlMap]:
        n_seen: Counter[int] = Counter()
        rows = []
        for url, cluster in zip(urls, clusters, strict=True):
            n_seen[cluster] += 1
            if n_seen[cluster] <= _MAX_OF_PAGE:
                rows.append((url, cluster))
        its_urls, pages = zip(*rows, strict=True)
        return self._search().rules_of(UrlList(host, its_urls, pages, pages, are_clusters=True)), KEY_VALUES

    def _search(self) -> DustSearch:
        return DustSearch(
            origin=self.name,
            min_support=self.min_support,
            max_tokens=self.max_tokens,
            max_bucket=self.max_bucket,
            n_tried=self.validate,
            epsilon=self.epsilon,
            seed=self.seed,
        )
