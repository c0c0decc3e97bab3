"""A model, and its effect on a crawl: rule by rule, with examples.

The crawl is replayed as the live filter would decide: a URL is fetched if its form is new and no rule covers it.
Nothing is explored, so every wrong drop counts. Our own labels leave out redirects to URLs that were not crawled,
because nobody knows what they show.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from dedup_crawler.evaluation.simulated_crawl import CrawlOutcome
from dedup_crawler.methods import Canonicalizer, Referrer
from dedup_crawler.methods.pairs.classifier import PairClassifier
from dedup_crawler.methods.wrapped import StaticFront
from dedup_crawler.pages.records import PageFacts
from dedup_crawler.report.crawl_facts import PageOf
from dedup_crawler.rules.language.statistics import jeffreys_bound

MAX_URLS = 100_000
"""Most URLs of a crawl that are replayed, because their forms are held in memory."""
MAX_RULES = 60
"""Most rules of a model that are shown, those that drop most."""
N_EXAMPLES = 2
"""Most right and most wrong examples of a rule."""
_MAX_HOSTS = 10
_MAX_ENTRIES = 20  # entries of a table in a model.json, which anybody may have written


@dataclass(frozen=True)
class Example:
    """A URL that a rule dropped."""

    url: str
    owner: str | None
    """The URL that was fetched instead; None for a covered URL."""
    reason: str


@dataclass
class RuleOnCrawl:
    """Effect of one rule."""

    n_dropped: int = 0
    n_wrong: int = 0
    """Number of drops whose URL shows another page than its owner, or a page that no fetched URL shows."""
    right: list[Example] = field(default_factory=list)
    wrong: list[Example] = field(default_factory=list)


@dataclass(frozen=True)
class ShownRule:
    """One rule of a model."""

    sentence: str
    n_groups: int
    """Number of merge groups in training; 0 if they were not counted."""
    n_wrong: int
    on_crawl: RuleOnCrawl

    @property
    def promised(self) -> float | None:
        """Upper bound (0-1) of the share of wrong merges, from the training (95 %); None without counts."""
        return jeffreys_bound(self.n_groups, self.n_wrong) if self.n_groups else None


@dataclass(frozen=True)
class OnCrawl:
    """Effect of a model on a crawl."""

    outcome: CrawlOutcome
    n_dropped: int
    n_wrong: int
    """Number of wrong drops of all rules."""
    is_cut: bool
    """True if only the first :data:`MAX_URLS` URLs were tried."""


@dataclass(frozen=True)
class ModelFacts:
    """One model."""

    name: str
    """Name of the model's folder."""
    model: Canonicalizer
    summary: str
    hosts: Sequence[str]
    """The first hosts, sorted."""
    is_own_crawl: bool
    """True if the model was trained on exactly this crawl."""
    options: Sequence[tuple[str, str]]
    quality: Sequence[tuple[str, str]]
    rules: Sequence[ShownRule]
    n_rules: int
    on_crawl: OnCrawl | None
    """None without a labelled crawl, and for a classifier of pairs."""
    is_pair_classifier: bool


def model_facts(
    folder: Path,
    model: Canonicalizer,
    pages: Iterable[PageFacts] | None,
    page_of: PageOf,
    *,
    crawl_digest: str | None = None,
) -> ModelFacts:
    """Describe a model, read from *folder*, and replay the *pages* of a crawl (in crawl order), if there is one.

    *page_of* gives the page of each URL; *crawl_digest* is the training digest of the crawl.
    """
    is_pair_classifier = isinstance(model.model if isinstance(model, StaticFront) else model, PairClassifier)
    of_rules: dict[str, RuleOnCrawl] = {}
    on_crawl = None
    if pages is not None and not is_pair_classifier:  # a classifier would take minutes
        on_crawl, of_rules = _replayed(model, pages, page_of)
    evidence = model.rule_evidence()
    rules = [
        ShownRule(sentence, *evidence[rule], of_rules.get(rule, RuleOnCrawl()))
        for rule, sentence in model.rule_sentences().items()
    ]
    rules.sort(key=lambda rule: (-rule.on_crawl.n_dropped, -rule.n_groups))
    return ModelFacts(
        name=folder.absolute().name,
        model=model,
        summary=(type(model).__doc__ or "").partition("\n")[0],
        hosts=sorted(model.hosts)[:_MAX_HOSTS],
        is_own_crawl=crawl_digest is not None and model.data_digest_ == crawl_digest,
        options=_entries(model.options()),
        quality=_entries(model.quality_),
        rules=rules[:MAX_RULES],
        n_rules=len(rules),
        on_crawl=on_crawl,
        is_pair_classifier=is_pair_classifier,
    )


def _entries(table: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The first entries of a table, as texts."""
    entries = [(name.replace("_", " "), str(value)) for name, value in table.items() if value is not None]
    return entries[:_MAX_ENTRIES]


def _replayed(
    model: Canonicalizer, pages: Iterable[PageFacts], page_of: PageOf
) -> tuple[OnCrawl, dict[str, RuleOnCrawl]]:
    """Replay the crawl, and count what each rule drops."""
    of_rules: dict[str, RuleOnCrawl] = {}
    owners: dict[str, PageFacts] = {}
    form_of: dict[str, str] = {}  # of the URLs that were fetched
    needed: set[Hashable] = set()
    covered: set[Hashable] = set()
    skipped: list[tuple[str, Hashable]] = []  # URLs that a rule covers
    drops: list[bool] = []  # whether each is wrong
    n_urls = 0

    def referrer_of(facts: PageFacts) -> Referrer | None:
        form = form_of.get(facts.referrer or "")
        return None if form is None or facts.referrer is None else Referrer(facts.referrer, form)

    def drop(rules: Iterable[str], url: str, referrer: Referrer | None, owner: str | None, is_wrong: bool) -> None:
        drops.append(is_wrong)
        for rule in dict.fromkeys(rules):
            found = of_rules.setdefault(rule, RuleOnCrawl())
            found.n_dropped += 1
            found.n_wrong += is_wrong
            examples = found.wrong if is_wrong else found.right
            if len(examples) < N_EXAMPLES:
                examples.append(Example(url, owner, model.explain(url, referrer).reason))

    known = ((facts, page) for facts in pages if (page := page_of(facts)) is not None)
    for facts, page in islice(known, MAX_URLS):
        n_urls += 1
        needed.add(page)
        if facts.referrer is not None and model.is_covered(facts.url):
            skipped.append((facts.url, page))
            continue
        referrer = referrer_of(facts)
        form = model.canonicalize(facts.url, referrer)
        owner = owners.setdefault(form, facts)
        if owner is facts:
            form_of[facts.url] = form
            covered.add(page)
            continue
        # a plain URL may be dropped because of the rules that fired on its owner
        rules = (*model.leading(facts.url, referrer), *model.leading(owner.url, referrer_of(owner)))
        drop(rules, facts.url, referrer, owner.url, page_of(owner) != page)
    for url, page in skipped:
        drop(model.covering(url), url, None, None, page not in covered)
    outcome = CrawlOutcome(n_urls, len(owners), len(needed), len(covered))
    return OnCrawl(outcome, len(drops), sum(drops), next(known, None) is not None), of_rules
