"""Learns the model of ``verified``: host by host, the rules about single URLs first, then those about links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import NamedTuple

from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.applying.reading import Reading
from dedup_crawler.rules.language.identifiers import site_identifier
from dedup_crawler.rules.language.rule import AnyRule
from dedup_crawler.rules.language.site_rules import HostLinks, SiteRule
from dedup_crawler.rules.learning.belief import UNKNOWN, Belief, Risk
from dedup_crawler.rules.learning.host_crawl import HostCrawl, learn_links, learn_rules
from dedup_crawler.rules.learning.site_learning import learn_host_aliases
from dedup_crawler.urls.normal import host_of, normal_form, places_by_host

_N_REMEMBERED = 50_000  # URLs whose forms are remembered while a model is learnt

Proposals = Callable[[Mapping[str, Sequence[str]]], Mapping[str, Sequence[AnyRule]]]
"""URLs by host -> proposed rules by host."""


class TrainingUrls(NamedTuple):
    """The crawl to learn from; sequences with one entry per URL, in crawl order."""

    urls: Sequence[str]
    """In normal form."""
    clusters: Sequence[int]
    referrers: Sequence[str | None]
    redirects: Sequence[str | None]
    """Where each URL redirects to."""


@dataclass
class Learnt:
    """What the crawl confirmed."""

    reading: Reading
    urls: list[str]
    """The training URLs as the rules read them."""
    engine: RuleEngine
    candidates: list[AnyRule]
    links: dict[str, HostLinks]
    linked: dict[str, list[tuple[int, int]]]
    """Referrer rule -> pages and links on them, by their places."""
    refused: list[tuple[AnyRule | SiteRule, str]]
    n_tried: int


def learn(
    training: TrainingUrls, evidence: PageEvidence | None, risk: Risk, origin: str, proposed_by: Proposals
) -> Learnt:
    """Learn the rules that the crawl confirms within a *risk*; *origin* is the name that they get."""
    crawled = {None, *training.urls}
    targets = training.redirects
    pages = [
        UNKNOWN if target not in crawled else page for page, target in zip(training.clusters, targets, strict=True)
    ]
    belief = Belief(risk)
    aliases = learn_host_aliases(training.urls, pages, belief)
    reading = Reading.learn(aliases, training.urls)
    read = reading.read
    urls = [read(url) for url in training.urls]
    places_of = places_by_host(urls)
    refused = list(belief.refused.values())
    n_tried = belief.n_tried if len(set(map(host_of, training.urls))) > 1 else 0
    rules: list[AnyRule] = []
    candidates: list[AnyRule] = []
    links: dict[str, HostLinks] = {}
    linked: dict[str, list[tuple[int, int]]] = {}
    engine = RuleEngine(rules)
    proposed = proposed_by({host: [urls[place] for place in places] for host, places in places_of.items()})
    for host, places in sorted(places_of.items()):
        crawl = HostCrawl(
            host,
            [urls[place] for place in places],
            [pages[place] for place in places],
            [each and read(each) for each in map(targets.__getitem__, places)],
            [each and read(normal_form(each)) for each in map(training.referrers.__getitem__, places)],
            evidence.of(places) if evidence is not None else None,
            partial(_links_on, evidence, places) if evidence is not None else None,
            cache(read),
        )
        belief = Belief(risk)
        its_rules, its_candidates = learn_rules(crawl, belief, origin, proposed.get(host, ()))
        rules += its_rules
        candidates += its_candidates
        # with one host this engine is the model's: it remembers the forms of the URLs
        engine = of_all = RuleEngine(its_rules, n_remembered=_N_REMEMBERED)
        # a URL that a candidate merges with another one is no other way to a page, either
        if its_candidates:
            of_all = RuleEngine([*its_rules, *its_candidates], n_remembered=_N_REMEMBERED)
        links[host], back = learn_links(crawl, of_all, belief)
        linked |= {
            site_identifier(host, rule): [(places[page], places[place]) for page, place in pairs]
            for rule, pairs in back.items()
        }
        n_tried += belief.n_tried
        refused += belief.refused.values()
    if len(places_of) != 1:
        engine = RuleEngine(rules, n_remembered=_N_REMEMBERED)
    return Learnt(reading, urls, engine, candidates, links, linked, refused, n_tried)


def _links_on(evidence: PageEvidence, places: Sequence[int], place: int) -> Iterable[str]:
    """Links on a page of one host; *places* are those of the pages of the host."""
    return evidence.links_on(places[place])
