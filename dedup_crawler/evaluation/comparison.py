"""Comparison of methods on one crawl, under one protocol, and its tables.

Methods train on the first part of a crawl and are judged on the rest. Training sees only our own labels of the first
part, which is clustered again without the later pages. The judge is a truth if there is one, else our labels of the
whole crawl.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from rich import box
from rich.table import Table

from dedup_crawler.errors import BadInputError
from dedup_crawler.evaluation.quality import NormalizationQuality, normalization_quality
from dedup_crawler.evaluation.simulated_crawl import CrawlOutcome, LinksOf, by_normal_form, crawl_on, replay
from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.labelling import compared_clusters
from dedup_crawler.json_values import JsonValue, read_json_file
from dedup_crawler.methods import Canonicalizer
from dedup_crawler.methods.model.training_data import TrainingData
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.urls.normal import normal_form

MAX_BYTES = 16 * 2**20
MAX_SITES = 20
MAX_METHODS = 40
_MAX_COUNT = 10**12


@dataclass(frozen=True)
class JudgedCrawl:
    """A crawl split into a training part and a test part."""

    site: str
    judge: str
    """``"truth"`` or ``"own labels"``."""
    training: TrainingData
    """With our own labels, from the training part alone."""
    test_urls: Sequence[str]
    test_referrers: Sequence[str | None]
    training_pages: Sequence[Hashable]
    """Pages of the training URLs, by the judge."""
    test_pages: Sequence[Hashable]
    links_of: LinksOf | None = None
    """Reads the links on the page of a URL in normal form."""


@dataclass(frozen=True)
class MethodResult:
    """Results of one method on one crawl."""

    method: str
    cold: CrawlOutcome
    warm: CrawlOutcome
    normalization: NormalizationQuality
    fit_s: float
    canonicalize_us: float
    """Microseconds per URL, median of the passes over the test part."""
    n_learnt: int | None = None
    """Number of rules or parameters of the model."""

    def as_dict(self) -> dict[str, Any]:
        """Return all counts and rates as JSON values."""
        rates = ("precision", "recall", "f1", "n_lost", "n_avoidable", "saved")
        quality = ("compression", "dup_reduction", "false_positive_rate")
        return {
            "method": self.method,
            "n_learnt": self.n_learnt,
            "fit_s": self.fit_s,
            "canonicalize_us": self.canonicalize_us,
            "cold": asdict(self.cold) | {rate: getattr(self.cold, rate) for rate in rates},
            "warm": asdict(self.warm) | {rate: getattr(self.warm, rate) for rate in rates},
            "normalization": asdict(self.normalization) | {rate: getattr(self.normalization, rate) for rate in quality},
        }


def judged_crawl(
    site: str,
    pages: Sequence[LabelledPage],
    truth: Mapping[str, str] | None,
    train_fraction: float,
    links_of: LinksOf | None = None,
) -> JudgedCrawl:
    """Split a crawl (in crawl order) and choose its judge. *links_of* reads the links of the page of a URL.

    BadInputError if the fraction leaves no training or test pages, or the truth knows none of the URLs.
    """
    if not 0 < train_fraction < 1:
        raise BadInputError(f"train fraction is {train_fraction}; give a share between 0 and 1, such as 0.75.")
    known = [page for page in pages if truth is None or page.url in truth]
    if truth is not None and not known:
        raise BadInputError(f"the truth knows none of the {len(pages)} URLs of {site}; is it that of another crawl?")
    cut = round(train_fraction * len(known))
    if not 0 < cut < len(known):
        raise BadInputError(f"{site} has {len(known)} judged pages: too few to learn from a part of them.")
    shown: list[Hashable]
    shown = list(compared_clusters(lambda: known).numbers()) if truth is None else [truth[page.url] for page in known]
    evidence = PageEvidence.of_pages(known[:cut], links_of=links_of)
    return JudgedCrawl(
        site=site,
        judge="own labels" if truth is None else "truth",
        training=TrainingData.of_pages(
            known[:cut], compared_clusters(lambda: known[:cut], evidence).numbers(), evidence
        ),
        test_urls=[page.url for page in known[cut:]],
        test_referrers=[page.referrer for page in known[cut:]],
        training_pages=shown[:cut],
        test_pages=shown[cut:],
        links_of=links_of and by_normal_form(links_of, known),
    )


def evaluate(method: Canonicalizer, label: str, crawl: JudgedCrawl) -> MethodResult:
    """Fit *method* on the training part and judge it on the rest."""
    start = time.perf_counter()
    method.fit(*crawl.training)
    fit_s = time.perf_counter() - start
    passes = []
    for _ in range(3):
        start = time.perf_counter()
        forms = method.canonicalize_many(crawl.test_urls)
        passes.append(time.perf_counter() - start)
    return MethodResult(
        method=label,
        cold=replay(forms, crawl.test_pages),
        warm=crawl_on(
            method,
            [normal_form(url) for url in crawl.test_urls],
            [url and normal_form(url) for url in crawl.test_referrers],
            crawl.test_pages,
            crawled_urls=[normal_form(url) for url in crawl.training.urls],
            crawled_clusters=set(crawl.training_pages),
            links_of=crawl.links_of,
        ),
        normalization=normalization_quality(forms, crawl.test_pages),
        fit_s=fit_s,
        canonicalize_us=median(passes) / len(crawl.test_urls) * 1e6,
        n_learnt=method.n_learnt(),
    )


class _Column(NamedTuple):
    name: str
    value: Callable[[MethodResult], float | None]
    form: str
    worst: Callable[[Sequence[float]], float]


_COLUMNS = (
    _Column("P", lambda row: row.cold.precision, ".3f", min),
    _Column("R", lambda row: row.cold.recall, ".3f", min),
    _Column("F1", lambda row: row.cold.f1, ".3f", min),
    _Column("lost", lambda row: row.cold.n_lost, ".0f", max),
    _Column("fetched", lambda row: row.warm.n_fetched, ".0f", max),
    _Column("saved", lambda row: row.warm.saved, ".1%", min),
    _Column("lost warm", lambda row: row.warm.n_lost, ".0f", max),
    _Column("kept", lambda row: row.warm.recall, ".1%", min),
    _Column("compr.", lambda row: row.normalization.compression, ".3f", min),
    _Column("dup-red.", lambda row: row.normalization.dup_reduction, ".3f", min),
    _Column("fpr", lambda row: row.normalization.false_positive_rate, ".4f", max),
    _Column("size", lambda row: row.n_learnt, ",.0f", max),
    _Column("learn s", lambda row: row.fit_s, ".1f", max),
    _Column("us/URL", lambda row: row.canonicalize_us, ".1f", max),
)
COLUMNS = tuple(column.name for column in _COLUMNS)
"""Names of the columns after that of the method."""
LEGEND = (
    "P, R, F1, lost: cold simulated crawl of SIGIR'17 (lost: pages never fetched). "
    "fetched, saved, lost warm, kept: the crawl goes on after the training part "
    "(saved: share of the avoidable fetches; kept: share of the needed pages). "
    "compr., dup-red., fpr: WWW'10. size: rules of the model, or parameters of its network. "
    "worst: the worst site of each column separately, so that a row may combine several sites."
)


def cells(row: MethodResult) -> list[str]:
    """Return the values of a row as printed, one per column."""
    return [_cell(column.value(row), column.form) for column in _COLUMNS]


def site_table(crawl: JudgedCrawl, rows: Sequence[MethodResult]) -> Table:
    """Return the table of all methods on one site."""
    warm = rows[0].warm
    title = (
        f"{crawl.site}: {len(crawl.training.urls)} pages to learn from, "
        f"{len(crawl.test_urls)} judged by {crawl.judge}; "
        f"warm: {warm.n_needed} pages needed, {warm.n_avoidable} fetches avoidable"
    )
    table = _table(title)
    for row in rows:
        table.add_row(row.method, *cells(row))
    return table


def mean_table(rows_of_sites: Mapping[str, Sequence[MethodResult]]) -> Table:
    """Return the mean of every column over the sites where it is defined."""
    return _over_sites("mean", rows_of_sites)


def worst_table(rows_of_sites: Mapping[str, Sequence[MethodResult]]) -> Table:
    """Return the worst value of every column: the smallest rate, the most pages lost, the longest time."""
    return _over_sites("worst", rows_of_sites)


def _over_sites(what: str, rows_of_sites: Mapping[str, Sequence[MethodResult]]) -> Table:
    table = _table(f"{what} of {len(rows_of_sites)} sites")
    for rows in zip(*rows_of_sites.values(), strict=True):
        cells = []
        for column in _COLUMNS:
            values = [value for row in rows if (value := column.value(row)) is not None]
            form = column.form.replace(".0f", ".1f") if what == "mean" else column.form
            summary = mean if what == "mean" else column.worst
            cells.append(_cell(summary(values) if values else None, form))
        table.add_row(rows[0].method, *cells)
    return table


def _table(title: str) -> Table:
    table = Table("method", title=title, title_justify="left", box=box.MARKDOWN)
    for column in COLUMNS:
        table.add_column(column, justify="right", no_wrap=True)
    table.columns[0].no_wrap = True
    return table


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def read_comparison(path: Path) -> dict[str, list[MethodResult]]:
    """Read the output of ``evaluate --json``: site -> one row per method, at most 20 sites with 40 methods each.

    Only counts are read; rates are computed from them. BadInputError if the file cannot be read, or is anything else.
    """
    way_out = "Make one with `dedup-crawler evaluate --json > FILE`."
    try:
        value = read_json_file(path, MAX_BYTES)
        sites = list(value.table().items())[:MAX_SITES]
        if not sites:
            value.refuse("at least one site")
        return {site: [_row(value) for value in rows.values(MAX_METHODS)] for site, rows in sites}
    except BadInputError as error:
        raise BadInputError(f"{error} {way_out}") from None


def _row(value: JsonValue) -> MethodResult:
    times = value["fit_s"], value["canonicalize_us"]
    for time_taken in times:
        if time_taken.number() < 0:
            time_taken.refuse("a time")
    learnt = value["n_learnt"]
    quality = NormalizationQuality(**_counts(value["normalization"], NormalizationQuality))
    if not 0 < quality.n_forms <= quality.n_urls:
        value["normalization"].refuse("as many forms as URLs at most")
    return MethodResult(
        method=value["method"].text(),
        cold=_outcome(value["cold"]),
        warm=_outcome(value["warm"]),
        normalization=quality,
        fit_s=times[0].number(),
        canonicalize_us=times[1].number(),
        n_learnt=None if learnt.raw is None else learnt.count(_MAX_COUNT),
    )


def _outcome(value: JsonValue) -> CrawlOutcome:
    outcome = CrawlOutcome(**_counts(value, CrawlOutcome))
    if not outcome.n_covered <= outcome.n_needed <= outcome.n_urls >= outcome.n_fetched >= outcome.n_covered:
        value.refuse("counts of one crawl")
    return outcome


def _counts(value: JsonValue, of: type[CrawlOutcome | NormalizationQuality]) -> dict[str, int]:
    return {field.name: value[field.name].count(_MAX_COUNT) for field in fields(of)}
