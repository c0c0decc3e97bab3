"""The lines of a fetched page, read by lxml alone: a crawl has no jusText.

A line is the text of one block of HTML, white space folded; the title is the first. What a reader does not see
(scripts, lists of choices) has none, but what is being edited (a text area) has.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dedup_crawler.labels.lines import decode, masked_ago
from dedup_crawler.live.comparing.owner_pages import FetchedPage

MAX_LINES = 4_000
"""Lines that are read of a page."""
TITLE = "\1"
"""Stands before the title, which is often a heading too."""

_SKIPPED = frozenset(
    ("script", "style", "noscript", "template", "head", "select", "iframe", "object", "svg", "math", "datalist")
)
_INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i"),
        *("img", "input", "ins", "kbd", "label", "map", "mark", "q", "s", "samp", "small", "span", "strong", "sub"),
        *("sup", "time", "tt", "u", "var", "wbr"),
    )
)
_HTML_START = re.compile(rb"\s*(<!doctype html|<html|<head|<body)", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")


class Kind(enum.Enum):
    """Kind of a body."""

    HTML = enum.auto()
    TEXT = enum.auto()
    BINARY = enum.auto()
    """Anything else, that which declares to be something else included: compared byte by byte."""


@dataclass(frozen=True, slots=True)
class PageLines:
    """A page as lines; none for a binary body."""

    kind: Kind
    lines: tuple[str, ...]
    is_whole: bool
    """True if nothing was left out."""


def read_lines(page: FetchedPage) -> PageLines:
    """Read the lines of a page; whatever the body holds, nothing is raised."""
    kind = kind_of(page)
    if kind is Kind.BINARY:
        return PageLines(kind, (), is_whole=False)
    text = decode(page.body, page.content_type or None).replace("\0", "\ufffd")
    found = _html_lines(text) if kind is Kind.HTML else map(_folded, text.splitlines())
    lines: list[str] = []
    for line in found:
        if line:
            lines.append(line)
            if len(lines) == MAX_LINES:
                return PageLines(kind, tuple(lines), is_whole=False)
    return PageLines(kind, tuple(lines), is_whole=not page.is_cut)


def numbers_of(text: str) -> frozenset[str]:
    """The runs of digits in a text."""
    return frozenset(_NUMBER.findall(text))


def kind_of(page: FetchedPage) -> Kind:
    """Kind of a body, as declared, or else by its first bytes."""
    declared = page.content_type.partition(";")[0].strip().lower()
    if declared in ("text/html", "application/xhtml+xml"):
        return Kind.HTML
    if declared:
        return Kind.TEXT if declared.startswith("text/") else Kind.BINARY
    if _HTML_START.match(page.body):
        return Kind.HTML
    return Kind.BINARY if b"\0" in page.body[:1024] else Kind.TEXT


def _folded(text: str) -> str:
    return " ".join(text.split())


def _html_lines(html: str) -> Iterator[str]:
    import lxml.etree
    import lxml.html

    parser = lxml.html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        document = lxml.html.document_fromstring(html.encode("utf-8"), parser=parser)
    except (lxml.etree.LxmlError, ValueError):  # nothing but white space and comments
        return
    title = next(document.iter("title"), None)
    if title is not None:
        yield TITLE + _folded("".join(title.itertext()))
    block: list[str] = []
    for text in _texts(document):
        if text is not None:
            block.append(text)
        elif block:
            yield masked_ago(_folded("".join(block)))
            block.clear()
    yield masked_ago(_folded("".join(block)))


def _texts(document: Any) -> Iterator[str | None]:
    """The visible texts in their order, None where a block starts or ends."""
    import lxml.etree

    n_skipped = 0
    for event, element in lxml.etree.iterwalk(document, events=("start", "end")):
        tag = element.tag
        if event == "start":
            n_skipped += tag in _SKIPPED
            if n_skipped:
                continue
            if tag not in _INLINE:
                yield None
            if tag == "textarea":
                for line in (element.text or "").splitlines():
                    yield line
                    yield None
            elif element.text:
                yield element.text
        else:
            if tag in _SKIPPED:
                n_skipped -= 1
            elif not n_skipped and tag not in _INLINE:
                yield None
            if element.tail and not n_skipped:
                yield element.tail
