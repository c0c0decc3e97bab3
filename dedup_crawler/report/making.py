"""Puts the report together: what was given is read, counted and drawn; what was not given says what would fill it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from dedup_crawler.errors import BadInputError
from dedup_crawler.evaluation.comparison_file import read_comparison
from dedup_crawler.evaluation.tables import cells
from dedup_crawler.evaluation.truth import label_quality, read_truth
from dedup_crawler.methods import Canonicalizer, load_model
from dedup_crawler.methods.base import training_digest
from dedup_crawler.pages.records import PageFacts
from dedup_crawler.pages.store import PageStore
from dedup_crawler.report.crawl_facts import CrawlFacts, PageOf, crawl_facts, first_shown
from dedup_crawler.report.drops import live_facts
from dedup_crawler.report.figures import (
    Figure,
    calibration_figure,
    curve_figure,
    growth_figure,
    promise_figure,
    saved_figure,
    score_figure,
    text_length_figure,
    token_figure,
    url_length_figure,
)
from dedup_crawler.report.model_facts import ModelFacts, model_facts
from dedup_crawler.report.page import MARK, TRUTH, Report, ShownCrawl, ShownModel, ShownSite, render
from dedup_crawler.report.pair_scores import count_pairs
from dedup_crawler.report.patterns import ShownPattern, examples_of, pattern_tree, shown_patterns, tokens_of
from dedup_crawler.urls.normal import normal_form
from dedup_crawler.urls.templates import Templater
from dedup_crawler.whole_file import write_whole

Progress = Callable[[str, int, int], None]
MAX_MODELS = 10
_MAX_PROMISES = 20  # rules in one figure
_EVERY = 500  # pages between two reports of progress
_MIN_SCORED = 20  # pairs, for a distribution to say anything

T = TypeVar("T")


@dataclass(frozen=True)
class ReportInput:
    """Sources of a report; each may be missing."""

    db: str | None = None
    """Crawl database: a path or SQLAlchemy URL."""
    models: Sequence[Path] = ()
    """Model folders."""
    dropped: Path | None = None
    """Drops of a live crawl, JSON lines."""
    truth: Path | None = None
    """CSV with ``url,cluster``."""
    comparison: Path | None = None
    """Output of ``evaluate --json``."""


def make_report(given: ReportInput, output: Path, progress: Progress = lambda note, done, total: None) -> Report:
    """Write the report to *output*, in one step.

    Parameters
    ----------
    given
        What to report on.
    output
        HTML file; an earlier report there is replaced, any other file is not.
    progress
        Called with what is being done, how much of it is done, and how much there is.

    Raises
    ------
    DedupError
        If something that was given cannot be read, *output* cannot be written or is no report, or an extra is missing.
    """
    _check_output(output)
    if len(given.models) > MAX_MODELS:
        raise BadInputError(f"{len(given.models)} models are too many for one page; give {MAX_MODELS} at most.")
    models = [(folder, load_model(folder)) for folder in given.models]
    truth = read_truth(given.truth) if given.truth is not None else {}
    comparison = _comparison(given.comparison) if given.comparison is not None else ()
    sentences = {rule: said for _, model in models for rule, said in model.rule_sentences().items()}
    live = live_facts(given.dropped, given.models, sentences, truth, progress)
    if given.db is None:
        shown = [_shown(model_facts(folder, model, None, _nothing)) for folder, model in models]
        report = Report(_site_of(models), "nobody", live, models=shown, comparison=comparison)
    else:
        with PageStore(given.db, create=False) as store:
            crawl = _Crawl(store, truth, progress)
            report = Report(
                site=crawl.site,
                judge=TRUTH if truth else "our own labels",
                live=live,
                crawl=crawl.shown(),
                tree=crawl.tree,
                first=crawl.first,
                models=[_shown(crawl.tried(folder, model)) for folder, model in models],
                tokens=crawl.tokens(),
                pairs=crawl.pairs(),
                comparison=comparison,
            )
    _write(output, render(report))
    return report


class _Crawl:
    """One database, gone through as often as needed; no pass holds more than a number or a URL a page.

    Parameters
    ----------
    store
        Its pages.
    truth
        URL -> page; empty where our own labels are to be believed.
    progress
        As above.
    """

    def __init__(self, store: PageStore, truth: Mapping[str, str], progress: Progress) -> None:
        self._store, self._truth, self._progress = store, truth, progress
        self._n_urls = len(store)
        self._page_of: PageOf = (lambda facts: truth.get(facts.url)) if truth else (lambda facts: facts.cluster)
        self._counts = tokens_of(self._told("tokens", store.urls()), self._n_urls)
        self.facts: CrawlFacts = crawl_facts(
            self._told("pages", store.page_facts(with_sizes=True)), self._n_urls, self._page_of
        )
        self.tree: ShownPattern | None = None
        if self.facts.n_judged:
            templater = Templater.learn(self._counts, deep=True)
            pages = self._told("patterns", store.page_facts(with_sizes=True))
            self.tree = shown_patterns(pattern_tree(pages, self._page_of, templater))
        self.first = self._first()
        self._digest = training_digest((normal_form(each.url), each.cluster, each.referrer) for each in self._facts())

    @property
    def site(self) -> str:
        """The host that most URLs are of."""
        return self.facts.hosts[0][0] if self.facts.hosts else "no site"

    def shown(self) -> ShownCrawl:
        """Content of the first section."""
        largest = [
            (self.first[each.page].title, self.first[each.page].url, each.n_urls)
            for each in self.facts.largest
            if each.page in self.first
        ]
        quality = None
        if self._truth:
            found = {each.url: each.cluster for each in self._facts() if each.cluster is not None}
            quality = label_quality(found, self._truth) if found else None
        growth = growth_figure(self.facts.growth) if self.facts.n_judged else None
        return ShownCrawl(self.facts, growth, largest, quality)

    def tried(self, folder: Path, model: Canonicalizer) -> ModelFacts:
        """Try a model on this crawl."""
        pages = self._told(folder.name, self._facts()) if self.facts.n_judged else None
        return model_facts(folder, model, pages, self._seen_page_of, crawl_digest=self._digest)

    def tokens(self) -> Figure | None:
        """The curve of document frequencies."""
        frequencies = sorted(self._counts.tokens.values(), reverse=True)
        return token_figure(frequencies, self._counts.n_urls) if frequencies else None

    def pairs(self) -> list[tuple[Figure, str]]:
        """Figures of what tells scored pairs apart; none where there are too few."""
        same, different = count_pairs(self._store.scored_pairs())
        if same.n_pairs + different.n_pairs < _MIN_SCORED:
            return []
        return [
            (url_length_figure(same, different), "Lengths of two URLs, for pairs found on one page."),
            (text_length_figure(same, different), "Lengths of the texts of two pages, in the same pairs."),
            (score_figure(same, different), "Scores of the same pairs, by what the labels say of them."),
        ]

    def _seen_page_of(self, facts: PageFacts) -> Hashable | None:
        """Page that a URL shows, if somebody has seen it; None for a redirect to a URL that was not crawled."""
        page = self._page_of(facts)
        return None if not self._truth and page in self.facts.unseen else page

    def _first(self) -> Mapping[Hashable, PageFacts]:
        wanted = {each.page for each in self.facts.largest}
        if self.tree is not None:
            wanted.update(page for _, page in examples_of(self.tree))
        return first_shown(self._facts(), self._page_of, wanted)

    def _facts(self) -> Iterator[PageFacts]:
        return self._store.page_facts()

    def _told(self, note: str, values: Iterable[T]) -> Iterator[T]:
        """The same values, with progress."""
        for place, value in enumerate(values):
            if place % _EVERY == 0:
                self._progress(note, place, self._n_urls)
            yield value


def _shown(facts: ModelFacts) -> ShownModel:
    """A model with its figures."""
    promises = [
        (rule.promised, rule.on_crawl.n_wrong / rule.on_crawl.n_dropped)
        for rule in facts.rules[:_MAX_PROMISES]
        if rule.promised is not None and rule.on_crawl.n_dropped
    ]
    curves = sorted((each for each in facts.history.curves if each.points), key=lambda each: each.value)
    held_out = facts.history.held_out
    return ShownModel(
        facts,
        promise_figure(promises) if promises else None,
        [(curve_figure(list(group)), value) for value, group in groupby(curves, key=lambda each: each.value)],
        calibration_figure(held_out) if held_out is not None and held_out.bins else None,
    )


def _comparison(path: Path) -> list[ShownSite]:
    return [
        ShownSite(
            site,
            [(row.method, cells(row)) for row in rows],
            saved_figure([(row.method, row.warm.saved, row.warm.n_lost) for row in rows]),
        )
        for site, rows in read_comparison(path).items()
        if rows
    ]


def _site_of(models: Sequence[tuple[Path, Canonicalizer]]) -> str:
    hosts = sorted({str(host) for _, model in models for host in model.hosts})
    return hosts[0] if hosts else "a site"


def _nothing(facts: PageFacts) -> None:
    """Nobody knows what a page shows."""


def _check_output(output: Path) -> None:
    """Refuse what is no report: a mistyped name must not cost somebody a database."""
    if output.is_dir():
        raise BadInputError(f"{output} is a folder; give a file in it, such as {output / 'report.html'}.")
    if not output.parent.is_dir():
        raise BadInputError(f"{output} cannot be written: there is no folder {output.parent}.")
    if output.exists() and not output.is_file():
        raise BadInputError(f"{output} is no file that a report could replace; give another --output.")
    if output.exists():
        try:
            with output.open("rb") as file:
                is_report = MARK in file.read(1000)
        except OSError as error:
            raise BadInputError(f"{output} cannot be read ({error.strerror}); give another --output.") from None
        if not is_report:
            raise BadInputError(f"{output} is no report and would be overwritten; give another --output.")


def _write(output: Path, page: str) -> None:
    try:
        write_whole(output, page.encode("utf-8", "replace"))
    except OSError as error:
        raise BadInputError(f"{output} cannot be written ({error.strerror or type(error).__name__}).") from None
