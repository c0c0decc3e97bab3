"""The arguments in the query of a URL: their kinds, and their spellings in the text of a page.

``do=edit`` and ``tab=files`` choose a kind of page; ``id=...`` names the thing that it is about. The names do not tell
which is which, but the values do: a key with few values that repeat is a *choice*, a key with many values is *open*. In
a small crawl some keys are neither.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Sequence
from urllib.parse import unquote, unquote_plus

from dedup_crawler.labels.lines import digest, lines_of
from dedup_crawler.pages.records import LabelledPage

Argument = tuple[str, str]

MAX_CHOICES = 30
"""Largest number of different values of a choice; a key with more is open."""
MIN_REPEATS = 5
"""Smallest mean number of pages for each value of a choice; a key with up to three values is always a choice."""
MAX_ARGUMENTS = 100
"""Largest number of arguments; a query with more is ignored."""
_FEW_VALUES = 3
_ADDRESS = "\3"
_NOT_IN_NAMES = re.compile(r"[^\w.\-]+")


@functools.lru_cache(maxsize=64)
def arguments(url: str) -> tuple[tuple[Argument, ...], str]:
    """Decoded keys and values of the query, in their order, and the URL before the query."""
    before, _, query = url.partition("#")[0].partition("?")
    if query.count("&") >= MAX_ARGUMENTS:
        return (), before
    pieces = (piece.partition("=") for piece in query.split("&") if piece)
    return tuple((_decoded(key), _decoded(value)) for key, _, value in pieces), before


def _decoded(text: str) -> str:
    return unquote_plus(text) if "%" in text or "+" in text else text


def spellings(value: str) -> set[str]:
    """Spellings of an argument's value in the text of a page: the value, or the value as a path (``a/b`` for ``a:b``).

    A value of one character occurs everywhere, so it has no spelling.
    """
    return {form for form in (value, _NOT_IN_NAMES.sub("/", value)) if len(form) > 1}


def mask_value(line: str, value: str, mark: str) -> str:
    """Replace *value* by *mark*, except inside of a longer word."""
    pieces = line.split(value)
    masked = pieces[0]
    for before, after in itertools.pairwise(pieces):
        is_word = not _ends_in_word(masked if before else "") and not _ends_in_word(after[:1])
        masked += (mark if is_word else value) + after
    return masked


def address_free(page: LabelledPage) -> int | None:
    """Digest of a page's title and lines without its own address (``Index of /pub/x``); None if it is not printed."""
    path = unquote(page.url.partition("://")[2].partition("/")[2].partition("?")[0]).strip("/")
    if not path or (f"/{path}" not in page.title and f"/{path}" not in page.main_text):
        return None
    text = "\n".join((page.title, *lines_of(page)))
    masked = mask_value(text, f"/{path}", _ADDRESS)
    return digest(masked) if masked != text else None


def _ends_in_word(text: str) -> bool:
    return text[-1:].isalnum() or text[-1:] == "_"


class ArgumentKinds:
    """Learns which keys are choices, from the URLs of a crawl."""

    def __init__(self) -> None:
        self._n_pages: defaultdict[str, int] = defaultdict(int)
        self._values: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, found: Sequence[Argument]) -> None:
        """Count the arguments of one URL."""
        for key, value in found:
            self._n_pages[key] += 1
            if len(self._values[key]) <= MAX_CHOICES:
                self._values[key].add(value)

    def is_choice(self, key: str) -> bool:
        """Return True if *key* has few values, each on many pages."""
        n_values = len(self._values.get(key, ()))
        if n_values > MAX_CHOICES:
            return False
        return n_values <= max(_FEW_VALUES, self._n_pages.get(key, 0) / MIN_REPEATS)

    def is_open(self, key: str) -> bool:
        """Return True if *key* has so many values that it cannot be a choice."""
        return len(self._values.get(key, ())) > MAX_CHOICES

    def template(self, before: str, found: Sequence[Argument], naming_keys: frozenset[str]) -> tuple[str, ...]:
        """Kind of page of a URL: the URL without the values of *naming_keys* and of keys that are no choices."""
        parts = (
            f"{key}={value}" if key not in naming_keys and self.is_choice(key) else f"{key}=" for key, value in found
        )
        return before, *sorted(parts)
