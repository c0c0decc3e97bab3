"""Rows of a comparison as tables: one per site, and the mean over sites."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import mean

from rich import box
from rich.table import Table

from dedup_crawler.evaluation.comparison import JudgedCrawl, Row

_Column = tuple[str, Callable[[Row], float | None], str]
_COLUMNS: tuple[_Column, ...] = (
    ("P", lambda row: row.cold.precision, ".3f"),
    ("R", lambda row: row.cold.recall, ".3f"),
    ("F1", lambda row: row.cold.f1, ".3f"),
    ("lost", lambda row: row.cold.n_lost, ".0f"),
    ("fetched", lambda row: row.warm.n_fetched, ".0f"),
    ("saved", lambda row: row.warm.saved, ".1%"),
    ("lost warm", lambda row: row.warm.n_lost, ".0f"),
    ("kept", lambda row: row.warm.recall, ".1%"),
    ("compr.", lambda row: row.normalization.compression, ".3f"),
    ("dup-red.", lambda row: row.normalization.dup_reduction, ".3f"),
    ("fpr", lambda row: row.normalization.false_positive_rate, ".4f"),
    ("learn s", lambda row: row.fit_s, ".1f"),
    ("us/URL", lambda row: row.canonicalize_us, ".1f"),
)
LEGEND = (
    "P, R, F1, lost: cold simulated crawl of SIGIR'17 (lost: pages never fetched). "
    "fetched, saved, lost warm, kept: the crawl goes on after the training part "
    "(saved: share of the avoidable fetches; kept: share of the needed pages). "
    "compr., dup-red., fpr: WWW'10."
)


def site_table(crawl: JudgedCrawl, rows: Sequence[Row]) -> Table:
    """All methods on one site."""
    warm = rows[0].warm
    title = (
        f"{crawl.site}: {len(crawl.training)} pages to learn from, {len(crawl.test_urls)} judged by {crawl.judge}; "
        f"warm: {warm.n_needed} pages needed, {warm.n_avoidable} fetches avoidable"
    )
    table = _table(title)
    for row in rows:
        table.add_row(row.method, *(_cell(column(row), form) for _, column, form in _COLUMNS))
    return table


def mean_table(rows_of_sites: Mapping[str, Sequence[Row]]) -> Table:
    """Mean of every column over the sites where it is defined."""
    table = _table(f"mean of {len(rows_of_sites)} sites")
    for rows in zip(*rows_of_sites.values(), strict=True):
        cells = []
        for _, column, form in _COLUMNS:
            values = [value for row in rows if (value := column(row)) is not None]
            cells.append(_cell(mean(values) if values else None, form.replace(".0f", ".1f")))
        table.add_row(rows[0].method, *cells)
    return table


def _table(title: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.MARKDOWN)
    table.add_column("method", no_wrap=True)
    for name, _, _ in _COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _cell(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
