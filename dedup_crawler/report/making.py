"""Makes the report: reads, counts and draws the given sources. A section without a source says how to fill it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from dedup_crawler.errors import BadInputError
from dedup_crawler.evaluation.comparison import cells, read_comparison
from dedup_crawler.evaluation.quality import label_quality, read_truth
from dedup_crawler.methods import load_model
from dedup_crawler.methods.base import training_digest
from dedup_crawler.methods.model.folder import write_whole
from dedup_crawler.pages.compression import Progress
from dedup_crawler.pages.records import PageFacts
from dedup_crawler.pages.store import PageStore
from dedup_crawler.report.crawl_facts import (
    CrawlFacts,
    PageOf,
    crawl_facts,
    examples_of,
    first_shown,
    leave_most,
    pattern_tree,
    tokens_of,
)
from dedup_crawler.report.drops import live_facts
from dedup_crawler.report.figures import calibration_figure, curve_figure, growth_figure, promise_figure, saved_figure
from dedup_crawler.report.model_facts import ModelFacts, model_facts
from dedup_crawler.report.page import MARK, render
from dedup_crawler.urls.normal import normal_form
from dedup_crawler.urls.templates import Templater

MAX_MODELS = 10
_MAX_PROMISES = 20  # rules in one figure
_EVERY = 500  # pages between two calls of progress

T = TypeVar("T")


def make_report(
    output: Path,
    *,
    db: str | None = None,
    models: Sequence[Path] = (),
    dropped: Path | None = None,
    truth: Path | None = None,
    comparison: Path | None = None,
    progress: Progress = lambda note, done, total: None,
) -> CrawlFacts | None:
    """Write the report to *output*, in one step; return the counts of the crawl, if there is one.

    *db* is a path or SQLAlchemy URL, *dropped* has the drops of a live crawl (JSON lines), *truth* is a CSV with
    ``url,cluster``, *comparison* is the output of ``evaluate --json``. Only an earlier report is replaced. *progress*
    is called with the name of a step, the number of items done, and the number of all items. DedupError if a source
    cannot be read, *output* cannot be written or is another file, or an extra is missing.
    """
    _check_output(output)
    if len(models) > MAX_MODELS:
        raise BadInputError(f"{len(models)} models are too many for one page; give {MAX_MODELS} at most.")
    loaded = [(folder, load_model(folder)) for folder in models]
    known = read_truth(truth) if truth is not None else {}
    wholes = [model.with_candidates() for _, model in loaded]
    sentences = {rule: said for model in wholes for rule, said in model.rule_sentences().items()}
    hosts = sorted(host for _, model in loaded for host in model.hosts)
    report: dict[str, Any] = {
        "site": hosts[0] if hosts else "a site",
        "crawl": None,
        "models": [],
        "comparison": _comparison(comparison) if comparison is not None else [],
        "live": live_facts(dropped, models, sentences, known, progress),
    }
    if db is None:
        report["models"] = [_shown(model_facts(folder, model, None, lambda facts: None)) for folder, model in loaded]
    else:
        with PageStore(db, create=False) as store:
            crawl = _Crawl(store, known, progress)
            report["site"] = crawl.facts.hosts[0][0] if crawl.facts.hosts else "no site"
            report["crawl"] = crawl.shown()
            for folder, model in loaded:
                pages = crawl.told(folder.name, store.page_facts()) if crawl.facts.n_judged else None
                facts = model_facts(folder, model, pages, crawl.seen_page_of, crawl_digest=crawl.digest)
                report["models"].append(_shown(facts))
    try:
        write_whole(output, render(report).encode("utf-8", "replace"))
    except OSError as error:
        raise BadInputError(f"{output} cannot be written ({error.strerror or type(error).__name__}).") from None
    return crawl.facts if db is not None else None


class _Crawl:
    """The crawl in a database, read in several passes with a number or a URL of each page in memory.

    *truth* (URL -> page) judges; if it is empty, our own labels do.
    """

    def __init__(self, store: PageStore, truth: Mapping[str, str], progress: Progress) -> None:
        self._store, self._truth, self._progress = store, truth, progress
        self._n_urls = len(store)
        self._page_of: PageOf = (lambda facts: truth.get(facts.url)) if truth else (lambda facts: facts.cluster)
        self.facts = crawl_facts(self.told("pages", store.page_facts(with_sizes=True)), self._n_urls, self._page_of)
        self.digest = training_digest(
            (normal_form(each.url), each.cluster, each.referrer) for each in self._store.page_facts()
        )

    def shown(self) -> dict[str, Any]:
        """Contents of the first two sections."""
        facts, tree, quality = self.facts, None, None
        counts = tokens_of(self.told("tokens", self._store.urls()), self._n_urls)
        wanted = {page for page, _ in facts.largest}
        if facts.n_judged:
            pages = self.told("patterns", self._store.page_facts(with_sizes=True))
            tree = pattern_tree(pages, self._page_of, Templater.learn(counts, deep=True))
            leave_most(tree)
            wanted.update(page for _, page in examples_of(tree))
        if self._truth and (
            found := {page.url: page.cluster for page in self._store.page_facts() if page.cluster is not None}
        ):
            quality = label_quality(found, self._truth)
        return {
            "facts": facts,
            "is_judged_by_truth": bool(self._truth),
            "growth": growth_figure(facts.growth) if facts.n_judged else None,
            "tree": tree,
            "first": first_shown(self._store.page_facts(), self._page_of, wanted),
            "quality": quality,
        }

    def seen_page_of(self, facts: PageFacts) -> Hashable | None:
        """Page that a URL shows; None if it is not known, or the crawl has only redirects to it."""
        page = self._page_of(facts)
        return None if not self._truth and page in self.facts.unseen else page

    def told(self, note: str, values: Iterable[T]) -> Iterator[T]:
        """Yield the values, and show progress."""
        for place, value in enumerate(values):
            if place % _EVERY == 0:
                self._progress(note, place, self._n_urls)
            yield value


def _shown(facts: ModelFacts) -> dict[str, Any]:
    """A model with its figures."""
    promises = [
        (rule.promised, rule.on_crawl.n_wrong / rule.on_crawl.n_dropped)
        for rule in facts.rules[:_MAX_PROMISES]
        if rule.promised is not None and rule.on_crawl.n_dropped
    ]
    history = facts.model.history_
    curves = sorted((each for each in history.curves if each.points), key=lambda each: each.value)
    held_out = history.held_out
    return {
        "facts": facts,
        "promises": promise_figure(promises) if promises else None,
        "curves": [(curve_figure(list(group)), value) for value, group in groupby(curves, key=lambda each: each.value)],
        "calibration": calibration_figure(held_out) if held_out is not None and held_out.bins else None,
        "held_out": held_out,
    }


def _comparison(path: Path) -> list[dict[str, Any]]:
    return [
        {
            "name": site,
            "rows": [(row.method, cells(row)) for row in rows],
            "figure": saved_figure([(row.method, row.warm.saved, row.warm.n_lost) for row in rows]),
        }
        for site, rows in read_comparison(path).items()
        if rows
    ]


def _check_output(output: Path) -> None:
    """Refuse to overwrite other files than reports, for a mistyped name must not destroy a database."""
    if output.is_dir():
        raise BadInputError(f"{output} is a folder; give a file in it, such as {output / 'report.html'}.")
    if not output.parent.is_dir():
        raise BadInputError(f"{output} cannot be written: there is no folder {output.parent}.")
    if not output.exists():
        return
    if not output.is_file():
        raise BadInputError(f"{output} is not a regular file; give another --output.")
    try:
        with output.open("rb") as file:
            is_report = MARK in file.read(1000)
    except OSError as error:
        raise BadInputError(f"{output} cannot be read ({error.strerror}); give another --output.") from None
    if not is_report:
        raise BadInputError(f"{output} is no report and would be overwritten; give another --output.")
