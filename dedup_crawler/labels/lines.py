"""Lines of pages, and what is to know of one whatever page it is on: told once, for most lines are on many pages."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import xxhash

from dedup_crawler.labels.comparing import n_words
from dedup_crawler.pages.records import LabelledPage

MEMO_SIZE = 200_000
"""Lines that are remembered, at most; some 100 MB."""
MAX_CLOCK = 200
"""Characters; a longer line is no clock."""
WHEN = "\2"
"""Stands in the place of times."""

_TIME = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?",
    re.IGNORECASE,
)
_AGO = re.compile(r"\b(?:\d+|an?|one)\s+(?:second|sec|minute|min|hour|day|week|month|year)s?\s+ago\b", re.IGNORECASE)
_DURATION = re.compile(r"\b\d+(?:[.,]\d+)?\s?(?:ms|s|secs?|seconds?|milliseconds?)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
_NO_NUMBERS: frozenset[str] = frozenset()


class LineFacts(NamedTuple):
    """What a line is by itself."""

    digest: int
    n_words: int
    numbers: frozenset[str]
    clock: int
    """Digest of the line with times and durations masked; 0 if it has none."""


class _Memo(dict[str, LineFacts]):
    def __missing__(self, line: str) -> LineFacts:
        if len(self) >= MEMO_SIZE:
            self.clear()
        found = _NUMBER.findall(line)
        numbers = frozenset(found) if found else _NO_NUMBERS
        clock = _DURATION.sub(WHEN, _TIME.sub(WHEN, line)) if found and len(line) <= MAX_CLOCK else line
        facts = LineFacts(digest(line), n_words(line), numbers, 0 if clock == line else digest(clock))
        self[line] = facts
        return facts


_memo = _Memo()


def facts(lines: Iterable[str]) -> list[LineFacts]:
    """What each of *lines* is by itself."""
    return list(map(_memo.__getitem__, lines))


def lines_of(page: LabelledPage) -> list[str]:
    """Lines of a page's text without the mark of jusText's boilerplate, and without times told from now."""
    if not page.main_text:
        return []
    text = page.main_text.replace("\t", "")
    return (_AGO.sub(WHEN, text) if "ago" in text else text).split("\n")


def masked_times(line: str) -> str:
    """The line with dates and times of day masked."""
    return _TIME.sub(WHEN, line)


def digest(text: str) -> int:
    """64-bit hash of a text, the same in every run."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def numbers_of(text: str) -> frozenset[str]:
    """The runs of digits in a text."""
    return frozenset(_NUMBER.findall(text))
