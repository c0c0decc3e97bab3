"""Tables of a comparison: one per site, then the mean over sites and the worst site of each column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import mean
from typing import NamedTuple

from rich import box
from rich.table import Table

from dedup_crawler.evaluation.comparison import JudgedCrawl, MethodResult


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
        f"{crawl.site}: {len(crawl.training)} pages to learn from, {len(crawl.test_urls)} judged by {crawl.judge}; "
        f"warm: {warm.n_needed} pages needed, {warm.n_avoidable} fetches avoidable"
    )
    table = _table(title)
    for row in rows:
        table.add_row(row.method, *cells(row))
    return table


def mean_table(rows_of_sites: Mapping[str, Sequence[MethodResult]]) -> Table:
    """Return the mean of every column over the sites where it is defined."""
    return _over_sites(f"mean of {len(rows_of_sites)} sites", rows_of_sites, lambda column: mean)


def worst_table(rows_of_sites: Mapping[str, Sequence[MethodResult]]) -> Table:
    """Return the worst value of every column: the smallest rate, the most pages lost, the longest time."""
    return _over_sites(f"worst of {len(rows_of_sites)} sites", rows_of_sites, lambda column: column.worst)


def _over_sites(
    title: str,
    rows_of_sites: Mapping[str, Sequence[MethodResult]],
    summary: Callable[[_Column], Callable[[Sequence[float]], float]],
) -> Table:
    table = _table(title)
    for rows in zip(*rows_of_sites.values(), strict=True):
        cells = []
        for column in _COLUMNS:
            values = [value for row in rows if (value := column.value(row)) is not None]
            of_sites = summary(column)
            form = column.form.replace(".0f", ".1f") if of_sites is mean else column.form
            cells.append(_cell(of_sites(values) if values else None, form))
        table.add_row(rows[0].method, *cells)
    return table


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.MARKDOWN)
    table.add_column("method", no_wrap=True)
    for column in _COLUMNS:
        table.add_column(column.name, justify="right", no_wrap=True)
    return table


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
