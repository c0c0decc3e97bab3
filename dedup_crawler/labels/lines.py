"""Decodes bodies, hashes files, splits texts into lines, counts words, and masks times.

Two fetches of one page may print different times. Relative times ("5 minutes ago") are masked in every line. Dates,
times of day and durations are masked by functions of their own.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from array import array
from collections.abc import Hashable, Sequence

import xxhash
from w3lib.encoding import html_to_unicode

from dedup_crawler.pages.records import LabelledPage

MIN_WORDS = 10
"""Smallest number of words of a text that joins pages; "You need to enable JavaScript to run this app" has fewer."""
MIN_NEAR_WORDS = 100
"""Smallest number of words of texts that may differ a little; shorter texts must be equal."""
MAX_CHANGED_LINES = 2
"""Largest number of lines in which nearly equal pages differ."""
MAX_CHANGED_SHARE = 0.02
"""Largest share (0-1) of a page's words in the lines that differ."""
MIN_FILE_BYTES = 100
"""Smallest file that is told from others by its bytes; a transparent pixel has fewer."""
MAX_CLOCK = 200
"""Characters of the longest line in which durations are masked."""
MEDIA = "\u01c1"
"""First letter of the word for a picture, film or sound, or for the data of a script; hardly any language writes it."""
WHEN = "\2"
"""Mark for a time."""

_HTML_START = re.compile(rb"\s*(<!doctype html|<html|<head|<body)", re.IGNORECASE)
_COUNT = re.compile(r" ?[(\[]\d{1,9}[)\]]$")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?<!\d)\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:(?:,?\s|-)\d{4}\b)?"
_CLOCK = r"\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?"
_TIME = re.compile(
    rf"\d(?:\d{{3}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d?(?:[-/.]\d{{1,2}}[-/.]\d{{4}}|:{_CLOCK}))"
    rf"|{_DAY}[\s-]{_MONTH}{_YEAR}|\b{_MONTH}\s{_DAY}\b{_YEAR}",
    re.IGNORECASE,
)
"""Dates with a day, in digits or with the English name of the month (as in RFC 5322), and times of day."""
_UNIT = r"(?:second|sec|minute|min|hour|hr|day|week|month|year|yr|[smhdwy])s?\b\.?"
_AMOUNT = rf"(?:(?<!\d)\d{{1,6}}|\ba|\ban|\bone|\ba few)[ \xa0]{{0,3}}{_UNIT}"
_AGO = re.compile(
    rf"(?:(?:less than|about|over|almost) )?{_AMOUNT}(?:(?:,? and |, | ){_AMOUNT}){{0,3}}[ \xa0]{{1,3}}ago\b"
    r"|\bjust now\b",
    re.IGNORECASE,
)
"""Relative times as frameworks write them: "2 days, 3 hours ago", "about an hour ago".

Text may stand before them without a space, as in "Anna5 minutes ago": a line joins elements.
"""
_DURATION = re.compile(r"\b\d+(?:[.,]\d+)?\s?(?:ms|s|secs?|seconds?|milliseconds?)\b", re.IGNORECASE)
_MAY_BE_CLOCK = re.compile(
    r"\d(?:[-/.:]\d|\s?[ms]|(?:st|nd|rd|th)?[\s-][jfmasond]|(?<=[bceghlnprtvy]\s\d)|(?<=[bceghlnprtvy]\.\s\d))",
    re.IGNORECASE,
).search  # part of every _TIME and _DURATION


def lines_of(page: LabelledPage) -> list[str]:
    """Lines of a page's text, with relative times masked."""
    if not page.main_text:
        return []
    lines = page.main_text.split("\n")
    if not _may_say_when(page.main_text):
        return lines
    return [_AGO.sub(WHEN, line) if _may_say_when(line) else line for line in lines]


def _may_say_when(text: str) -> bool:
    return "ago" in text or "ust now" in text


def file_digest(body: bytes) -> str | None:
    """``algorithm:digest`` of a file; None for one that is too small to be told from others by its bytes."""
    return f"blake2b:{hashlib.blake2b(body, digest_size=16).hexdigest()}" if len(body) >= MIN_FILE_BYTES else None


def content_kind(body: bytes, content_type: str | None) -> str:
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
    """Decode a body by its header, byte order mark or meta element; never fails.

    Invalid bytes become U+FFFD. Without a declared charset: UTF-8 if the body is valid UTF-8, else Windows-1252.
    """
    try:
        text: str = html_to_unicode(content_type, body, auto_detect_fun=_guess_charset)[1]
    except (LookupError, ValueError):  # a codec of Python that is not for text, such as "hex" or "idna"
        text = body.decode("utf-8", "replace")
    return text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates (from UTF-7) fit into no database


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
    """64-bit hash of a sequence of 64-bit hashes."""
    return xxhash.xxh3_64_intdigest(array("Q", digests).tobytes())


def split_words(text: str) -> list[str]:
    """Words of a text: runs of letters, digits and underscores."""
    return _WORD.findall(text)


def n_words(text: str) -> int:
    """Number of words in a text."""
    return len(_WORD.findall(text))


def numbers_of(text: str) -> frozenset[str]:
    """Runs of digits in a text."""
    return frozenset(_NUMBER.findall(text))


def is_reordered(left: Sequence[Hashable], right: Sequence[Hashable]) -> bool:
    """Return True if two different sequences of the same lines are one list in two orders.

    If a single line has moved, they are not: a tree or menu moves one line to show the current place. Sorting a table
    moves several lines, because an entry has several.
    """
    moved = [index for index, (one, other) in enumerate(zip(left, right, strict=True)) if one != other]
    first, end = moved[0], moved[-1] + 1
    one, other = left[first:end], right[first:end]
    return one[1:] != other[:-1] and one[:-1] != other[1:]


def masked_times(line: str) -> str:
    """The line with dates and times of day masked."""
    return _TIME.sub(WHEN, line) if _MAY_BE_CLOCK(line) else line


def times_of(text: str) -> list[str]:
    """Dates and times of day in a text."""
    return _TIME.findall(text)


def masked_clock(line: str) -> tuple[str, bool]:
    """The line with dates, times of day and durations masked; and True if it has a date or time of day.

    Durations are masked in lines of up to MAX_CLOCK characters.
    """
    if not _MAY_BE_CLOCK(line):
        return line, False
    masked, n_times = _TIME.subn(WHEN, line)
    return (masked if len(line) > MAX_CLOCK else _DURATION.sub(WHEN, masked)), n_times > 0


def without_count(line: str) -> str:
    """The line without a number in brackets at its end: "Cloth (12)" is a choice of a list."""
    return _COUNT.sub("", line) if line.endswith((")", "]")) else line
