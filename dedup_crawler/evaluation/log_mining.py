"""DustBuster on web-server logs, from the files to the model: read, mine, validate on the live site.

Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST", poster, WWW 2006: a rule holds if both pages of
nearly all sampled pairs exist and are the same; with 20 samples per rule the precision was 1.0 on a forum. Rules with
most support are tried first. Sampling ends as soon as its outcome is certain, and a rule that is implied by valid rules
is not tried. Two pages are the same if their bytes are equal or the labeller, given only these two, joins them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from dedup_crawler.errors import BadInputError
from dedup_crawler.labels.clusters import cluster_labelled
from dedup_crawler.labels.main_text import TextReader
from dedup_crawler.methods.miners import DustBuster
from dedup_crawler.methods.model.training_data import default_model_folder
from dedup_crawler.pages.compression import Progress
from dedup_crawler.pages.fetcher import ForbiddenError, PoliteFetcher, visit_site
from dedup_crawler.pages.logs import LogReport, read_logs
from dedup_crawler.pages.records import LabelledPage, Page
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.rule import AnyRule
from dedup_crawler.rules.language.statistics import MergeEvidence
from dedup_crawler.rules.miners.url_list import PairTally
from dedup_crawler.urls.normal import host_of, normal_form

_MAX_FAILED = 0.05  # largest share of failed samples of a rule that holds
_MAX_SKIPPED = 3  # most useless samples for each sample that is needed
_UNCHANGED = RuleEngine([]).form


@dataclass
class SiteValidation:
    """Results of the samples."""

    held: list[AnyRule] = field(default_factory=list)
    """Rules that held, with the fetched pairs as their evidence."""
    n_rejected: int = 0
    n_implied: int = 0
    """Number of rules that were not tried, because rules that held imply them."""
    n_untried: int = 0
    """Number of rules without a sample, or beyond the limit of fetches."""
    n_fetches: int = 0


class SiteValidator:
    """Tries rules on the site of a fetcher; the results so far are available at any time, also after Ctrl-C.

    It draws *n* samples for each rule from the known *urls* (normal form; may include other sites). The *reader* reads
    pages.
    """

    def __init__(self, urls: Sequence[str], fetcher: PoliteFetcher, reader: TextReader, *, n: int) -> None:
        self._urls = list(urls)
        random.Random(0).shuffle(self._urls)  # noqa: S311 - only draws samples
        self._published = {_UNCHANGED(url): url for url in reversed(self._urls)}
        self._fetcher, self._reader, self._n = fetcher, reader, n
        self.outcome = SiteValidation()

    async def validate(self, rules: Sequence[AnyRule], progress: Progress | None = None) -> None:
        """Try rules in order; *progress* gets a note, the number of tried rules, and their total."""
        for done, rule in enumerate(rules):
            if progress is not None:
                note = f"{len(self.outcome.held)} rules hold, {self._fetcher.n_fetches} fetches"
                progress(note, done, len(rules))
            await self._try(rule)
            self.outcome.n_fetches = self._fetcher.n_fetches

    async def _try(self, rule: AnyRule) -> None:
        tally = PairTally(self._n, _MAX_FAILED)
        pairs = [] if self._fetcher.is_spent else self._pairs(rule)
        known = RuleEngine(self.outcome.held)
        if pairs and all(known.form(url) == known.form(target) for url, target in pairs):
            self.outcome.n_implied += 1
            return
        for url, target in pairs:
            if tally.is_decided:  # as it is after n pairs
                break
            is_same = await self._is_same(url, target)
            if is_same is not None:
                tally.add(is_same)
        n_tried = tally.n_right + tally.n_wrong
        if not n_tried or (self._fetcher.is_spent and not tally.is_decided):
            self.outcome.n_untried += 1
        elif tally.is_passed:
            statistics = replace(rule.statistics, evidence=MergeEvidence(n_tried, tally.n_wrong))
            self.outcome.held.append(replace(rule, statistics=statistics))
        else:
            self.outcome.n_rejected += 1

    def _pairs(self, rule: AnyRule) -> list[tuple[str, str]]:
        """URLs that the rule changes, with the results; more than needed, because some samples are useless."""
        form = RuleEngine([rule]).form
        changed = ((url, target) for url in self._urls if (target := form(url)) not in (url, _UNCHANGED(url)))
        return list(islice(changed, self._n * (1 + _MAX_SKIPPED)))

    async def _is_same(self, url: str, target: str) -> bool | None:
        """Return True if both pages are the same; None if the sample is useless."""
        try:
            # a form has a sorted query; fetch the spelling that the site publishes, if it is known
            right = await self._fetcher.fetch(_rest(self._published.get(target, target)))
            if self._fetcher.is_spent:
                return None
            left = await self._fetcher.fetch(_rest(url))
        except ForbiddenError:
            return None
        if left is None or left.status != 200:
            return None
        return right is not None and right.status == 200 and say_the_same(left, right, self._reader)


def say_the_same(left: Page, right: Page, reader: TextReader) -> bool:
    """Return True if two pages with status 200 are the same for a reader."""
    if left.content == right.content:
        return len(left.content) > 0
    first, second = cluster_labelled(
        [
            # redirects may lead to one URL, but the labeller needs two
            LabelledPage(f"{text.url}#{place}", None, 200, None, text.title, text.main_text, text.simhash, None)
            for place, (text, _) in enumerate(reader.read((left, right)))
        ]
    )
    return first == second


def _rest(url: str) -> str:
    return "/" + url.partition("://")[2].partition("/")[2]


class LogMiner:
    """Learns the rules of one site from its logs.

    *host* is that of the logged paths; None: that of *site*, or of most referrers. A rule needs the support of
    *min_support* pairs of URLs. *n_samples* pairs of pages are fetched from *site* for each likely rule; if both are
    None, nothing is fetched, and rules are tried on the sizes in the log. BadInputError if only one of them is given.
    """

    def __init__(self, *, host: str | None, min_support: int, n_samples: int | None, site: str | None) -> None:
        if (site is None) != (n_samples is None):
            missing = "--site URL, the site to fetch from" if site is None else "--validate N, the pairs to fetch"
            raise BadInputError(f"--validate and --site belong together: give {missing}.")
        self._host = host if host is not None or site is None else host_of(normal_form(site))
        self._n_samples, self._site = n_samples, site
        self.method = DustBuster(min_support=min_support)
        if n_samples is not None:
            self.method.validate = 0
        self._validator: SiteValidator | None = None

    def mine(self, logs: Sequence[Path], *, delay_s: float, max_fetches: int, progress: Progress) -> LogReport:
        """Read *logs* and learn rules; with a site (once in a process), keep the rules that hold there."""
        if self._site is None or self._n_samples is None:
            return self._learn(logs, progress)
        n_samples, reports = self._n_samples, []

        async def learn_and_validate(fetcher: PoliteFetcher) -> None:
            """Read and learn now that the site has answered: an hour of reading must not be in vain."""
            reports.append(report := self._learn(logs, progress))
            own = [url for url in report.sizes if host_of(url) == report.host]
            rules = [rule for rule in self.method.engine_.rules if rule.host == report.host]
            self._validator = SiteValidator(own, fetcher, reader, n=n_samples)
            await self._validator.validate(rules, progress)

        with TextReader(n_workers=1) as reader:
            try:
                visit_site(self._site, learn_and_validate, delay_s=delay_s, max_fetches=max_fetches)
            finally:
                if self._validator is not None:
                    self.method.keep(self._validator.outcome.held)
        return reports[0]

    def _learn(self, logs: Sequence[Path], progress: Progress) -> LogReport:
        report = read_logs(logs, self._host, progress)
        self._host = report.host
        self.method.fit_sizes(list(report.sizes), [(sizes.low, sizes.high) for sizes in report.sizes.values()])
        return report

    def save(self, folder: Path | None) -> Path | None:
        """Write the model, if any rule was learnt."""
        if not hasattr(self.method, "engine_"):
            return None
        return self.method.save(folder or default_model_folder([f"http://{self._host}/"]))

    def numbers(self, report: LogReport) -> dict[str, Any]:
        """Return counts of the log and of the rules."""
        found = {
            "host": report.host,
            "accesses": report.n_accesses,
            "counted": report.n_counted,
            "left_out": report.n_left_out,
            "damaged_lines": report.damages.n,
            "urls": len(report.sizes),
        }
        if self._validator is not None:
            tried = self._validator.outcome
            found |= {
                "held_on_site": len(tried.held),
                "rejected": tried.n_rejected,
                "implied": tried.n_implied,
                "untried": tried.n_untried,
                "fetches": tried.n_fetches,
            }
        return {**found, "rules": len(self.method.engine_.rules)}
