"""The report as one HTML file: Jinja with autoescape, no script, and a content policy that blocks all loading."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from datetime import datetime, timezone
from importlib import metadata, resources
from typing import Any

from dedup_crawler.errors import MissingExtraError
from dedup_crawler.evaluation.tables import COLUMNS, LEGEND
from dedup_crawler.report.text import percent, printable, shortened, web_link

SECTIONS = (
    ("site", "The site"),
    ("waste", "Where the waste is"),
    ("rules", "Rules"),
    ("training", "Training"),
    ("comparison", "Methods"),
    ("live", "After a live crawl"),
)
"""Identifier and title of each section, in order."""
MARK = b'<meta name="generator" content="dedup-crawler report">'
"""Mark of a file that is a report."""


def render(report: Mapping[str, Any]) -> str:
    """Render the data of :func:`~dedup_crawler.report.making.make_report`; MissingExtraError without Jinja."""
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
    environment.filters.update(count="{:,.0f}".format, percent=percent, short=shortened, web_link=web_link, date=_date)
    css = _file("report.css")
    return environment.from_string(_file("report.html.jinja")).render(
        report=report,
        sections=SECTIONS,
        columns=COLUMNS,
        legend=LEGEND,
        version=metadata.version("dedup-crawler"),
        css=Markup(css),  # noqa: S704 - a file of ours
        css_digest=base64.b64encode(hashlib.sha256(css.encode()).digest()).decode("ascii"),
    )


def _file(name: str) -> str:
    return resources.files("dedup_crawler.report").joinpath(name).read_text(encoding="utf-8")


def _date(seconds: float) -> str:
    """A time (seconds since 1970) as date and time to the minute."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return "an unknown time"
