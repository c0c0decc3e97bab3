"""Rotating text, learnt from pages that were fetched twice: random quotes, advertisements, lists of random links.

Such text is another one with every fetch, so it is no evidence about two pages. No comparison of two URLs can tell it
from what the URLs are about. Two fetches of one URL can: what differs between them is no difference of pages.

A *place* of rotating text is named by its neighbours, lines that several pages have: the text between two such lines
(a heading and the footer), or a fixed number of lines behind one or before one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

import xxhash

from dedup_crawler.pages.records import LabelledPage, ReloadedText

MIN_PAGES = 3
"""Least number of pages on which a place must have rotated, and on which its neighbours must stand."""
ROTATED_SHARE = 0.75
"""Least share (0-1) of the pages with a place on which all of it has changed: two draws may have a line in common."""
ALONE_SHARE = 0.9
"""The same for a place with one neighbour, which may stand elsewhere without rotating text beside it."""
MAX_LINES = 40
"""Largest number of lines of a place."""
MAX_PAGE_LINES = 1_000
"""A longer page is not compared with its other fetch: that would take seconds."""
_START, _END = 1, 2  # the neighbours of the first and of the last line

Change = tuple[int, int, int, int]


class Place(NamedTuple):
    """A place of rotating text."""

    before: int
    """Hash of the line before it; 0 if that is another on each page."""
    after: int
    """Hash of the line after it; 0 if that is another on each page."""
    n_lines: int
    """Number of its lines; between two neighbours, the largest number."""


@dataclass(frozen=True)
class RotatingText:
    """The places of rotating text on the pages of a site."""

    places: frozenset[Place] = frozenset()

    @classmethod
    def of(cls, reloads: Iterable[ReloadedText]) -> RotatingText:
        """Learn the places from pages of one site that were fetched twice."""
        fetches = [
            _compared(reload.first, reload.second)
            for reload in reloads
            if max(reload.first.count("\n"), reload.second.count("\n")) < MAX_PAGE_LINES
        ]
        n_of_line = Counter(line for first, second, _ in fetches for line in {*first}.intersection(second))
        steady = {_START, _END, *(line for line, n in n_of_line.items() if n >= MIN_PAGES)}
        n_rotated: defaultdict[tuple[int, int], list[int]] = defaultdict(list)  # neighbours -> lengths
        for first, _, changes in fetches:
            for neighbours, n_lines in _rotated(first, changes, steady).items():
                n_rotated[neighbours].append(n_lines)
        found = set()
        for (before, after), lengths in n_rotated.items():
            is_between = before > 0 and after > 0
            n_lines = max(lengths) if is_between else Counter(lengths).most_common(1)[0][0]
            place = Place(before, after, n_lines)
            n_same = sum(_is_same(place, first, second) for first, second, _ in fetches)
            n_met = sum(map(bool, lengths)) if is_between else lengths.count(n_lines)
            least = ROTATED_SHARE if is_between else ALONE_SHARE
            if n_met >= MIN_PAGES and n_met >= least * (len(lengths) + n_same):
                found.add(place)
        return cls(frozenset(found))

    def __or__(self, other: RotatingText) -> RotatingText:
        return RotatingText(self.places | other.places)

    def without(self, page: LabelledPage) -> LabelledPage:
        """Return a page without its rotating text."""
        if not self.places or not page.main_text:
            return page
        lines = page.main_text.split("\n")
        hashes = _hashed(page.main_text)
        gone = {line for place in self.places for span in _spans(place, hashes) for line in span}
        if not gone:
            return page
        return replace(page, main_text="\n".join(text for line, text in enumerate(lines) if line + 1 not in gone))


STEADY = RotatingText()
"""A site without rotating text."""


def _hashed(text: str) -> list[int]:
    """Return the hashes of the lines of a text, between marks for its start and its end."""
    lines = text.split("\n")
    return [_START, *(xxhash.xxh3_64_intdigest(line.encode("utf-8", "surrogatepass")) for line in lines), _END]


@lru_cache(64)  # the pages of a site are compared again with each new one
def _compared(first: str, second: str) -> tuple[list[int], list[int], list[Change]]:
    """Return the hashed lines of two texts, and their differences: start and end in the first, and in the second."""
    lines = _hashed(first), _hashed(second)
    steps = SequenceMatcher(None, *lines).get_opcodes()
    return *lines, [(*step[1:],) for step in steps if step[0] != "equal"]


def _rotated(first: Sequence[int], changes: Iterable[Change], steady: Set[int]) -> dict[tuple[int, int], int]:
    """Return the neighbours of each place that differs between two fetches, and its number of lines.

    The number is 0 if only a part of the text between two neighbours has changed.
    """
    found: dict[tuple[int, int], int] = {}
    for start, end, other_start, other_end in changes:
        n_lines, n_others = end - start, other_end - other_start
        before = next(place for place in range(start - 1, -1, -1) if first[place] in steady)
        after = next(place for place in range(end, len(first)) if first[place] in steady)
        is_first, is_last = start == before + 1, end == after
        if max(n_lines, n_others) <= MAX_LINES:
            found[first[before], first[after]] = max(n_lines, n_others) if is_first and is_last else 0
            if is_first and n_lines == n_others:
                found[first[before], 0] = n_lines
            if is_last and n_lines == n_others:
                found[0, first[after]] = n_lines
    return found


def _is_same(place: Place, first: Sequence[int], second: Sequence[int]) -> bool:
    """Return True if the text at a place is the same in two fetches."""
    texts = [[tuple(lines[each] for each in span) for span in _spans(place, lines)] for lines in (first, second)]
    return texts[0] == texts[1] and bool(texts[0])


def _spans(place: Place, lines: Sequence[int]) -> Iterator[range]:
    """Yield the positions of the lines at a place."""
    before, after, n_lines = place
    for position, line in enumerate(lines):
        if before and line == before:
            end = position + 1 + n_lines
            if after:
                end = next((each for each in range(position + 1, min(end + 1, len(lines))) if lines[each] == after), 0)
            if position < end < len(lines):
                yield range(position + 1, end)
        elif not before and line == after and position - n_lines > 0:
            yield range(position - n_lines, position)
