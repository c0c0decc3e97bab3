"""Learns from the crawl of one host for ``verified``: rules first, then link rules about the URLs that are left.

The order of the keys in a query hardly ever matters. The crawl decides that too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from dedup_crawler.grouping import grouped
from dedup_crawler.rules.applying.engine import RuleEngine, read_url
from dedup_crawler.rules.language.rule import AnyRule
from dedup_crawler.rules.language.site_rules import HostLinks, ReferrerRule, Shape, Shapes, query_shape
from dedup_crawler.rules.learning.belief import MIN_GROUPS, UNKNOWN, Belief, PairJudge, within_budget
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.learning.hypotheses import MIN_URLS
from dedup_crawler.rules.learning.proposers import proposals
from dedup_crawler.rules.learning.site_learning import (
    Links,
    evenly,
    learn_coverage_rules,
    learn_referrer_rules,
    verdicts_of,
)
from dedup_crawler.rules.learning.verified_rules import RuleLearner
from dedup_crawler.urls.keyvalue import KEY_VALUES, query_names
from dedup_crawler.urls.normal import normal_form
from dedup_crawler.urls.page_links import names_of_links

MIN_WRONG = 3
"""Smallest number of wrong groups, for the order of queries to matter."""
MAX_KINDS = 10
"""Most kinds of URLs whose pages are searched for links."""
MAX_READ = 30
"""Most pages of a kind that are searched for links, of those that other URLs show, and of others."""
MAX_WRONG = 0.1
"""Largest share (0-1) of wrong groups with which the order of queries does not matter."""
MIN_REPEATING = 5
"""Smallest number of URLs of a kind, to say whether it repeats pages."""
MAX_ALONE = 1 / 3
"""Largest share (0-1) of the URLs of a kind that repeats, for the pages that no other kind shows."""


@dataclass(frozen=True)
class HostCrawl:
    """URLs of one host in crawl order; all lists have one entry for each URL."""

    host: str
    urls: Sequence[str]
    """URLs in normal form."""
    pages: Sequence[int]
    """Page that each URL shows; UNKNOWN if it redirects to a URL that was not crawled."""
    targets: Sequence[str | None]
    """URL that each URL redirects to; None if it does not redirect."""
    referrers: Sequence[str | None]
    evidence: PairJudge | None = None
    """Compares pages, given their places in these lists."""
    read: Callable[[str], str] = normal_form
    """Writes the URL of a link as *urls* are written."""

    @cached_property
    def alike(self) -> Sequence[int]:
        """Page of each URL; pages that are probably the same have one number."""
        return self.evidence.alike(self.pages) if self.evidence is not None else self.pages


def learn_rules(
    crawl: HostCrawl, belief: Belief, origin: str, proposed: Sequence[AnyRule] = ()
) -> tuple[list[AnyRule], list[AnyRule]]:
    """Learn the rules that the crawl confirms, within the budget of lost pages that the risk allows; and candidates.

    The proposals of the miners and the *proposed* rules come last, for the duplicates that are left.
    """
    columns = UrlColumns(crawl.host, crawl.urls, crawl.pages, crawl.evidence, crawl.alike)
    learner = RuleLearner(columns, belief, origin)
    learner.learn()
    found = learner.learn_proposed([*proposals(columns), *proposed])
    n_pages = len(set(crawl.pages) - {UNKNOWN})
    budget = belief.risk.lost_per_thousand * n_pages / 1000
    kept = set(map(id, within_budget([rule.statistics for rule in found], budget)))
    reason = f"all rules together may lose {belief.risk.lost_per_thousand:g} pages of a thousand; others save more"
    for rule in found:
        if id(rule.statistics) not in kept:
            belief.refuse(("budget", rule.identity()), rule, reason)
    return [rule for rule in found if id(rule.statistics) in kept], learner.candidates()


def learn_links(
    crawl: HostCrawl, engine: RuleEngine, belief: Belief
) -> tuple[HostLinks, dict[ReferrerRule, Sequence[tuple[int, int]]]]:
    """Learn the link rules, and whether the order of queries matters.

    Referrer rules also come with their evidence: pairs of a page and a link on it.
    """
    forms = [engine.form(url) for url in crawl.urls]
    shapes = Shapes.learn(crawl.urls)
    place_of = {url: place for place, url in reversed([*enumerate(crawl.urls)])}  # the first one of each URL
    earlier = [place_of.get(referrer or "", len(crawl.urls)) for referrer in crawl.referrers]
    pages = _resolved(crawl, forms, engine)
    links_on = cache(lambda place: _links_on(crawl, place))
    names_on = cache(lambda place: names_of_links(links_on(place), crawl.urls[place]) if links_on(place) else None)
    links = Links(
        forms=forms,
        pages=pages,
        referrers=[other if other < place else -1 for place, other in enumerate(earlier)],
        linked=_linked(crawl, pages, shapes, place_of, links_on),
        names_on=names_on,
        of_link=lambda page, place: shapes.of_link(crawl.urls[page], crawl.urls[place]),
        shapes=[shapes.of(url) for url in crawl.urls],
        targets=[(shapes.of(target), engine.form(target)) if target is not None else None for target in crawl.targets],
        evidence=crawl.evidence,
        errors=_errors(crawl, pages),
    )
    back = learn_referrer_rules(links, belief)
    n_urls_with = Counter(name for url in crawl.urls for name in set(query_names(url)))
    found = HostLinks(
        query_names=frozenset(name for name, n in n_urls_with.items() if n >= MIN_URLS),
        is_ordered=_order_matters(crawl),
        shapes=shapes,
        referrer_rules={(rule.referrer, rule.shape): rule for rule in back},
        coverage_rules={rule.shape: rule for rule in learn_coverage_rules(links, belief)},
        repeating=_repeating(crawl, links.shapes),
        known=frozenset(shape for shape, n in Counter(links.shapes).items() if n >= MIN_REPEATING),
    )
    return found, back


def _links_on(crawl: HostCrawl, place: int) -> Sequence[str]:
    return [*map(normal_form, crawl.evidence.links_on(place))] if crawl.evidence is not None else ()


def _linked(
    crawl: HostCrawl,
    pages: Sequence[int],
    shapes: Shapes,
    place_of: Mapping[str, int],
    links_on: Callable[[int], Sequence[str]],
) -> set[tuple[int, int]]:
    """Links on a sample of the pages, as places of the page and of the link, crawled links only.

    The sample is taken from the kinds of URLs whose pages other URLs show as well: of each kind some of these pages,
    and as many others.
    """
    found: set[tuple[int, int]] = set()
    n_urls = Counter(pages)
    twice: dict[Shape, list[int]] = defaultdict(list)
    once: dict[Shape, list[int]] = defaultdict(list)
    for place, (page, target) in enumerate(zip(pages, crawl.targets, strict=True)):
        if target is None:
            (twice if n_urls[page] > 1 else once)[shapes.kind_of(crawl.urls[place])].append(place)
    for kind in sorted(twice, key=lambda kind: (-len(twice[kind]), twice[kind]))[:MAX_KINDS]:
        if len(twice[kind]) >= MIN_GROUPS:
            for place in (*evenly(twice[kind], MAX_READ), *evenly(once.get(kind, ()), MAX_READ)):
                linked = (place_of.get(crawl.read(url), place) for url in links_on(place))
                found.update((place, other) for other in linked if other != place)
    return found


def _repeating(crawl: HostCrawl, shapes: Sequence[Shape]) -> frozenset[Shape]:
    """Kinds of URLs that mostly repeat pages; pages that are probably the same count as one."""
    pages = [UNKNOWN if page == UNKNOWN else number for page, number in zip(crawl.pages, crawl.alike, strict=True)]
    leads_on = [target is not None for target in crawl.targets]
    of_query = list(map(query_shape, crawl.urls))
    return repeating_kinds(shapes, pages, leads_on) | repeating_kinds(of_query, pages, leads_on)


def repeating_kinds(kinds: Sequence[Shape], alike: Sequence[int], leads_on: Sequence[bool]) -> frozenset[Shape]:
    """Find the kinds of URLs that mostly repeat pages which other URLs show.

    Nothing is dropped for that. A crawl that learns fetches such URLs last, when it knows most about them: until then a
    rule may be believed that spares their fetches. So similar pages are enough here, where rules must be proved. A kind
    is a shape, or all URLs with the same query names: ``?sort=`` mostly means the same in all sections of a site.

    A page that only repeating kinds show is no repetition.

    Of two kinds that show the same pages, only one repeats: the one of which more URLs redirect, because the page is at
    the target; else the one of more URLs.

    Parameters
    ----------
    kinds, alike, leads_on
        Kind of each URL, empty for none; a number for pages that are probably the same, UNKNOWN for none; and True for
        redirects.
    """
    known = [each for each in zip(kinds, alike, leads_on, strict=True) if each[1] != UNKNOWN]
    n_urls = Counter(kind for kind, _, _ in known)
    n_redirects = Counter(kind for kind, _, is_redirect in known if is_redirect)
    shown = {(kind, page) for kind, page, _ in known}
    pages_of, kinds_of = grouped(shown), grouped((page, kind) for kind, page in shown)
    found: set[Shape] = set()
    share = {kind: n_redirects[kind] / n for kind, n in n_urls.items()}
    for kind in sorted(filter(None, n_urls), key=lambda kind: (-share[kind], -n_urls[kind], kind)):
        if n_urls[kind] >= MIN_REPEATING:
            n_alone = sum((found | {kind}).issuperset(kinds_of[page]) for page in pages_of[kind])
            if n_alone <= MAX_ALONE * n_urls[kind]:
                found.add(kind)
    return frozenset(found)


def _errors(crawl: HostCrawl, pages: Sequence[int]) -> set[int]:
    """Pages of the URLs that answered with an error; none if the answers are not known."""
    if crawl.evidence is None:
        return set()
    has_own_page = crawl.evidence.has_own_page
    places = (place for place, target in enumerate(crawl.targets) if target is None and not has_own_page(place))
    return {pages[place] for place in places}


def _resolved(crawl: HostCrawl, forms: Sequence[str], engine: RuleEngine) -> list[int]:
    """Pages of the URLs; a redirect to a URL that was not crawled shows the page with the form of that URL."""
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
                unknown -= 1  # the number of a page that no other URL is known to show
                page_of[form] = unknown
            page = page_of[form]
        pages.append(page)
    return pages


def _order_matters(crawl: HostCrawl) -> bool:
    """Return True if the order of queries matters; by default it does not, as in Scrapy itself.

    URLs that differ only in the order of their query are a group; a wrong group shows several pages.
    """
    orders: dict[str, dict[str, int]] = defaultdict(dict)
    for place, (url, page) in enumerate(zip(crawl.urls, crawl.pages, strict=True)):
        if page != UNKNOWN:
            orders[read_url(url, KEY_VALUES)[0]].setdefault(url, place)
    groups = [[*places.values()] for places in orders.values() if len(places) > 1]
    pairs = [(first, place) for first, *others in groups for place in others]
    firsts = [first for first, _ in pairs]
    verdicts = verdicts_of(pairs, firsts, crawl.pages, crawl.evidence)
    n_wrong = len({first for first, verdict in zip(firsts, verdicts, strict=True) if verdict == 0})
    return n_wrong >= MIN_WRONG and n_wrong > MAX_WRONG * len(groups)
