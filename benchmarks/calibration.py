"""Comparison of the promised error of each rule of ``verified`` with its errors after the training part."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from recorded import Crawl

from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.language.sentences import sentence_of
from dedup_crawler.rules.language.site_rules import Shape
from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.urls.normal import host_of

BINS = (0.01, 0.02, 0.05, 0.10, 1.0)
"""Upper ends of the bins of promised bounds."""


@dataclass(frozen=True)
class Kept:
    """One rule and its errors."""

    kind: str
    sentence: str
    promised: float
    """Upper bound (0-1, 95 %) of the share of wrong groups."""
    later: MergeEvidence
    """Groups with a later URL, by truth; a group with two pages is wrong."""
    dropped: MergeEvidence
    """Later URLs that are not the first of their group; a URL with another page than the first is wrong."""

    @property
    def groups_within(self) -> bool:
        """Return True if later groups were wrong no more often than promised."""
        return self.later.n_wrong <= self.promised * self.later.n_groups

    @property
    def is_within(self) -> bool:
        """Return True if later URLs were wrong no more often than promised."""
        return self.dropped.n_wrong <= self.promised * self.dropped.n_groups


def promises(method: Verified, crawl: Crawl) -> list[Kept]:
    """Return all rules of the model."""
    return [*_of_rules(method, crawl), *_of_referrer_rules(method, crawl), *_of_coverage_rules(method, crawl)]


def _of_rules(method: Verified, crawl: Crawl) -> Iterator[Kept]:
    """Yield rewrite rules. A group counts for each rule that changed one of its URLs."""
    groups: dict[str, list[int]] = defaultdict(list)
    rules_of: dict[str, set[int]] = defaultdict(set)
    for place, url in enumerate(crawl.urls):
        form, fired = method.engine_.trace(url)
        groups[form].append(place)
        rules_of[form].update(fired)
    later: dict[int, list[bool]] = defaultdict(list)
    dropped: dict[int, list[bool]] = defaultdict(list)
    for form, places in groups.items():
        if len(places) > 1 and places[-1] >= crawl.cut:
            wrong = [crawl.pages[place] != crawl.pages[places[0]] for place in places[1:] if place >= crawl.cut]
            for number in rules_of[form]:
                later[number].append(len({crawl.pages[place] for place in places}) > 1)
                dropped[number] += wrong
    for number, rule in enumerate(method.engine_.rules):
        promised = rule.evidence.error_bound()
        yield Kept("form", sentence_of(rule), promised, _counted(later[number]), _counted(dropped[number]))


def _of_referrer_rules(method: Verified, crawl: Crawl) -> Iterator[Kept]:
    """Yield referrer rules. All links of one page are one group, as in training."""
    place_of = {url: place for place, url in reversed(list(enumerate(crawl.urls)))}
    for host, links in method.links_.items():
        holders: dict[tuple[Shape, Shape], dict[int, bool]] = defaultdict(lambda: defaultdict(bool))
        dropped: dict[tuple[Shape, Shape], list[bool]] = defaultdict(list)
        shapes = _shapes(method, crawl)
        for place in range(crawl.cut, len(crawl.urls)):
            holder = place_of.get(crawl.referrers[place] or "", len(crawl.urls))
            if holder < place and host_of(crawl.urls[place]) == host:
                pair = shapes[holder], shapes[place]
                dropped[pair].append(crawl.pages[place] != crawl.pages[holder])
                holders[pair][holder] |= dropped[pair][-1]
        for pair, rule in links.referrer_rules.items():
            later = _counted(list(holders[pair].values()))
            yield Kept("referrer", sentence_of(rule), rule.evidence.error_bound(), later, _counted(dropped[pair]))


def _of_coverage_rules(method: Verified, crawl: Crawl) -> Iterator[Kept]:
    """Yield coverage rules. A later page of a skipped shape is wrong if no other URL of the crawl shows it."""
    shapes = _shapes(method, crawl)
    for links in method.links_.values():
        elsewhere: set[Hashable] = {
            page for page, shape in zip(crawl.pages, shapes, strict=True) if shape not in links.coverage_rules
        }
        for shape, rule in links.coverage_rules.items():
            both = zip(crawl.pages[crawl.cut :], shapes[crawl.cut :], strict=True)
            pages = [page for page, its_shape in both if its_shape == shape]
            later = _counted([page not in elsewhere for page in set(pages)])
            dropped = _counted([page not in elsewhere for page in pages])
            yield Kept("coverage", sentence_of(rule), rule.evidence.error_bound(), later, dropped)


def _counted(wrong: Sequence[bool]) -> MergeEvidence:
    return MergeEvidence(len(wrong), sum(wrong))


def _shapes(method: Verified, crawl: Crawl) -> list[Shape]:
    hosts = method.links_
    return [hosts[host_of(url)].shapes.of(url) if host_of(url) in hosts else () for url in crawl.urls]


def bins(kept: Sequence[Kept]) -> Iterator[tuple[str, Sequence[Kept]]]:
    """Yield the rules with later groups, by promised bound."""
    low = 0.0
    for high in BINS:
        inside = [rule for rule in kept if low < rule.promised <= high and rule.later.n_groups]
        yield f"{low:.0%} to {high:.0%}", inside
        low = high
