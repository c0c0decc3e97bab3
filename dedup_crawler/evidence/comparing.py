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
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from urllib.parse import unquote_plus

from dedup_crawler.evidence.digests import (
    VALUE,
    MaskedLine,
    PageDigests,
    alike_pages,
    masked_values,
    query_values,
    url_values,
)
from dedup_crawler.evidence.frame_of_time import N_BESIDE, frame_of_time
from dedup_crawler.evidence.habits import HabitCounts, Habits, Line, Words
from dedup_crawler.evidence.site_text import SiteText
from dedup_crawler.labels.lines import (
    MAX_CHANGED_LINES,
    MAX_CHANGED_SHARE,
    MEDIA,
    MIN_NEAR_WORDS,
    MIN_WORDS,
    is_reordered,
    numbers_of,
    times_of,
)
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.pages.rotating import STEADY, RotatingText
from dedup_crawler.rules.learning.belief import NAMED

MAX_NEW = 3
"""Maximum of lines with new words in a pair."""
MAX_SHARED = 3
"""Up to this number of lines in a pair that many pages of the site have are ignored."""
MAX_LEFT = 60
"""A pair with more remaining lines is different."""
MIN_COMMON = 15.0
"""Least score of the common lines of two pages: words times the logarithm of the rarity of the line."""
MAX_EXCUSED = 1.0
"""Largest number of words in excused lines, as a share (0-1) of the common words outside the frame."""
MIN_SURE = 50
"""Least number of common words outside the frame, for two pages with excused lines to be the same beyond doubt."""
MAX_DRIFT = 0.1
"""Largest number of words in unexcused lines, as a share (0-1) of the common words, for two fetches of one page."""
MAX_STEP = 5
"""A counter differs between two fetches of one page by at most this number,"""
MAX_GROWTH = 0.05
"""or by this share (0-1) of its value."""
MAX_DIGITS = 16
MIN_NAMED = 25
"""Least number of common words of two fetches with different titles."""

_MAX_PAGE_WORDS = 1_000  # most pages with cached words
_MAX_LINES = 10_000  # most lines with cached words that the site does not know
_MAX_PAIRS = 50_000  # most pairs with cached lines; about four hypotheses ask for each pair


Sides = list[tuple[int, int]]
"""Side (0 or 1) and hash of lines that only one of two pages has."""


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
    """True if each page prints a value that only its own URL has."""
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

    Without *site*, the text of the site is learnt from these pages, which have no *rotating* text any more. *links_of*
    reads the links of a page, given its place.
    """

    def __init__(
        self,
        digests: PageDigests,
        site: SiteText | None = None,
        rotating: RotatingText = STEADY,
        links_of: Callable[[int], Iterable[str]] | None = None,
    ) -> None:
        self.digests = digests
        self._links_of = links_of
        self.site = SiteText.of(digests, rotating) if site is None else site
        self._places: Sequence[int] = range(len(digests.pages))
        self._values: dict[int, frozenset[Words]] = {}
        self._page_words: dict[int, frozenset[str]] = {}
        self._pairs: dict[tuple[int, int], _Left | Verdict] = {}
        self._frames: dict[int, frozenset[int]] = {}
        self._equal_frames: dict[frozenset[int], frozenset[int]] = {}  # keeps one of equal frames
        self._unknown: dict[Words, frozenset[str]] = {}

    @classmethod
    def of_pages(
        cls,
        pages: Sequence[LabelledPage],
        rotating: RotatingText = STEADY,
        links_of: Callable[[str], Iterable[str]] | None = None,
    ) -> PageEvidence:
        """Read the pages of a crawl, in crawl order, which have no *rotating* text any more.

        *links_of* reads the links of the page of a URL (:func:`dedup_crawler.labels.links.stored_links`), which is not
        asked about pages whose text could not be read.
        """
        digests = PageDigests(pages)
        if links_of is None:
            return cls(digests, rotating=rotating)
        urls = [page.url if page.main_text else "" for page in pages]
        return cls(digests, rotating=rotating, links_of=lambda place: links_of(urls[place]) if urls[place] else ())

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

    def judge_by(self, habits: Habits, one: int, other: int) -> Verdict:
        """Compare two good answers of different times, given the systematic lines of the rules behind them.

        Training has not seen these rules change such lines, so small differences are silent: a few words (lists beside
        the text change), only numbers, only the order; and little common text of pages with different titles.
        """
        places = self._places[one], self._places[other]
        digests, site = self.digests, self.site
        page, beside = (digests.pages[place] for place in places)
        if not page.lines or not beside.lines:
            return Verdict.SILENT
        common = page.lines & beside.lines
        masked = digests.masked_lines(places[0]), digests.masked_lines(places[1])
        only, _ = self._only(page.lines - common, beside.lines - common)
        if len(only) > MAX_LEFT:
            return Verdict.DIFFERENT
        is_named = any(masked[side][line].has_name for side, line in only)
        stamps = _stamps([(side, line) for side, line in only if masked[side][line].is_stamp])
        rest = [each for each in only if each not in stamps and not self._is_shared(masked[each[0]][each[1]])]
        lines = self._lines(rest, *places)
        own = [line for line in common - site.frame if masked[0][line].digest not in site.masked_frame]
        n_own = sum(map(digests.n_written, own))
        ids = numbers_of(digests.urls[places[0]]) | numbers_of(digests.urls[places[1]])
        is_other = any(word in ids or word[0] == MEDIA for _, line in rest for word in digests.words(line))
        if told := [line for line in lines if not habits.excuse(line)]:
            verdict = _verdict_of(told, n_own)
            return Verdict.SILENT if verdict > 0 and is_other else verdict
        support = sum(digests.n_written(line) * self._rarity(line) for line in own)
        if support < MIN_COMMON or (not site.is_learnt and n_own < (MIN_NAMED if is_named else MIN_WORDS)):
            return Verdict.SILENT
        if sum(len(line.words) for line in lines) > MAX_EXCUSED * n_own:
            return Verdict.DIFFERENT
        if self._says_more(only, *places):
            return Verdict.SILENT
        if site.is_learnt:
            return Verdict.SAME  # training saw these rules change only order and titles
        orders = [[line for line in each.order if line in common] for each in (page, beside)]
        is_list = all(masked[side][line].has_name for side, line in only)
        is_moved = orders[0] != orders[1] and not (is_list and is_reordered(*orders))
        return Verdict.SILENT if is_moved or is_other else Verdict.SAME

    def _is_shared(self, line: MaskedLine) -> bool:
        return line.is_single and line.digest in self.site.masked_shared

    def habits(self, pairs: Iterable[tuple[int, int]]) -> Habits:
        """Learn the systematic lines of a rule from pairs of pages that it makes one; each pair is one group."""
        left = [each for each in self._all_left(pairs) if each != Verdict.DIFFERENT]
        n_same = sum(not isinstance(each, _Left) for each in left)
        close = [
            (number, each.all) for number, each in enumerate(left) if isinstance(each, _Left) and not each.says_more
        ]
        return HabitCounts(close, n_same).habits()

    def _all_left(self, pairs: Iterable[tuple[int, int]]) -> list[_Left | Verdict]:
        found = []
        for one, other in pairs:
            pair = self._places[one], self._places[other]
            left = self._pairs.get(pair)
            if left is None:
                if len(self._pairs) >= _MAX_PAIRS:
                    self._pairs.clear()
                left = self._pairs[pair] = self._left(*pair)
            found.append(left)
        return found

    def _left(self, one: int, other: int) -> _Left | Verdict:
        digests = self.digests
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
        frame = self._frame_of_time(here) | self._frame_of_time(there)
        only, shared = self._only(page.lines - common - frame, beside.lines - common - frame)
        if len(only) > MAX_LEFT:
            return Verdict.DIFFERENT
        lines = self._lines(only, one, other)
        if _n_new(lines) > MAX_NEW:
            return Verdict.DIFFERENT
        if not lines and page.title != beside.title:
            return Verdict.SILENT  # two empty lists, say, that differ in their names alone
        own = common - self.site.frame
        return _Left(
            lines,
            self._lines(shared, one, other) if shared else (),
            self._is_named(only, one, other),
            self._says_more(only, one, other),
            digests.n_words(own),
            sum(len(digests.words(line)) * self._rarity(line) for line in own),
        )

    def _frame_of_time(self, place: int) -> frozenset[int]:
        """Return the lines on nearly all pages fetched just before a page, or on nearly all just after it.

        The two sides are separate, because such a line may appear or disappear with this page.
        """
        found = self._frames.get(place)
        if found is None:
            pages = self.digests.pages
            before = frame_of_time(pages[place - 1 - n] for n in range(min(N_BESIDE, place)))
            after = frame_of_time(pages[n] for n in range(place + 1, min(place + 1 + N_BESIDE, len(pages))))
            found = before | after
            found = self._frames[place] = self._equal_frames.setdefault(found, found)
        return found

    def _only(self, here: frozenset[int], there: frozenset[int]) -> tuple[Sides, Sides]:
        """Return the lines of only one page: those that may be a difference, and a few that many pages have."""
        sides = [(0, line) for line in here] + [(1, line) for line in there]
        only = [(side, line) for side, line in sides if line not in self.site.frame]
        shared = [(side, line) for side, line in only if line in self.site.shared]
        if len(only) > MAX_LEFT or len(shared) > MAX_SHARED:
            return only, []
        if len(sides) - len(only) + len(shared) <= MAX_SHARED:
            shared += [(side, line) for side, line in sides if line in self.site.frame]
        return [(side, line) for side, line in only if line not in self.site.shared], shared

    def _lines(self, only: Sequence[tuple[int, int]], one: int, other: int) -> list[Line]:
        """Return the lines (side and hash) that differ by more than the values in which the two URLs differ."""
        values = self._values_of(one), self._values_of(other)
        masked = sorted(values[0] ^ values[1], key=len, reverse=True)
        starts = {value[0] for value in masked if value}
        of_line = [(side, self.digests.words(line)) for side, line in only]
        rest = _without_equal(
            [(side, words if starts.isdisjoint(words) else masked_values(words, masked)) for side, words in of_line]
        )
        if not rest:
            return []
        words_of = [self._words_of(self.digests.content(place)) for place in (one, other)]
        said = {VALUE}.union(*values[0], *values[1])
        return [Line(side, words, self._is_new(words, said, words_of[1 - side])) for side, words in rest]

    def _is_named(self, only: Sequence[tuple[int, int]], one: int, other: int) -> bool:
        """Return True if each page prints a value in which the two URLs differ, in the lines that *only* it has."""
        values = self._values_of(one), self._values_of(other)
        of_line = [(side, self.digests.words(line)) for side, line in only]
        # the words of a line have no dates
        if self._times_of(one) != self._times_of(other) and len(_without_equal(of_line)) < len(of_line):
            return True
        sides = ([words for its, words in of_line if its == side] for side in (0, 1))
        return all(_is_printed(values[side] - values[1 - side], lines) for side, lines in enumerate(sides))

    def _says_more(self, only: Sequence[tuple[int, int]], one: int, other: int) -> bool:
        """Return True if an *only* line of a page prints the value of a query name that the other URL lacks."""
        names = [query_values(self.digests.urls[place]) for place in (one, other)]
        for side, values in enumerate((self._values_of(one), self._values_of(other))):
            added = {names[side][name] for name in names[side].keys() - names[1 - side].keys()}
            lines = (self.digests.words(line) for its, line in only if its == side)
            if added and _is_printed(added & values - self._values_of((other, one)[side]), lines):
                return True
        return False

    def _is_new(self, words: Words, said: Set[str], beside: Set[str]) -> bool:
        """Return True if a word is neither known on the site nor *said* by the URLs nor on the page *beside*."""
        unknown = self._unknown.get(words)
        if unknown is None:
            if len(self._unknown) >= _MAX_LINES:
                self._unknown.clear()
            unknown = self._unknown[words] = frozenset(words).difference(self.site.known)
        return bool(unknown) and any(word not in said and word not in beside for word in unknown)

    def _words_of(self, place: int) -> frozenset[str]:
        found = self._page_words.get(place)
        if found is None:
            if len(self._page_words) >= _MAX_PAGE_WORDS:
                self._page_words.clear()
            words = map(self.digests.words, self.digests.pages[place].lines)
            found = self._page_words[place] = frozenset().union(*words)
        return found

    def _rarity(self, line: int) -> float:
        # both titles differ, and do not count
        n = max(1, self.site.n_of_line[line] - 1)
        return math.log(max(self.site.n_titles, 1) / n)

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

    def _times_of(self, place: int) -> list[str]:
        return times_of(unquote_plus(self.digests.urls[place]))

    def _values_of(self, place: int) -> frozenset[Words]:
        found = self._values.get(place)
        if found is None:
            found = self._values[place] = frozenset(url_values(self.digests.urls[place]))
        return found


def _stamps(found: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return lines with a name and a time that are the only one on their side; several would be list entries."""
    n_of = Counter(side for side, _ in found)
    return {(side, line) for side, line in found if n_of[side] == 1}


def _verdict_of(told: Sequence[Line], n_own: int) -> Verdict:
    """Return the verdict on two pages of different times with *n_own* common words, by their different lines."""
    n_told = sum(len(line.words) for line in told)
    sides = [[line.words for line in told if line.side == side] for side in (0, 1)]
    is_near = n_own >= MIN_NEAR_WORDS
    is_paired = is_near and len(sides[0]) == len(sides[1])
    if is_paired and len(sides[0]) <= MAX_CHANGED_LINES and n_told <= MAX_CHANGED_SHARE * n_own:
        return Verdict.SAME
    if is_near and all(
        len(line.words) == 1 and line.words[0].isdecimal() and len(line.words[0]) < MAX_DIGITS for line in told
    ):
        return Verdict.SAME if is_paired and _are_counters(*sides) else Verdict.SILENT
    return Verdict.SILENT if n_told <= MAX_DRIFT * n_own else Verdict.DIFFERENT


def _are_counters(here: Sequence[Words], there: Sequence[Words]) -> bool:
    """Return True if all numbers grew a little, or all fell, as view counts do in a list of topics."""
    starts, ends = (sorted(int(words[0]) for words in side) for side in (here, there))
    steps = [(start, end - start) for start, end in zip(starts, ends, strict=True)]
    is_one_way = all(step > 0 for _, step in steps) or all(step < 0 for _, step in steps)
    return is_one_way and all(abs(step) <= max(MAX_STEP, MAX_GROWTH * start) for start, step in steps)


def _is_printed(values: Set[Words], lines: Iterable[Words]) -> bool:
    """Return True if a line contains one of some values."""
    starts = {value[0] for value in values if value}
    return any(masked_values(words, [*values]) != words for words in lines if not starts.isdisjoint(words))


def _n_new(lines: Iterable[Line]) -> int:
    return sum(line.is_new for line in lines)


def _without_equal(lines: Sequence[tuple[int, Words]]) -> list[tuple[int, Words]]:
    """Return the lines of both sides without empty lines and without lines that both sides have."""
    sides = [[words for side, words in lines if not side], [words for side, words in lines if side]]
    here, there = set(sides[0]), set(sides[1])
    if len(here) + len(there) < len(lines) or not here.isdisjoint(there):  # seldom
        counts = Counter(sides[0]), Counter(sides[1])
        sides = [list((counts[side] - counts[1 - side]).elements()) for side in (0, 1)]
    return [(side, words) for side in (0, 1) for words in sides[side] if words]
