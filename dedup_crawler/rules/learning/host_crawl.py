"""One host's crawl as ``verified`` learns from it: rules first, then what they leave to the links.

The order of the keys in a query matters almost nowhere, but that too is for the crawl to say.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from dedup_crawler.rules.applying.engine import RuleEngine, read_url
from dedup_crawler.rules.applying.link_files import HostLinks
from dedup_crawler.rules.judging.belief import Belief, within_budget
from dedup_crawler.rules.judging.judge import UNKNOWN, PairJudge
from dedup_crawler.rules.language.refusals import Refused
from dedup_crawler.rules.language.rule import KEY_VALUES
from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.rules.language.substring_rule import AnyRule
from dedup_crawler.rules.language.url_shapes import Shapes
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.learning.hypotheses import MIN_URLS
from dedup_crawler.rules.learning.link_rules import Links, learn_coverage_rules, learn_referrer_rules
from dedup_crawler.rules.learning.proposers import proposals
from dedup_crawler.rules.learning.verified_rules import RuleLearner

MIN_WRONG = 3
"""Least number of contradictions of the order of a query that are no accident."""
MAX_WRONG = 0.1
"""Share (0-1) of the groups that may be contradicted."""


@dataclass(frozen=True)
class HostCrawl:
    """URLs of one host in crawl order; all lists have one entry a URL."""

    host: str
    urls: Sequence[str]
    """URLs in normal form."""
    pages: Sequence[int]
    """Page that each URL shows; UNKNOWN where it redirects to a URL that was not crawled: nobody saw what is there."""
    targets: Sequence[str | None]
    """Target that each URL redirects to."""
    referrers: Sequence[str | None]
    evidence: PairJudge | None = None
    """Compares the pages by their places in these lists, where they are known."""


def learn_rules(crawl: HostCrawl, belief: Belief, origin: str, proposed: Sequence[AnyRule] = ()) -> list[AnyRule]:
    """Rules that the crawl confirms, as many as may be expected to lose no more pages than the risk allows.

    What others propose is asked last, about the duplicates that are left: the miners of the literature, and *proposed*
    rules.
    """
    columns = UrlColumns(crawl.host, crawl.urls, crawl.pages, crawl.evidence)
    learner = RuleLearner(columns, belief, origin)
    learner.learn()
    found = learner.learn_proposed([*proposals(columns), *proposed])
    n_pages = len(set(crawl.pages) - {UNKNOWN})
    budget = belief.risk.lost_per_thousand * n_pages / 1000
    kept = within_budget([rule.statistics for rule in found], budget)
    rules = []
    for rule in found:
        if any(rule.statistics is statistics for statistics in kept):
            rules.append(rule)
        else:
            reason = (
                f"all rules together may lose {belief.risk.lost_per_thousand:g} pages of a thousand; others save more"
            )
            belief.refusals.add(("budget", rule.identity()), Refused(rule, reason, rule.evidence))
    return rules


def learn_links(crawl: HostCrawl, engine: RuleEngine, belief: Belief) -> HostLinks:
    """Learn from the links, and learn which URLs the rules are applied to at all."""
    forms = [engine.form(url) for url in crawl.urls]
    shapes = Shapes.learn(crawl.urls)
    place_of: dict[str, int] = {}
    for place, url in enumerate(crawl.urls):
        place_of.setdefault(url, place)
    earlier = [place_of.get(referrer or "", len(crawl.urls)) for referrer in crawl.referrers]
    links = Links(
        urls=crawl.urls,
        forms=forms,
        pages=_resolved(crawl, forms, engine),
        referrers=[other if other < place else -1 for place, other in enumerate(earlier)],
        shapes=[shapes.of(url) for url in crawl.urls],
        targets=[(shapes.of(target), engine.form(target)) if target is not None else None for target in crawl.targets],
    )
    sorted_urls = [read_url(url, KEY_VALUES)[0] for url in crawl.urls]
    order = evidence_of_order(sorted_urls, crawl.urls, crawl.pages)
    return HostLinks(
        query_keys=_common_query_keys(crawl.urls),
        is_ordered=order_matters(order),
        shapes=shapes,
        referrer_rules={(rule.referrer, rule.shape): rule for rule in learn_referrer_rules(links, belief)},
        coverage_rules={rule.shape: rule for rule in learn_coverage_rules(links, belief)},
    )


def _resolved(crawl: HostCrawl, forms: Sequence[str], engine: RuleEngine) -> list[int]:
    """Pages of the URLs; what redirects to a URL that was not crawled shows what the form of that URL shows."""
    page_of: dict[str, int] = {}
    for form, page in zip(forms, crawl.pages, strict=True):
        if page != UNKNOWN:
            page_of.setdefault(form, page)
    unknown = UNKNOWN
    pages = []
    for page, target in zip(crawl.pages, crawl.targets, strict=True):
        if page == UNKNOWN and target is not None:
            form = engine.form(target)
            if form not in page_of:
                unknown -= 1  # a page of its own, that nothing else is known to show
                page_of[form] = unknown
            page = page_of[form]
        pages.append(page)
    return pages


def _common_query_keys(urls: Sequence[str]) -> frozenset[str]:
    counts: Counter[str] = Counter()
    for url in urls:
        query = url.partition("?")[2]
        if query:
            counts.update({part.partition("=")[0] for part in query.split("&")})
    return frozenset(name for name, n in counts.items() if n >= MIN_URLS)


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
