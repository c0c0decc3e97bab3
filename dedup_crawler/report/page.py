"""The report as one HTML file: Jinja with autoescape, no script, and a policy that lets nothing be loaded."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from importlib import metadata, resources
from typing import Any

from dedup_crawler.errors import MissingExtraError
from dedup_crawler.evaluation.tables import COLUMNS, LEGEND
from dedup_crawler.evaluation.truth import LabelQuality
from dedup_crawler.pages.records import PageFacts
from dedup_crawler.report.crawl_facts import CrawlFacts
from dedup_crawler.report.drops import LiveFacts
from dedup_crawler.report.figures import Figure
from dedup_crawler.report.model_facts import ModelFacts
from dedup_crawler.report.patterns import ShownPattern
from dedup_crawler.report.text import count, percent, printable, shortened, size, web_link, whole

SECTIONS = (
    ("site", "The site"),
    ("waste", "Where the waste is"),
    ("rules", "Rules"),
    ("labels", "What tells duplicates apart"),
    ("training", "Training"),
    ("comparison", "Methods"),
    ("live", "After a live crawl"),
)
"""Identifier and title of each section, in order."""
TRUTH = "the truth that was given"
"""Judge of what is the same page, other than our labels."""
MARK = b'<meta name="generator" content="dedup-crawler report">'
"""By this a file is known to be a report."""


@dataclass(frozen=True)
class ShownCrawl:
    """The first section."""

    facts: CrawlFacts
    growth: Figure | None
    largest: Sequence[tuple[str, str, int]]
    """Title, first URL, and number of URLs."""
    quality: LabelQuality | None


@dataclass(frozen=True)
class ShownModel:
    """One model with its figures."""

    facts: ModelFacts
    promises: Figure | None
    curves: Sequence[tuple[Figure, str]]
    """And what each shows."""
    calibration: Figure | None


@dataclass(frozen=True)
class ShownSite:
    """One site of a comparison."""

    name: str
    rows: Sequence[tuple[str, Sequence[str]]]
    figure: Figure


@dataclass(frozen=True)
class Report:
    """All that the page shows; what is None or empty says what would fill it."""

    site: str
    judge: str
    """Judge of what is the same page."""
    live: LiveFacts
    crawl: ShownCrawl | None = None
    tree: ShownPattern | None = None
    first: Mapping[Hashable, PageFacts] = field(default_factory=dict)
    """The first URL of each page that the tree gives an example of."""
    models: Sequence[ShownModel] = ()
    tokens: Figure | None = None
    pairs: Sequence[tuple[Figure, str]] = ()
    comparison: Sequence[ShownSite] = ()


def render(report: Report) -> str:
    """The whole file.

    Raises
    ------
    MissingExtraError
        If Jinja is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise MissingExtraError("the report", "jinja2", "report") from error

    def finished(value: Any) -> Any:
        return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=finished, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        count=count, percent=percent, size=size, short=shortened, whole=whole, web_link=web_link, date=_date
    )
    css = _file("report.css")
    return environment.from_string(_file("report.html.jinja")).render(
        report=report,
        sections=SECTIONS,
        columns=COLUMNS,
        legend=LEGEND,
        truth=TRUTH,
        version=metadata.version("dedup-crawler"),
        css=Markup(css),  # noqa: S704 - a file of ours
        css_digest=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode("ascii"),
    )


def _file(name: str) -> str:
    return resources.files("dedup_crawler.report").joinpath(name).read_text(encoding="utf-8")


def _date(seconds: float) -> str:
    """A time as a person writes it, to the minute; empty for one that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "an unknown time"
