"""The report as one HTML file: Jinja with autoescape, no script, and a content policy that blocks all loading.

Jinja escapes markup in titles and URLs of strangers. Characters that cannot be seen, or that change the direction of
the text around them, are replaced here.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from datetime import datetime, timezone
from importlib import metadata, resources
from typing import Any

from dedup_crawler.errors import MissingExtraError
from dedup_crawler.evaluation.comparison import COLUMNS, LEGEND
from dedup_crawler.urls.normal import host_of, normal_form

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
MAX_SHOWN = 240
"""Most characters of one string that are shown."""
_MAX_LINK = 2_000
_TAIL = 60  # characters from the end of a string that is too long
_JOINERS = "\u200c\u200d"  # harmless: they join letters of Persian and parts of emojis


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


def printable(text: str) -> str:
    r"""Replace white space by single spaces, and invisible characters by their numbers.

    >>> printable("a\tb\u202etxt.exe\x1b[2J")
    'a b\\u202etxt.exe\\u001b[2J'
    """
    return text if text.isprintable() else "".join(map(_visible, text))


def shortened(text: str, limit: int = MAX_SHOWN) -> str:
    """Make *text* printable, and leave out its middle if it is longer than *limit*."""
    return printable(text if len(text) <= limit else f"{text[: limit - _TAIL]} … {text[-_TAIL:]}")


def web_link(url: str) -> str | None:
    """Return *url* in normal form if it is safe to link; None for other schemes than http(s), such as ``javascript:``.

    >>> web_link("HTTP://Forum.example/a b"), web_link("javascript:alert(1)//http://a.example/")
    ('http://forum.example/a%20b', None)
    """
    if len(url) > _MAX_LINK:
        return None
    form = normal_form(url)
    return form if form.startswith(("http://", "https://")) and host_of(form) else None


def percent(share: float) -> str:
    """A share (0-1) as a percentage with a reasonable number of digits.

    >>> percent(0.4321), percent(0.00042), percent(1.0), percent(0.0)
    ('43.2 %', '0.04 %', '100 %', '0 %')
    """
    if share in (0, 1):
        return f"{share * 100:.0f} %"
    return f"{share * 100:.2f} %" if abs(share) < 0.01 else f"{share * 100:.1f} %"


def _visible(character: str) -> str:
    if character.isprintable() or character in _JOINERS:
        return character
    if character.isspace():
        return " "
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
