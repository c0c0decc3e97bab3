"""``verified``: our own method. It proposes by everything, and believes only what the crawl confirms."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dedup_crawler.errors import BadInputError, DamagedModelError
from dedup_crawler.methods.base import Canonicalizer, Explanation, Referrer
from dedup_crawler.methods.model_folder import ModelFiles
from dedup_crawler.rules.belief import RISKS, Belief
from dedup_crawler.rules.columns import UNKNOWN, UrlColumns
from dedup_crawler.rules.engine import RuleEngine
from dedup_crawler.rules.hypotheses import MIN_URLS
from dedup_crawler.rules.link_files import HostLinks, links_from_json, links_to_json
from dedup_crawler.rules.link_rules import Links, learn_coverage_rules, learn_referrer_rules
from dedup_crawler.rules.rule_files import rules_from_json, rules_to_json
from dedup_crawler.rules.sentences import coverage_sentence, referrer_sentence, rule_sentence
from dedup_crawler.rules.shapes import Shapes
from dedup_crawler.rules.verified_rules import RuleLearner
from dedup_crawler.urls.normal import host_of, normal_form

_RULES_FILE = "rules.json"
_LINKS_FILE = "links.json"


class Verified(Canonicalizer):
    """Rules that the crawl itself confirms, coarse to fine; what nothing was measured about stays as it is.

    Parameters
    ----------
    risk
        safe, balanced or eager: how often a rule may be wrong at most.
    """

    name = "verified"

    def __init__(self, *, risk: str = "balanced") -> None:
        self.risk = risk

    def learnt(self) -> list[str]:
        """Every rule as a sentence, with its evidence."""
        rules = sorted(self.engine_.rules, key=lambda rule: -rule.statistics.n_urls)
        lines = [rule_sentence(rule) for rule in rules]
        for links in self.links_.values():
            lines += [referrer_sentence(rule) for rule in links.referrer_rules.values()]
            lines += [coverage_sentence(rule) for rule in links.coverage_rules.values()]
        return lines

    def explain(self, url: str, referrer: Referrer | None = None) -> Explanation:
        """Say which form *url* gets and why, on the page that holds the link if that is given."""
        normal = normal_form(url)
        links = self.links_.get(host_of(normal))
        if referrer is not None and links is not None:
            again = links.referrer_rule_of(normal, normal_form(referrer.url))
            if again is not None:
                return Explanation(url, referrer.form, referrer_sentence(again))
        return super().explain(url, referrer)

    def _check_options(self) -> None:
        if self.risk not in RISKS:
            raise BadInputError(f"risk = {self.risk!r} is not known; choose one of {', '.join(RISKS)}.")

    def _fit(self, urls: list[str], clusters: list[int], referrers: list[str | None]) -> None:
        crawled = set(urls)
        redirects = self._redirects or [None] * len(urls)
        rules = []
        self.links_ = {}
        self.n_tried_ = 0
        for host, places in sorted(_by_host(urls).items()):
            belief = Belief(RISKS[self.risk])
            its_urls = [urls[place] for place in places]
            targets = [redirects[place] for place in places]
            known = [
                clusters[place] if target is None or target in crawled else UNKNOWN
                for place, target in zip(places, targets, strict=True)
            ]
            found = RuleLearner(UrlColumns(host, its_urls, known), belief, self.name).learn()
            rules += found
            crawl = _HostCrawl(its_urls, known, targets, [referrers[place] for place in places])
            self.links_[host] = _learn_links(crawl, RuleEngine(found), belief)
            self.n_tried_ += belief.n_tried
        self.engine_ = RuleEngine(rules)

    def _form(self, url: str, referrer: Referrer | None) -> str:
        links = self.links_[host_of(url)]
        if links.is_strange(url):
            return url
        if referrer is not None and links.is_referrer_again(url, normal_form(referrer.url)):
            return referrer.form
        return self.engine_.form(url)

    def _is_covered(self, url: str) -> bool:
        links = self.links_[host_of(url)]
        return links.is_covered(url) and not links.is_strange(url)

    def _explain(self, url: str, form: str) -> Explanation:
        links = self.links_[host_of(url)]
        if links.is_strange(url):
            return Explanation(url, form, "it has something in its query that was not seen often enough: left alone")
        covered = links.coverage_of(url)
        _, fired = self.engine_.trace(url)
        said = [rule_sentence(self.engine_.rules[number]) for number in fired]
        said += [coverage_sentence(covered)] if covered is not None else []
        if not said:
            why = "no rule changes it" if form == url else "no rule changes it; the query is sorted"
            return Explanation(url, form, f"{why} ({len(self.engine_.rules)} rules were learnt)")
        evidence = [rules_to_json([self.engine_.rules[number]])[0]["statistics"] for number in fired]
        return Explanation(url, form, "; then ".join(said), {"rules": evidence} if evidence else {})

    def n_learnt(self) -> int | None:
        """Rules of all kinds."""
        quality = self.quality_
        return int(quality["rules"] + quality["referrer_rules"] + quality["coverage_rules"])

    def _quality(self) -> dict[str, Any]:
        rules = self.engine_.rules
        n_groups = sum(rule.statistics.evidence.n_groups for rule in rules)
        return {
            "rules": len(rules),
            "referrer_rules": sum(len(links.referrer_rules) for links in self.links_.values()),
            "coverage_rules": sum(len(links.coverage_rules) for links in self.links_.values()),
            "hypotheses_tried": self.n_tried_,
            "merge_groups": n_groups,
            "wrong_merge_groups": sum(rule.statistics.evidence.n_wrong for rule in rules),
        }

    def _tables(self) -> dict[str, Any]:
        return {
            _RULES_FILE: rules_to_json(self.engine_.rules),
            _LINKS_FILE: {host: links_to_json(links) for host, links in sorted(self.links_.items())},
        }

    def _restore(self, files: ModelFiles) -> None:
        try:
            self.engine_ = RuleEngine(rules_from_json(files.tables[_RULES_FILE], _RULES_FILE))
            self.links_ = {
                host: links_from_json(links, _LINKS_FILE) for host, links in files.tables[_LINKS_FILE].items()
            }
        except (KeyError, AttributeError) as error:
            raise DamagedModelError(f"the model lacks {error}. Train again.") from None
        except BadInputError as error:
            raise DamagedModelError(f"{error} Train again.") from error


@dataclass(frozen=True)
class _HostCrawl:
    urls: list[str]
    pages: list[int]
    targets: list[str | None]
    referrers: list[str | None]


def _learn_links(crawl: _HostCrawl, engine: RuleEngine, belief: Belief) -> HostLinks:
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
    )
    referrer_rules = {(rule.referrer, rule.shape): rule for rule in learn_referrer_rules(links, belief)}
    return HostLinks(
        _common_query_keys(crawl.urls),
        shapes,
        referrer_rules,
        {rule.shape: rule for rule in learn_coverage_rules(links, belief)},
    )


def _resolved(crawl: _HostCrawl, forms: Sequence[str], engine: RuleEngine) -> list[int]:
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


def _by_host(urls: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for place, url in enumerate(urls):
        places[host_of(url)].append(place)
    places.pop("", None)
    return places
