"""DustBuster: substring and parameter rules from a list of URLs and the sizes of their pages.

Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST: different URLs with similar text", poster, WWW 2006,
and WWW 2007; we read the poster. *alpha* -> old, *beta* -> new; *MS* -> min_support, *S* -> max_tokens, *T* ->
max_bucket, *N* -> validate. The steps are in :mod:`dedup_crawler.rules.dust.dust`.

:meth:`DustBuster.fit_sizes` learns from page sizes, such as in a web-server log. :meth:`DustBuster.fit` learns from a
labelled crawl: there two URLs may show the same page if they are in one cluster.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dedup_crawler.errors import BadInputError
from dedup_crawler.methods.rule_based import RuleBased
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.dust.dust import DustSearch
from dedup_crawler.rules.dust.url_list import UrlList
from dedup_crawler.rules.language.substring_rule import AnyRule
from dedup_crawler.urls.keyvalue import KEY_VALUES, UrlMap
from dedup_crawler.urls.normal import host_of, normal_form

if TYPE_CHECKING:
    from typing_extensions import Self

_MAX_OF_PAGE = 10_000  # URLs of one page that are used: more of them teach nothing new


@dataclass(kw_only=True, eq=False, repr=False)
class DustBuster(RuleBased):
    """Substring and parameter rules, tried on a sample of URLs (DustBuster).

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
        """Learn from the sizes of pages.

        BadInputError if the lengths differ, there is no URL, or an option is out of range.

        Parameters
        ----------
        urls
            URLs in any order; URLs with only empty answers are ignored.
        sizes
            ``sizes[i]`` is the smallest and the largest size (bytes) of the answers to ``urls[i]``.
        """
        if len(urls) != len(sizes):
            raise BadInputError(f"{len(urls)} URLs and {len(sizes)} sizes; give one range of sizes per URL.")
        if not urls:
            raise BadInputError("there are no URLs to learn from; only accesses by GET with status 200 count.")
        self._check_options()
        forms = [normal_form(url) for url in urls]
        self._remember(forms, [f"{low}-{high}" for low, high in sizes], None)
        of_host: dict[str, list[tuple[str, int, int]]] = defaultdict(list)
        for form, (low, high) in zip(forms, sizes, strict=True):
            if high > 0:
                of_host[host_of(form)].append((form, low, high))
        of_host.pop("", None)
        rules: list[AnyRule] = []
        for host, rows in sorted(of_host.items()):
            its_urls, lows, highs = zip(*rows, strict=True)
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
        urls, clusters = _first_of_each_page(urls, clusters)
        return self._search().rules_of(UrlList(host, urls, clusters, clusters, are_clusters=True)), KEY_VALUES

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


def _first_of_each_page(urls: Sequence[str], clusters: Sequence[int]) -> tuple[Sequence[str], Sequence[int]]:
    """Keep the first 10,000 URLs of each page."""
    n_seen: Counter[int] = Counter()
    kept = []
    for place, cluster in enumerate(clusters):
        n_seen[cluster] += 1
        if n_seen[cluster] <= _MAX_OF_PAGE:
            kept.append(place)
    return [urls[place] for place in kept], [clusters[place] for place in kept]
