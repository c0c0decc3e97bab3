"""The page's own address in its text: ``Index of /pub/mirrors/x``."""

from __future__ import annotations

import itertools
from urllib.parse import unquote

from dedup_crawler.labels.lines import digest, lines_of
from dedup_crawler.pages.records import LabelledPage

_ADDRESS = "\3"


def address_free(page: LabelledPage) -> int | None:
    """Digest of a page's title and lines without its own address; None where the page does not print it."""
    path = unquote(page.url.partition("://")[2].partition("/")[2].partition("?")[0]).strip("/")
    if not path or (f"/{path}" not in page.title and f"/{path}" not in page.main_text):
        return None
    text = "\n".join((page.title, *lines_of(page)))
    masked = _masked(text, f"/{path}")
    return digest(masked) if masked != text else None


def _masked(text: str, path: str) -> str:
    """Put a mark in the place of an address where it is no part of a longer word."""
    pieces = text.split(path)
    masked = pieces[0]
    for before, after in itertools.pairwise(pieces):
        is_whole = not before[-1:].isalnum() and not after[:1].isalnum()
        masked += (_ADDRESS if is_whole else path) + after
    return masked
