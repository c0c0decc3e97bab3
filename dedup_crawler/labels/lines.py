"""Bodies as text, texts as lines, their words and their times.

Two fetches of one page may print different times. Those that are told from now ("5 minutes ago") are masked in every
line; dates, times of day and durations only where somebody asks.
"""

from __future__ import annotations

import codecs
import re
from array import array
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import xxhash
from w3lib.encoding import html_to_unicode

from dedup_crawler.pages.records import LabelledPage

MIN_WORDS = 10
"""A text with fewer words says too little to join pages by: "You need to enable JavaScript to run this app"."""
MIN_NEAR_WORDS = 100
"""A text with fewer words is compared for equality only: in a short list one changed entry is one more percent."""
MAX_CHANGED_LINES = 2
"""Most lines by which nearly equal pages differ."""
MAX_CHANGED_SHARE = 0.02
"""Largest share (0-1) of a page's words in those lines, counted on both sides."""
MAX_CLOCK = 200
"""Characters; a longer line is no clock."""
WHEN = "\2"
"""Stands in the place of times."""

_HTML_START = re.compile(rb"\s*(<!doctype html|<html|<head|<body)", re.IGNORECASE)
_COUNT = re.compile(r" ?[(\[]\d{1,9}[)\]]$")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
_TIME = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?",
    re.IGNORECASE,
)
_AGO = re.compile(r"\b(?:\d+|an?|one) +(?:second|sec|minute|min|hour|day|week|month|year)s? +ago\b", re.IGNORECASE)
_DURATION = re.compile(r"\b\d+(?:[.,]\d+)?\s?(?:ms|s|secs?|seconds?|milliseconds?)\b", re.IGNORECASE)
_MAY_BE_CLOCK = re.compile(r"\d(?:[-/.:]\d|\s?[ms])", re.IGNORECASE).search  # what every match of the two has


class LineFacts(NamedTuple):
    """Facts about a line by itself, whatever page it is on."""

    digest: int
    n_words: int
    numbers: tuple[str, ...]
    """Its runs of digits."""


def line_facts(line: str) -> LineFacts:
    """Read one line."""
    return LineFacts(digest(line), n_words(line), tuple(_NUMBER.findall(line)))


def lines_of(page: LabelledPage) -> list[str]:
    """Lines of a page's text without the mark of jusText's boilerplate, and without times told from now."""
    if not page.main_text:
        return []
    return masked_ago(page.main_text.replace("\t", "")).split("\n")


def kind_of(body: bytes, content_type: str | None) -> str:
    """``html``, ``text``, or nothing for a body that has no text to read: as declared, or else by its first bytes."""
    declared = (content_type or "").partition(";")[0].strip().lower()
    if declared in ("text/html", "application/xhtml+xml"):
        return "html"
    if declared:
        return "text" if declared.startswith("text/") else ""
    if _HTML_START.match(body):
        return "html"
    return "" if b"\0" in body[:1024] else "text"


def decode(body: bytes, content_type: str | None) -> str:
    """Decode a body by header, byte order mark or meta element, whatever they claim; never fails.

    Bytes that the charset does not have become U+FFFD. Without any claim: UTF-8 if it is that, else Windows-1252.
    """
    try:
        text: str = html_to_unicode(content_type, body, auto_detect_fun=_guess_charset)[1]
    except (LookupError, ValueError):  # a charset such as "hex" or "idna", which Python has but not for text
        text = body.decode("utf-8", "replace")
    return text.encode("utf-8", "replace").decode("utf-8")  # UTF-7 can spell lone surrogates, which no database takes


def _guess_charset(body: bytes) -> str:
    try:
        codecs.utf_8_decode(body, "strict", True)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def digest(text: str) -> int:
    """64-bit hash of a text, the same in every run."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def digest_of_all(digests: Sequence[int]) -> int:
    """64-bit hash of lines by those of each."""
    return xxhash.xxh3_64_intdigest(array("Q", digests).tobytes())


def words_of(text: str) -> list[str]:
    """Words of a text: runs of letters, digits and underscores."""
    return _WORD.findall(text)


def n_words(text: str) -> int:
    """Count the words of a text."""
    return len(_WORD.findall(text))


def numbers_of(text: str) -> frozenset[str]:
    """The runs of digits in a text."""
    return frozenset(_NUMBER.findall(text))


def is_reordered(left: Sequence[Hashable], right: Sequence[Hashable]) -> bool:
    """Return True if two different sequences of the same lines are one list in two orders.

    Not if a single line stands elsewhere: that is how a tree says which of its branches is open, and a menu where
    the reader is. Sorting moves more than one line, for an entry of a table has several.
    """
    moved = [index for index, (one, other) in enumerate(zip(left, right, strict=True)) if one != other]
    first, end = moved[0], moved[-1] + 1
    one, other = left[first:end], right[first:end]
    return one[1:] != other[:-1] and one[:-1] != other[1:]


def masked_times(line: str) -> str:
    """The line with dates and times of day masked."""
    return _TIME.sub(WHEN, line) if _MAY_BE_CLOCK(line) else line


def masked_ago(text: str) -> str:
    """The text with times told from now ("5 minutes ago") masked."""
    return _AGO.sub(WHEN, text) if " ago" in text else text


def masked_clock(line: str) -> str:
    """The line with dates, times of day and durations masked; the very same string if it has none or is too long."""
    if len(line) > MAX_CLOCK or not _MAY_BE_CLOCK(line):
        return line
    masked = _DURATION.sub(WHEN, _TIME.sub(WHEN, line))
    return line if masked == line else masked


def without_count(line: str) -> str:
    """The line without a number in brackets at its end: "Cloth (12)" is a choice of a list."""
    return _COUNT.sub("", line)
