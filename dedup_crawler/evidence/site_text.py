"""Text that the pages of a site share: its frame (menus, footers), common lines and common words.

A model stores it with the habits of its rules, so that a crawl compares pages as training does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dedup_crawler.evidence.habits import Habits, all_habits
from dedup_crawler.json_values import JsonValue
from dedup_crawler.pages.rotating import STEADY, Place, RotatingText

if TYPE_CHECKING:
    from dedup_crawler.evidence.digests import PageDigests  # not loaded by a crawl that compares nothing

FRAME_SHARE = 0.08
"""A line on pages of this share (0-1) of the titles belongs to the site's frame."""
SHARED_TITLES = 10
"""Least number of titles with a shared line."""
SHARED_SHARE = 0.01
"""Least share (0-1) of the titles with a shared line."""
KNOWN_SHARE = 0.02
"""A word on pages of this share (0-1) of the titles is known."""
MAX_KEPT = 20_000
"""Maximum of lines, and of words, in a model; the most frequent are kept."""


@dataclass(frozen=True)
class SiteText:
    """Hashed lines and words of a site, with the number of different titles whose pages have them."""

    n_titles: int
    """Number of different titles; each page without a title counts as one."""
    n_of_line: Counter[int]
    frame: frozenset[int]
    shared: frozenset[int]
    """Lines on so many pages that they are no evidence, including the frame."""
    known: frozenset[str]
    """Known words."""
    habits: Mapping[str, Habits] = field(default_factory=dict)
    """Rule identifier -> systematic lines of the rule."""
    is_learnt: bool = True
    """False if no habits were learnt from these pages."""
    masked_shared: frozenset[int] = frozenset()
    """Hashes of lines that many pages have when the page's own name is masked."""
    masked_frame: frozenset[int] = frozenset()
    """Those that belong to the frame."""
    meters: Set[int] = frozenset()
    """Shapes of meter lines (:mod:`dedup_crawler.labels.meters`)."""
    rotating: RotatingText = STEADY
    """Places of rotating text, which the pages that the text was learnt from do not have."""

    @classmethod
    def of(cls, digests: PageDigests, rotating: RotatingText) -> SiteText:
        """Learn the text from the pages of a crawl, which have no *rotating* text any more."""
        least = max(KNOWN_SHARE * digests.n_titles, 2)
        known = frozenset(word for word, n in digests.n_of_word.items() if n >= least)
        frequent = _frequent(digests.n_of_line, digests.n_titles)
        return cls(digests.n_titles, digests.n_of_line, *frequent, known, meters=digests.meters, rotating=rotating)

    @classmethod
    def of_lines(
        cls,
        n_pages: int,
        n_of_line: Counter[int],
        *,
        masked_shared: frozenset[int],
        masked_frame: frozenset[int],
        meters: Set[int],
    ) -> SiteText:
        """Return the text of *n_pages* pages with the given line counts, without known words and habits."""
        frame, shared = _frequent(n_of_line, n_pages)
        return cls(n_pages, n_of_line, frame, shared, frozenset(), {}, False, masked_shared, masked_frame, meters)

    def with_masked_lines_of(self, other: SiteText) -> SiteText:
        """Return this text with the masked lines of another text of the site, and its meter lines too."""
        meters = self.meters | other.meters
        return replace(self, masked_shared=other.masked_shared, masked_frame=other.masked_frame, meters=meters)

    def with_rotating(self, rotating: RotatingText) -> SiteText:
        """Return this text with more places of *rotating* text."""
        return replace(self, rotating=self.rotating | rotating) if rotating.places else self

    def with_frame(self, lines: Iterable[int]) -> SiteText:
        """Return this text with more *lines* in the frame."""
        return replace(self, frame=self.frame.union(lines))

    def habits_of(self, rules: Iterable[str]) -> Habits:
        """Return the merged habits of several rules."""
        return all_habits(self.habits[rule] for rule in rules if rule in self.habits)

    def to_json(self) -> dict[str, Any]:
        """Return the text as JSON values, with the most frequent lines and words."""
        kept = sorted(self.shared, key=lambda line: (-self.n_of_line[line], line))[:MAX_KEPT]
        return {
            "titles": self.n_titles,
            "lines": {f"{line:016x}": self.n_of_line[line] for line in kept},
            "words": sorted(self.known)[:MAX_KEPT],
            "meters": [f"{shape:016x}" for shape in sorted(self.meters)],
            "rotating": [[f"{line:016x}" for line in place] for place in sorted(self.rotating.places)],
            "habits": {rule: habits.to_json() for rule, habits in sorted(self.habits.items()) if any(habits)},
        }

    @classmethod
    def from_json(cls, value: JsonValue) -> SiteText:
        """Read the result of :meth:`to_json`; BadInputError for anything else."""
        n_titles = value["titles"].count()
        n_of_line: Counter[int] = Counter()
        for line, n in value["lines"].table().items():
            n_of_line[_hash(line, value["lines"])] = n.count()
        habits = {rule: Habits.from_json(each) for rule, each in value["habits"].table().items()}
        meters = {_hash(shape, value["meters"]) for shape in value["meters"].texts()} if "meters" in value else set()
        places = value["rotating"].values() if "rotating" in value else []
        rotating = RotatingText(frozenset(map(_place, places)))
        known = frozenset(value["words"].texts())
        frequent = _frequent(n_of_line, n_titles)
        return cls(n_titles, n_of_line, *frequent, known, habits, meters=meters, rotating=rotating)


def _frequent(n_of_line: Counter[int], n_titles: int) -> tuple[frozenset[int], frozenset[int]]:
    """Return the frame, and all shared lines."""
    least_frame = max(FRAME_SHARE * n_titles, 2)
    least_shared = max(SHARED_SHARE * n_titles, SHARED_TITLES)
    frame = frozenset(line for line, n in n_of_line.items() if n >= least_frame)
    return frame, frame.union(line for line, n in n_of_line.items() if n >= least_shared)


def _place(value: JsonValue) -> Place:
    found = [_hash(text, value) for text in value.texts()]
    if len(found) != len(Place._fields):
        value.refuse("a place of rotating text: two lines and a number")
    return Place(*found)


def _hash(text: str, lines: JsonValue) -> int:
    try:
        return int(text, 16)
    except ValueError:
        return lines.refuse("hashes of lines", text)
