"""Learns the model of ``verified``: host by host, the rules about single URLs first, then those about links.

It may test proposals of a trained model of another method. Most of their rules are taken as they are. Translations, and
rules about pieces of values, are applied to the training URLs, and the results are turned into rules
(:mod:`dedup_crawler.rules.learning.proposers`). The evidence of the other model is not used.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from dedup_crawler.errors import BadInputError
from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.site_text import SiteText
from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.methods.registry import load_model
from dedup_crawler.methods.wrapped import StaticFront
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.applying.reading import Reading
from dedup_crawler.rules.language.identifiers import rule_of, site_identifier
from dedup_crawler.rules.language.rule import AnyRule
from dedup_crawler.rules.language.site_rules import HostLinks, SiteRule
from dedup_crawler.rules.learning.belief import UNKNOWN, Belief, Risk
from dedup_crawler.rules.learning.host_crawl import HostCrawl, learn_links, learn_rules
from dedup_crawler.rules.learning.proposers import rules_of_examples
from dedup_crawler.rules.learning.site_learning import learn_host_aliases
from dedup_crawler.urls.normal import host_of, normal_form, places_by_host

MAX_PAIRS = 200
"""Most pairs of pages that are compared to learn the habits of one rule."""
MAX_OF_GROUP = 8
"""Most pairs of one merge group among them."""
_N_REMEMBERED = 50_000  # URLs whose forms are remembered while a model is learnt


@dataclass
class Learnt:
    """Everything that the crawl confirmed."""

    reading: Reading
    urls: list[str]
    """The training URLs as the rules read them."""
    refused: list[tuple[AnyRule | SiteRule, str]]
    n_tried: int
    engine: RuleEngine = field(default_factory=lambda: RuleEngine([]))
    engine_of_all: RuleEngine = field(default_factory=lambda: RuleEngine([]))
    """Applies the candidates, too."""
    candidates: list[AnyRule] = field(default_factory=list)
    links: dict[str, HostLinks] = field(default_factory=dict)
    linked: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Referrer rule -> pages and links on them, by their places."""


def learn(training: TrainingData, risk: Risk, origin: str, proposed_by: Path | None) -> Learnt:
    """Learn the rules that the crawl confirms within a *risk*; *origin* is the name that they get.

    URLs and targets of redirects are in normal form. *proposed_by* is the folder of a model whose proposals are tested.
    """
    crawled = {None, *training.urls}
    pages = [
        page if target in crawled else UNKNOWN
        for page, target in zip(training.clusters, training.redirects, strict=True)
    ]
    belief = Belief(risk)
    reading = Reading.learn(learn_host_aliases(training.urls, pages, belief), training.urls)
    read = reading.read
    crawl = TrainingData(
        [read(url) for url in training.urls],
        pages,
        [each and read(normal_form(each)) for each in training.referrers],
        [each and read(each) for each in training.redirects],
        training.evidence,
    )
    n_tried = belief.n_tried if len(set(map(host_of, training.urls))) > 1 else 0
    found = Learnt(reading, crawl.urls, list(belief.refused.values()), n_tried)
    rules: list[AnyRule] = []
    places_of = places_by_host(crawl.urls)
    urls_of = {host: [crawl.urls[place] for place in places] for host, places in places_of.items()}
    proposed = read_proposals(proposed_by, urls_of) if proposed_by is not None else {}
    for host, places in sorted(places_of.items()):
        its = crawl.rows(places)
        host_crawl = HostCrawl(host, its.urls, its.clusters, its.redirects, its.referrers, its.evidence, cache(read))
        belief = Belief(risk)
        its_rules, its_candidates = learn_rules(host_crawl, belief, origin, proposed.get(host, ()))
        rules += its_rules
        found.candidates += its_candidates
        # with one host these engines are the model's: they remember the forms of the URLs
        found.engine, found.engine_of_all = _engines(its_rules, its_candidates)
        # a URL that a candidate merges with another one is no other way to a page, either
        found.links[host], back = learn_links(host_crawl, found.engine_of_all, belief)
        found.linked |= {
            site_identifier(host, rule): [(places[page], places[place]) for page, place in pairs]
            for rule, pairs in back.items()
        }
        found.n_tried += belief.n_tried
        found.refused += belief.refused.values()
    if len(places_of) != 1:
        found.engine, found.engine_of_all = _engines(rules, found.candidates)
    return found


def _engines(rules: Sequence[AnyRule], candidates: Sequence[AnyRule]) -> tuple[RuleEngine, RuleEngine]:
    """An engine of the rules, and one that also applies the candidates: the same one without candidates."""
    engine = RuleEngine(rules, n_remembered=_N_REMEMBERED)
    return engine, RuleEngine([*rules, *candidates], n_remembered=_N_REMEMBERED) if candidates else engine


def site_text_with_habits(
    method: Canonicalizer,
    urls: Sequence[str],
    evidence: PageEvidence,
    linked: Mapping[str, Sequence[tuple[int, int]]],
) -> SiteText:
    """The text of the site with the habits of the rules of a fitted method; *urls* are in normal form.

    *linked* has the pairs of pages of each referrer rule, by their places.
    """
    first: dict[str, int] = {}
    pairs_of: dict[str, list[tuple[int, int]]] = defaultdict(list)
    n_of: Counter[tuple[str, str]] = Counter()
    for place, (url, form) in enumerate(zip(urls, method.canonicalize_many(urls), strict=True)):
        owner = first.setdefault(form, place)
        if owner == place:
            continue
        fired = (*method.leading(url, form=form), *method.leading(urls[owner], form=form))
        for rule in set(map(rule_of, fired)):
            if n_of[rule, form] < MAX_OF_GROUP and len(pairs_of[rule]) < MAX_PAIRS:
                n_of[rule, form] += 1
                pairs_of[rule].append((owner, place))
    for rule, pairs in linked.items():
        pairs_of[rule] += pairs[:: max(1, len(pairs) // MAX_PAIRS)][:MAX_PAIRS]
    return replace(evidence.site, habits={rule: evidence.habits(pairs) for rule, pairs in sorted(pairs_of.items())})


def read_proposals(folder: Path, urls: Mapping[str, Sequence[str]]) -> dict[str, Sequence[AnyRule]]:
    """Rules that a model proposes for each host; *urls* are the training URLs of each host, in normal form.

    BadInputError if the model has neither rules nor translations, or knows none of the hosts. ModelError if the folder
    is missing or damaged.
    """
    model = load_model(folder)
    model = model.model if isinstance(model, StaticFront) else model
    hosts = sorted(urls.keys() & model.hosts)
    if not hosts:
        known, wanted = ", ".join(sorted(model.hosts)) or "no host", ", ".join(sorted(urls)) or "none"
        raise BadInputError(f"{folder} was trained on {known}, not on {wanted}; give a model of the same site.")
    told = model.model_rules()
    proposed: dict[str, Sequence[AnyRule]] = {}
    for host in hosts:
        form_of = model.proposed_forms(host)
        if form_of is not None:
            proposed[host] = rules_of_examples(host, ((url, form_of(url)) for url in urls[host]), model.name)
        elif told is not None:
            proposed[host] = [replace(rule, origin=model.name) for rule in told.rules if rule.host == host]
        else:
            raise BadInputError(
                f"{folder} holds a {model.name} model, which has no rules and no translations to propose."
            )
    return proposed
