"""Comparer of pairs of pages to which a rule gives one form.

It removes lines that both pages have, the frame of the site, and lines that differ only as the two URLs do; digests of
pages have no meter lines. A remaining line may still be *systematic* for the rule: the same kind of line remains in a
large share of its merge groups ("Leave a reply to Anna"), and it has no new words. Pages with any other remaining line
are different. Pages that have nothing in common but the frame, pages that differ in nothing but their titles, and short
text files with one text are silent.
"""

from __future__ import annotations

import copy
import enum
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dedup_crawler.evidence.digests import PageDigests, alike_pages
from dedup_crawler.evidence.line_differences import MAX_LEFT, LineDifferences
from dedup_crawler.evidence.site_text import N_BESIDE, HabitCounts, Habits, Line, SiteText, frame_of_time
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.pages.rotating import STEADY, RotatingText
from dedup_crawler.rules.learning.belief import NAMED

MAX_NEW = 3
"""Maximum of lines with new words in a pair."""
MIN_COMMON = 15.0
"""Least score of the common lines of two pages: words times the logarithm of the rarity of the line."""
MAX_EXCUSED = 1.0
"""Largest number of words in excused lines, as a share (0-1) of the common words outside the frame."""
MAX_MISSING = 3
"""Maximum of lines of an excerpt that the other page lacks, such as "1 to 20 of 49"."""
MIN_SURE = 50
"""Least number of common words outside the frame, for two pages with excused lines to be the same beyond doubt."""

_MAX_PAIRS = 50_000  # most pairs with cached lines; about four hypotheses ask for each pair


class Verdict(enum.IntEnum):
    """Result of comparing two pages for a rule."""

    SILENT = -1
    DIFFERENT = 0
    SAME = 1
    NAMED = NAMED
    """The same but for lines that print the values in which the two URLs differ."""


@dataclass(frozen=True, slots=True)
class _Left:
    """Remaining lines of a pair."""

    lines: Sequence[Line]
    shared: Sequence[Line]
    """Further lines that many pages of the site have; they show what is systematic, and are no difference."""
    is_named: bool
    """True if each page prints a word that only its own URL has."""
    says_more: bool
    """True if a page prints the value of a query name that the other URL lacks, such as "Search" for ``tab=search``."""
    n_common: int
    """Number of common words outside the frame."""
    support: float

    @property
    def all(self) -> list[Line]:
        return [*self.lines, *self.shared]


class PageEvidence:
    """Compares the pages of one crawl by their digests.

    The text of the site is learnt from these pages, which have no *rotating* text any more. *links_of* reads the links
    of a page, given its place.
    """

    def __init__(
        self,
        digests: PageDigests,
        rotating: RotatingText = STEADY,
        links_of: Callable[[int], Iterable[str]] | None = None,
    ) -> None:
        self.digests = digests
        self._links_of = links_of
        self.site = SiteText.of(digests, rotating)
        self._differences = LineDifferences(digests, self.site)
        self._places: Sequence[int] = range(len(digests.pages))
        self._left_of = functools.lru_cache(_MAX_PAIRS)(self._left)
        self._frame_of = functools.cache(self._frame_of_time)
        self._equal_frames: dict[frozenset[int], frozenset[int]] = {}  # keeps one of equal frames

    @classmethod
    def of_pages(
        cls,
        pages: Sequence[LabelledPage],
        rotating: RotatingText = STEADY,
        links_of: Callable[[str], Iterable[str]] | None = None,
    ) -> PageEvidence:
        """Read the pages of a crawl, in crawl order, which have no *rotating* text any more.

        *links_of* reads the links of the page of a URL (:func:`~dedup_crawler.labels.main_text.stored_links`). It is
        not asked about pages whose text could not be read.
        """
        urls = [page.url if page.main_text else "" for page in pages]
        links_on = None if links_of is None else lambda place: links_of(urls[place]) if urls[place] else ()
        return cls(PageDigests(pages), rotating, links_on)

    def of(self, places: Sequence[int]) -> PageEvidence:
        """Return the evidence of some pages, renumbered by their position in *places*."""
        some = copy.copy(self)
        some._places = [self._places[place] for place in places]
        return some

    def alike(self, clusters: Sequence[int]) -> list[int]:
        """Return a group number for each page, given its cluster; pages of a group may be alike, to propose rules."""
        return alike_pages(self.digests, self._places, self.site.frame, clusters)

    def links_on(self, place: int) -> Iterable[str]:
        """Return the URLs that a page links; none if they are not known."""
        return self._links_of(self._places[place]) if self._links_of is not None else ()

    def has_own_page(self, place: int) -> bool:
        """Return False for errors and redirects."""
        place = self._places[place]
        return self.digests.content(place) == place and self.digests.pages[place].status < 400

    def judge(self, pairs: Iterable[tuple[int, int]], groups: Sequence[int]) -> list[Verdict]:
        """Compare all pairs of pages (by their places in the crawl) that a rule makes one, each of one merge group."""
        left = self._all_left(pairs)
        close = [(group, each.all) for group, each in zip(groups, left, strict=True) if isinstance(each, _Left)]
        equal = {group for group, each in zip(groups, left, strict=True) if each == Verdict.SAME}
        habits = HabitCounts(close, len(equal.difference(group for group, _ in close)))
        return [self._verdict(each, habits) if isinstance(each, _Left) else each for each in left]

    def is_excerpt(self, one: int, other: int) -> bool:
        """Return True if one of two pages has nearly all lines of the other, and more, beside the frame of the site."""
        places = [self.digests.content(self._places[place]) for place in (one, other)]
        if min(places) < 0:
            return False
        here, there = (self.digests.pages[place].lines - self.site.frame for place in places)
        missing, further = sorted((len(here - there), len(there - here)))
        return missing <= MAX_MISSING and further > 2 * missing

    def is_same_beyond_doubt(self, one: int, other: int) -> bool:
        """Return True for two pages, the same by :meth:`judge`, that are the same whatever the rule is.

        No line remains, or only lines without new words beside many common words; and the pages do not print the values
        in which their URLs differ.
        """
        (left,) = self._all_left([(one, other)])
        if not isinstance(left, _Left):
            return left == Verdict.SAME
        is_clear = not left.is_named and not left.says_more
        return is_clear and (not left.lines or (not _n_new(left.lines) and left.n_common >= MIN_SURE))

    def habits(self, pairs: Iterable[tuple[int, int]]) -> Habits:
        """Learn the systematic lines of a rule from pairs of pages that it makes one; each pair is one group."""
        left = [each for each in self._all_left(pairs) if each != Verdict.DIFFERENT]
        n_same = sum(not isinstance(each, _Left) for each in left)
        close = [
            (number, each.all) for number, each in enumerate(left) if isinstance(each, _Left) and not each.says_more
        ]
        return HabitCounts(close, n_same).habits()

    def _all_left(self, pairs: Iterable[tuple[int, int]]) -> list[_Left | Verdict]:
        return [self._left_of(self._places[one], self._places[other]) for one, other in pairs]

    def _left(self, one: int, other: int) -> _Left | Verdict:
        digests, differences = self.digests, self._differences
        here, there = digests.content(one), digests.content(other)
        if here < 0 or there < 0:
            return Verdict.SILENT
        if here == there:
            return Verdict.SAME
        page, beside = digests.pages[here], digests.pages[there]
        if page.status != beside.status or not page.lines or not beside.lines:
            return Verdict.DIFFERENT
        if not page.title or not beside.title:  # a short text file may be equal by chance
            return Verdict.SILENT if page.lines == beside.lines and page.title == beside.title else Verdict.DIFFERENT
        common = page.lines & beside.lines
        frame = self._frame_of(here) | self._frame_of(there)
        only, shared = differences.only(page.lines - common - frame, beside.lines - common - frame)
        if len(only) > MAX_LEFT:
            return Verdict.DIFFERENT
        lines = differences.lines(only, one, other)
        if _n_new(lines) > MAX_NEW:
            return Verdict.DIFFERENT
        if not lines and page.title != beside.title:
            return Verdict.SILENT  # two empty lists, say, that differ in their names alone
        own = common - self.site.frame
        return _Left(
            lines,
            differences.lines(shared, one, other) if shared else (),
            differences.is_named(page.lines - common, beside.lines - common, one, other),
            differences.says_more(only, one, other),
            sum(map(digests.n_written, own)),
            differences.support(own),
        )

    def _frame_of_time(self, place: int) -> frozenset[int]:
        """Return the lines on nearly all pages fetched just before a page, or on nearly all just after it.

        The two sides are separate, because such a line may appear or disappear with this page.
        """
        pages = self.digests.pages
        before = frame_of_time(pages[place - 1 - n] for n in range(min(N_BESIDE, place)))
        after = frame_of_time(pages[n] for n in range(place + 1, min(place + 1 + N_BESIDE, len(pages))))
        found = before | after
        return self._equal_frames.setdefault(found, found)

    def _verdict(self, left: _Left, habits: HabitCounts) -> Verdict:
        if not all(map(habits.excuse, left.lines)):
            return Verdict.DIFFERENT
        if left.support < MIN_COMMON:
            return Verdict.SILENT
        n_excused = sum(len(line.words) for line in left.lines)
        if n_excused > MAX_EXCUSED * left.n_common:
            return Verdict.DIFFERENT
        if left.says_more:
            return Verdict.SILENT
        return Verdict.NAMED if left.is_named else Verdict.SAME


def _n_new(lines: Iterable[Line]) -> int:
    return sum(line.is_new for line in lines)
