"""Meter lines, whose numbers change from fetch to fetch of one page.

They make each fetch another text, so they are no evidence. There are two kinds:

- lines that nearly all pages have, with other numbers: "Page generated in 0.12 seconds". A line whose number most of
  its pages have in their URLs ("Topic 17") names the page, and is no meter line; nor is a line that is the same on most
  pages. A site whose pages are mostly equal but for numbers has none: the numbers are what it shows. Data of scripts
  have to change from page to page of one text as well;
- counters ("Read 34 times"): of pages with one text but for numbers, those that were fetched later show higher ones.
  This has to hold for several texts. If all rows of a list are higher, they are other rows ("Ticket 26", "Ticket 1").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from dedup_crawler.labels.lines import MEDIA, WHEN, digest, numbers_of

METER_SHARE = 0.9
"""Least share (0-1) of the pages that have a meter line of the first kind."""
MIN_PAGES = 20
"""Least number of pages that have it."""
MAX_SHARE = 0.5
"""Largest share (0-1) of its pages on which the line is the same, or has a number of the URL."""
MOSTLY = 0.2
"""Share (0-1) of the pages by which pages of one text, without numbers, may outnumber all others."""
MAX_KEPT = 0.2
"""Largest share (0-1) of two pages of one text in a row with the same data, for data that changes at each fetch."""
MIN_TEXTS = 8
"""Least number of texts with a counter that has grown, and of changes of data."""
GROWING_SHARE = 0.95
"""Least share (0-1) of the changes of a counter that are growth."""
MIN_ROWS = 3
"""Least number of values that do not all grow between two fetches."""
MAX_LINE = 400
"""Characters of a line that are compared."""
_MAX_SHAPES = 20_000
_MAX_VALUES = 200_000
_LETTER = re.compile(r"[^\W\d_]")
_NUMBERED = re.compile(r"(?<!\w)[^\W\d]*\d\w*")  # a word with a digit
_has_digit = re.compile(r"\d").search
_NUMBER = re.compile(r"\d{1,3}(?:[,.]\d{3})+(?!\d)|\d{1,18}")

Values = tuple[int, ...]


def meter_shapes(lines: Iterable[str]) -> dict[str, int]:
    """Return line -> digest of the line with its numbers masked, for the lines with numbers and words."""
    return {line: read.shape for line, read in _read_all(lines).items()}


@dataclass(frozen=True, slots=True)
class _Line:
    """A line with numbers and words."""

    shape: int
    """Digest of the line with its numbers masked."""
    values: Values
    """Its numbers, in order."""
    numbers: frozenset[str]
    """Its words that are numbers, as URLs write them."""


def _read_all(lines: Iterable[str]) -> dict[str, _Line]:
    return {line: read for line in filter(_has_digit, lines) if (read := _read(line)) is not None}


@lru_cache(2**14)  # many pages share a line
def _read(line: str) -> _Line | None:
    start = line[:MAX_LINE]
    masked = _NUMBERED.sub(WHEN, start)
    if not _LETTER.search(masked) or WHEN not in masked:
        return None
    values = tuple(int(number.replace(",", "").replace(".", "")) for number in _NUMBER.findall(start))
    return _Line(digest(masked), values, numbers_of(line))


@dataclass(slots=True)
class _Counts:
    """Pages that have one line of a shape."""

    first: str
    n: int = 0
    n_equal: int = 0
    """Number of those that have the *first* line."""
    n_numbered: int = 0
    """Number of those with a number in the URL."""
    n_named: int = 0
    """Number of those with a number in the URL and in the line."""
    n_grown: int = 0
    """Number of times that the line had higher numbers than on the page of the same text before."""
    n_changed: int = 0
    n_kept: int = 0
    """Number of times that the line was the same as on the page of the same text before."""
    n_texts: int = 0
    """Number of texts for which it has grown."""

    def is_usual(self, n_pages: int) -> bool:
        is_usual = self.n >= max(METER_SHARE * n_pages, MIN_PAGES)
        return is_usual and self.n_equal <= MAX_SHARE * self.n and not self.is_name() and not self.is_steady_data()

    def is_steady_data(self) -> bool:
        """Return True for data of scripts, unless they changed on several pages of a text, and hardly ever stayed."""
        n_compared = self.n_changed + self.n_kept
        is_changing = self.n_changed >= MIN_TEXTS and self.n_kept <= MAX_KEPT * n_compared
        return self.first.startswith(MEDIA) and not is_changing

    def is_counter(self) -> bool:
        is_growing = self.n_texts >= MIN_TEXTS and self.n_grown >= GROWING_SHARE * self.n_changed
        return is_growing and not self.is_name()

    def is_name(self) -> bool:
        return self.n_named > MAX_SHARE * self.n_numbered


class MeterCounts:
    """Counts the lines with numbers on the pages of a site, in crawl order."""

    def __init__(self) -> None:
        self._n_pages = 0
        self._counts: dict[int, _Counts] = {}
        # text and shape -> its latest values, and whether they have ever grown
        self._values: dict[tuple[int, int], tuple[Values, bool]] = {}
        # the most frequent text and its lead (R. Boyer, J. Moore, "MJRTY: a fast majority vote algorithm", 1991)
        self._leading, self._lead = 0, 0

    def see(self, url: str, title: str, lines: Sequence[str]) -> dict[str, int]:
        """Count the lines of a page that has a title; return their shapes, see :func:`meter_shapes`."""
        ids = numbers_of(url)
        read = _read_all(lines)
        text = digest("\n".join([title, *(str(read[line].shape) if line in read else line for line in lines)]))
        self._n_pages += 1
        if self._lead == 0:
            self._leading = text
        self._lead += 1 if text == self._leading else -1
        lines_of_shape: dict[int, list[str]] = {}
        for line in lines:
            if line in read:
                lines_of_shape.setdefault(read[line].shape, []).append(line)
        for shape, its_lines in lines_of_shape.items():
            counts = self._counts.get(shape)
            if counts is None:
                counts = self._counts[shape] = _Counts(its_lines[0])
            if len(its_lines) == 1:
                counts.n += 1
                counts.n_equal += its_lines[0] == counts.first
            if ids:
                counts.n_numbered += 1
                counts.n_named += any(not ids.isdisjoint(read[line].numbers) for line in its_lines)
            self._compare(counts, (text, shape), tuple(chain.from_iterable(read[line].values for line in its_lines)))
        if len(self._counts) > _MAX_SHAPES:
            usual = METER_SHARE * self._n_pages / 2
            self._counts = {
                shape: counts for shape, counts in self._counts.items() if counts.n >= usual or counts.n_texts
            }
        return {line: each.shape for line, each in read.items()}

    def _compare(self, counts: _Counts, key: tuple[int, int], values: Values) -> None:
        """Compare the values of a text with those at its last fetch."""
        before, has_grown = self._values.get(key, (values, False))
        if before != values:
            is_growth = len(before) == len(values) and all(map(int.__le__, before, values))
            if len(values) >= MIN_ROWS and all(map(int.__lt__, before, values)):
                is_growth = False
            counts.n_changed += 1
            counts.n_grown += is_growth
            counts.n_texts += is_growth and not has_grown
            has_grown |= is_growth
        elif key in self._values:
            counts.n_kept += 1
        if key in self._values or len(self._values) < _MAX_VALUES:
            self._values[key] = values, has_grown

    def meters(self) -> frozenset[int]:
        """Return the shapes of meter lines."""
        are_usual = self._lead <= MOSTLY * self._n_pages
        return frozenset(
            shape
            for shape, counts in self._counts.items()
            if counts.is_counter() or (are_usual and counts.is_usual(self._n_pages))
        )
