"""Learns the model of ``verified``: host by host, the rules about single URLs first, then those about links.

It may test proposals of a trained model of another method. Most of their rules are taken as they are. Translations, and
rules about pieces of values, are applied to the training URLs, and the results are turned into rules
(:mod:`dedup_crawler.rules.learning.proposers`). The evidence of the other model is not used.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from dedup_crawler.errors import BadInputError, DamagedModelError
from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.site_text import SiteText
from dedup_crawler.json_values import JsonValue
from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.folder import ModelFiles, method_of, read_model
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.applying.reading import Reading
from dedup_crawler.rules.applying.translations import TranslationTable
from dedup_crawler.rules.language.identifiers import rule_of, site_identifier
from dedup_crawler.rules.language.rule import AnyRule
from dedup_crawler.rules.language.rule_files import rules_from_json
from dedup_crawler.rules.language.site_rules import HostLinks, SiteRule
from dedup_crawler.rules.learning.belief import UNKNOWN, Belief, Risk
from dedup_crawler.rules.learning.host_crawl import HostCrawl, learn_links, learn_rules
from dedup_crawler.rules.learning.proposers import rules_of_examples
from dedup_crawler.rules.learning.site_learning import learn_host_aliases
from dedup_crawler.urls.keyvalue import UrlMap
from dedup_crawler.urls.normal import host_of, normal_form, places_by_host
from dedup_crawler.urls.templates import Templater

MAX_PAIRS = 200
"""Most pairs of pages that are compared to learn the habits of one rule."""
MAX_OF_GROUP = 8
"""Most pairs of one merge group among them."""
_N_REMEMBERED = 50_000  # URLs whose forms are remembered while a model is learnt
_RULES, _CUTS, _TRANSLATIONS, _TOKENS = "rules.json", "deep_keys.json", "translations.json", "tokens.json"


@dataclass
class Learnt:
    """Everything that the crawl confirmed."""

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


def learn(training: TrainingData, risk: Risk, origin: str, proposed_by: Path | None) -> Learnt:
    """Learn the rules that the crawl confirms within a *risk*; *origin* is the name that they get.

    URLs and targets of redirects are in normal form. *proposed_by* is the folder of a model whose proposals are tested.
    """
    evidence = training.evidence
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
    urls_of = {host: [urls[place] for place in places] for host, places in places_of.items()}
    proposed = read_proposals(proposed_by, urls_of) if proposed_by is not None else {}
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


def read_proposals(folder: Path, urls: Mapping[str, Sequence[str]]) -> dict[str, list[AnyRule]]:
    """Rules that a model proposes for each host; *urls* are the training URLs of each host, in normal form.

    BadInputError if the model has neither rules nor translations, or knows none of the hosts. ModelError if the folder
    is missing or damaged.
    """
    method = method_of(folder)
    description, files = read_model(folder, method)
    hosts = sorted(urls.keys() & set(description["hosts"]))
    if not hosts:
        known, wanted = ", ".join(description["hosts"]) or "no host", ", ".join(sorted(urls)) or "none"
        raise BadInputError(f"{folder} was trained on {known}, not on {wanted}; give a model of the same site.")
    try:
        propose = _proposer(method, description["options"], files)
    except BadInputError as error:
        raise DamagedModelError(f"{folder} cannot be read as proposals: {error} Train it again.") from error
    if propose is None:
        raise BadInputError(f"{folder} holds a {method} model, which has no rules and no translations to propose.")
    return {host: propose(host, urls[host]) for host in hosts}


def _proposer(
    method: str, options: Mapping[str, Any], files: ModelFiles
) -> Callable[[str, Sequence[str]], list[AnyRule]] | None:
    """A function that makes the rules of a host from its URLs; None if the model has nothing to propose."""
    if _RULES in files.tables:
        rules = [replace(rule, origin=method) for rule in rules_from_json(files.table(_RULES))]
        cut = files.table(_CUTS).table() if _CUTS in files.tables else {}
        maps = {host: UrlMap.from_json(cuts) for host, cuts in cut.items()}
        engine = RuleEngine(rules, maps)
        return lambda host, urls: (
            _shown(host, urls, engine.form, method)
            if host in maps and maps[host].cuts
            else [rule for rule in rules if rule.host == host]
        )
    if _TRANSLATIONS in files.tables:
        table = _all_translations(options, files)
        return lambda host, urls: _shown(host, urls, table.form, method)
    return None


def _all_translations(options: Mapping[str, Any], files: ModelFiles) -> TranslationTable:
    """The table with all translations of the network, including those that its gate refused."""
    tokens = files.table(_TOKENS)
    said = JsonValue(options, "the options")
    is_deep = said["preset"].text() != "paper" if said["deep"].raw is None else said["deep"].flag()
    translations = TranslationTable.translations_from_json(files.table(_TRANSLATIONS))
    return TranslationTable(
        Templater(tokens["function_tokens"].texts(), tokens["function_words"].texts(), deep=is_deep),
        {template: replace(said, is_used=True, guarded=()) for template, said in translations.items()},
    )


def _shown(host: str, urls: Sequence[str], form: Callable[[str], str], origin: str) -> list[AnyRule]:
    return [*rules_of_examples(host, ((url, form(url)) for url in urls), origin)]
