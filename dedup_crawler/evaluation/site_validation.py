"""Rules tried on the live site: a rule holds if both pages of nearly all sampled pairs exist and say the same.

Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST", poster, WWW 2006: with 20 samples a rule the
precision was 1.0 on a forum. Rules are tried in their order, the best supported first; a trial ends as soon as its
outcome is certain, and a rule that the rules which held already imply is not tried.

Two pages say the same if their bytes are equal or the labeller, asked about these two pages alone, says so.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dedup_crawler.labels.labelling import cluster_labelled
from dedup_crawler.labels.main_text import TextReader
from dedup_crawler.pages.fetching.fetcher import PoliteFetcher
from dedup_crawler.pages.records import LabelledPage, Page, PageText
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.dust.trials import Trial
from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.rules.language.substring_rule import AnyRule

_MAX_SKIPPED = 3  # samples that say nothing, for each that is wanted


@dataclass(frozen=True)
class SiteValidation:
    """Results of the rules."""

    held: list[AnyRule]
    """With the fetched pairs as their evidence."""
    n_rejected: int
    n_implied: int
    """Not tried, for rules that held do what they say."""
    n_untried: int
    """Without a sample, or beyond the limit of fetches."""
    n_fetches: int


class SiteValidator:
    """Tries rules on a live site; what held so far is there at any time, also after Ctrl-C.

    Parameters
    ----------
    urls
        Known URLs in normal form, from which the samples are drawn; the site's and others.
    fetcher
        Of the site.
    n, epsilon
        Pairs for each rule, and the share (0-1) of them that may fail.
    seed
        Draws the samples.
    """

    def __init__(
        self, urls: Sequence[str], fetcher: PoliteFetcher, *, n: int = 20, epsilon: float = 0.05, seed: int = 0
    ) -> None:
        self._urls = list(urls)
        random.Random(seed).shuffle(self._urls)  # noqa: S311 - draws examples, guards nothing
        unchanged = RuleEngine([])
        self._published = {unchanged.form(url): url for url in reversed(self._urls)}
        self._fetcher = fetcher
        self._n = n
        self._epsilon = epsilon
        self.outcome = SiteValidation([], 0, 0, 0, 0)

    def validate(
        self, rules: Sequence[AnyRule], progress: Callable[[str, int, int], None] | None = None
    ) -> SiteValidation:
        """Try rules in their order; *progress* gets a note, rules done, and how many there are."""
        with TextReader() as reader:
            for done, rule in enumerate(rules):
                if progress is not None:
                    progress(
                        f"{len(self.outcome.held)} rules hold, {self._fetcher.n_fetches} fetches", done, len(rules)
                    )
                self._try(rule, reader)
                self.outcome = replace(self.outcome, n_fetches=self._fetcher.n_fetches)
        return self.outcome

    def _try(self, rule: AnyRule, reader: TextReader) -> None:
        trial = Trial(self._n, self._epsilon)
        pairs = [] if self._fetcher.is_spent else self._pairs(rule)
        known = RuleEngine(self.outcome.held)
        if pairs and all(known.form(url) == known.form(target) for url, target in pairs):
            self.outcome = replace(self.outcome, n_implied=self.outcome.n_implied + 1)
            return
        for url, target in pairs:
            if trial.is_decided or trial.n_right + trial.n_wrong == self._n:
                break
            is_same = self._is_same(url, target, reader)
            if is_same is not None:
                trial.add(is_same)
        is_cut_short = self._fetcher.is_spent and not trial.is_decided
        if is_cut_short or not trial.n_right + trial.n_wrong:
            self.outcome = replace(self.outcome, n_untried=self.outcome.n_untried + 1)
        elif trial.is_passed:
            evidence = MergeEvidence(trial.n_right + trial.n_wrong, trial.n_wrong)
            rule = replace(rule, statistics=replace(rule.statistics, evidence=evidence))
            self.outcome = replace(self.outcome, held=[*self.outcome.held, rule])
        else:
            self.outcome = replace(self.outcome, n_rejected=self.outcome.n_rejected + 1)

    def _pairs(self, rule: AnyRule) -> list[tuple[str, str]]:
        """URLs that the rule changes, with what it makes of them; more than are needed, for some say nothing."""
        engine, nothing = RuleEngine([rule]), RuleEngine([])
        pairs: list[tuple[str, str]] = []
        for url in self._urls:
            target = engine.form(url)
            if target != url and target != nothing.form(url):
                pairs.append((url, target))
                if len(pairs) == self._n * (1 + _MAX_SKIPPED):
                    break
        return pairs

    def _is_same(self, url: str, target: str, reader: TextReader) -> bool | None:
        """Return True if both say the same; None where the sample says nothing."""
        # a form has its query sorted; where the site is known to publish that page, it is asked in its own words
        right = self._fetcher.fetch(_rest(self._published.get(target, target)))
        if right.is_forbidden or self._fetcher.is_spent:
            return None
        left = self._fetcher.fetch(_rest(url)).page
        if left is None or left.status != 200:
            return None
        return right.page is not None and right.page.status == 200 and say_the_same(left, right.page, reader)


def say_the_same(left: Page, right: Page, reader: TextReader) -> bool:
    """Return True if two pages with status 200 show a reader the same."""
    if left.content == right.content:
        return len(left.content) > 0
    texts = reader.read((left, right))
    first, second = cluster_labelled([_labelled(text, place) for place, text in enumerate(texts)])
    return first == second


def _labelled(text: PageText, place: int) -> LabelledPage:
    # both may be the same URL, behind redirects; the labeller wants two
    return LabelledPage(f"{text.url}#{place}", None, 200, None, text.title, text.main_text, text.simhash, None)


def _rest(url: str) -> str:
    return "/" + url.partition("://")[2].partition("/")[2]
