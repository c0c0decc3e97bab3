"""Meter lines, which nearly every page of a site has with other numbers: "Page generated in 0.12 seconds".

They make each fetch of one page another text, so they are no evidence. A line whose number most of its pages have in
their URLs ("Topic 17") names the page, and is no meter line. Nor is a line that is the same on most pages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from dedup_crawler.labels.lines import WHEN, digest, numbers_of

METER_SHARE = 0.9
"""Least share (0-1) of the pages that have a meter line."""
MIN_PAGES = 20
"""Least number of pages that have a meter line."""
MAX_SHARE = 0.5
"""Largest share (0-1) of its pages on which the line is the same, or has a number of the URL."""
MAX_LINE = 400
"""Characters of a line that are compared."""
_MAX_SHAPES = 20_000
_NUMBERED = re.compile(r"\w*\d\w*")


def meter_shapes(lines: Iterable[str]) -> dict[str, int]:
    """Return line -> digest of the line with its numbers masked; only for shapes that one line of the page has."""
    shapes = {}
    for line in lines:
        masked, n_masked = _NUMBERED.subn(WHEN, line[:MAX_LINE])
        if n_masked:
            shapes[line] = digest(masked)
    n_of_shape = Counter(shapes.values())
    return {line: shape for line, shape in shapes.items() if n_of_shape[shape] == 1}


@dataclass(slots=True)
class _Counts:
    """Pages that have a line of one shape."""

    first: str
    n: int = 0
    n_equal: int = 0
    """Number of those that have the *first* line."""
    n_numbered: int = 0
    """Number of those with a number in the URL."""
    n_named: int = 0
    """Number of those with a number in the URL and in the line."""

    def is_meter(self, n_pages: int) -> bool:
        is_usual = self.n >= max(METER_SHARE * n_pages, MIN_PAGES)
        return is_usual and self.n_equal <= MAX_SHARE * self.n and self.n_named <= MAX_SHARE * self.n_numbered


class MeterCounts:
    """Counts the shapes of lines on the pages of a site."""

    def __init__(self) -> None:
        self._n_pages = 0
        self._counts: dict[int, _Counts] = {}

    def see(self, url: str, lines: Iterable[str]) -> None:
        """Count the lines of a page that has a title."""
        ids = numbers_of(url)
        self._n_pages += 1
        for line, shape in meter_shapes(lines).items():
            counts = self._counts.setdefault(shape, _Counts(line))
            counts.n += 1
            counts.n_equal += line == counts.first
            counts.n_numbered += bool(ids)
            counts.n_named += not ids.isdisjoint(numbers_of(line))
        if len(self._counts) > _MAX_SHAPES:
            usual = METER_SHARE * self._n_pages / 2
            self._counts = {shape: counts for shape, counts in self._counts.items() if counts.n >= usual}

    def meters(self) -> frozenset[int]:
        """Return the shapes of meter lines."""
        return frozenset(shape for shape, counts in self._counts.items() if counts.is_meter(self._n_pages))
