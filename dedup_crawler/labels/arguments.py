"""The arguments in the query of a URL, which of them choose among few things, and how a page spells its own address.

``do=edit`` and ``tab=files`` say what kind of page a URL asks for; ``id=...`` says of what. Nobody tells the names:
a key whose values repeat all the time is a *choice*, one of many values is *open*; in a small crawl some are neither.
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
"""A key with more different values than this is open."""
MIN_REPEATS = 5
"""Pages that each value of a choice has, on average; keys with up to three values are choices anyway."""
MAX_ARGUMENTS = 100
"""Most arguments of a query that is read."""
_FEW_VALUES = 3
_ADDRESS = "\3"
_NOT_IN_NAMES = re.compile(r"[^\w.\-]+")


@functools.lru_cache(maxsize=64)
def arguments(url: str) -> tuple[tuple[Argument, ...], str]:
    """Decoded keys and values of the query in their order, and the rest of the URL before it."""
    before, _, query = url.partition("#")[0].partition("?")
    if query.count("&") >= MAX_ARGUMENTS:
        return (), before
    pieces = (piece.partition("=") for piece in query.split("&") if piece)
    return tuple((_decoded(key), _decoded(value)) for key, _, value in pieces), before


def _decoded(text: str) -> str:
    return unquote_plus(text) if "%" in text or "+" in text else text


def spellings(value: str) -> set[str]:
    """Spellings of an argument's value in the text of a page: as it is, or as a path (``a:b`` as ``a/b``).

    Values of one character are spelt everywhere, so they have none.
    """
    return {form for form in (value, _NOT_IN_NAMES.sub("/", value)) if len(form) > 1}


def mask_value(line: str, value: str, mark: str) -> str:
    """Put *mark* in the place of *value* where it is no part of a longer word."""
    pieces = line.split(value)
    masked = pieces[0]
    for before, after in itertools.pairwise(pieces):
        is_word = not _ends_in_word(masked if before else "") and not _ends_in_word(after[:1])
        masked += (mark if is_word else value) + after
    return masked


def address_free(page: LabelledPage) -> int | None:
    """Digest of a page's title and lines without its own address (``Index of /pub/x``); None where it is not there."""
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
        """Kind of page that a URL asks for: all of it, without the values of *naming_keys* and of other open keys."""
        parts = (
            f"{key}={value}" if key not in naming_keys and self.is_choice(key) else f"{key}=" for key, value in found
        )
        return before, *sorted(parts)
