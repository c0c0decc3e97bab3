"""Whether pairs of pages that one rule would make one show the same.

Of two pages is left out what they have in common, the frame of the site, and what differs as the two addresses do.
A line that is left may still be *systematic* for the rule: the same kind of line is left in a large share of its merge
groups ("Leave a reply to Anna"), and it says nothing that is not known from elsewhere. Pages with any other line left
are different; pages that have nothing of their own in common are silent.
"""

from __future__ import annotations

import copy
import enum
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import unquote_plus

from dedup_crawler.evidence.alike import alike_pages
from dedup_crawler.evidence.digests import PageDigests, Words, words_of
from dedup_crawler.pages.records import LabelledPage

FRAME_SHARE = 0.08
"""A line on pages of this share (0-1) of the titles is the site's frame."""
KNOWN_SHARE = 0.02
"""A word on pages of this share of the titles is known."""
SYSTEMATIC_SHARE = 0.25
"""A kind of line that is left in this share of a rule's groups ..."""
SYSTEMATIC_GROUPS = 4
"""... and in so many is systematic."""
NEW_SHARE = 0.6
"""One that says new words has to be left in this share of the groups ..."""
NEW_GROUPS = 8
"""... and in so many ..."""
MAX_NEW = 3
"""... and of such lines a pair may have so many."""
SHARED_TITLES = 10
"""A line on pages of so many other titles ..."""
SHARED_SHARE = 0.01
"""... and of this share of them says nothing of its own ..."""
MAX_SHARED = 3
"""... if a pair has so many of them at most."""
MAX_LEFT = 60
"""Lines of a pair that is looked at closely; with more left the pages are different."""
MIN_COMMON = 15.0
"""What two pages have in common and other pages have not: words times the logarithm of how rare their line is."""
MAX_EXCUSED = 1.0
"""Words of excused lines, as a share of those that the pages have in common and that are no frame, at most."""

_VALUE, _ANY = "\0", "*"
_MAX_PAGE_WORDS = 1_000  # pages whose words are remembered
_Kind = tuple[int, int, Words]  # side of the pair, begin or end of the line, words
_END = 2  # words of a line that tell its kind


class Verdict(enum.IntEnum):
    """What two pages say of a rule."""

    SILENT = -1
    DIFFERENT = 0
    SAME = 1


class _Line(NamedTuple):
    """A line that only one of two pages has."""

    side: int
    """0 or 1."""
    words: Words
    """With one sign for a value in which the two addresses differ."""
    is_new: bool
    """Whether it says a word that neither the other page nor the address nor the site says."""


@dataclass(frozen=True, slots=True)
class _Left:
    """What is left of a pair."""

    group: int
    lines: Sequence[_Line]
    n_common: int
    """Words in common that are no frame."""
    support: float


class PageEvidence:
    """Compares pages of one crawl."""

    def __init__(self, digests: PageDigests) -> None:
        self.digests = digests
        """Of all pages of the crawl."""
        least = max(FRAME_SHARE * digests.n_titles, 2)
        self._frame = frozenset(line for line, n in digests.n_of_line.items() if n >= least)
        least = max(SHARED_SHARE * digests.n_titles, SHARED_TITLES)
        self._shared = frozenset(line for line, n in digests.n_of_line.items() if n >= least)
        least = max(KNOWN_SHARE * digests.n_titles, 2)
        self._known = frozenset(word for word, n in digests.n_of_word.items() if n >= least)
        self._places: Sequence[int] = range(len(digests.pages))
        self._values: dict[int, frozenset[Words]] = {}
        self._page_words: dict[int, frozenset[str]] = {}

    @classmethod
    def of_pages(cls, pages: Iterable[LabelledPage]) -> PageEvidence:
        """Read the pages of a crawl, in its order."""
        return cls(PageDigests(pages))

    def of(self, places: Sequence[int]) -> PageEvidence:
        """The same for some of the pages, each by its place among them."""
        some = copy.copy(self)
        some._places = [self._places[place] for place in places]
        return some

    def alike(self, clusters: Sequence[int]) -> list[int]:
        """Pages that may well show the same, for rules to be proposed: a number for each page, given its cluster."""
        return alike_pages(self.digests, self._places, self._frame, clusters)

    def judge(self, pairs: Iterable[tuple[int, int]], groups: Iterable[int], n_same: int) -> list[Verdict]:
        """Compare pairs of pages (by their places in the crawl), each of one merge group of a rule.

        *n_same* groups of the rule more are known to show one page each.
        """
        left: list[_Left | Verdict] = [
            self._left(self._places[one], self._places[other], group)
            for (one, other), group in zip(pairs, groups, strict=True)
        ]
        close = [each for each in left if isinstance(each, _Left)]
        habits = _Habits(close, n_same)
        return [self._verdict(each, habits) if isinstance(each, _Left) else each for each in left]

    def _left(self, one: int, other: int, group: int) -> _Left | Verdict:
        digests = self.digests
        here, there = digests.content(one), digests.content(other)
        if here < 0 or there < 0:
            return Verdict.SILENT
        if here == there:
            return Verdict.SAME
        page, beside = digests.pages[here], digests.pages[there]
        if page.status != beside.status or not page.lines or not beside.lines or not page.title or not beside.title:
            return Verdict.DIFFERENT
        common = page.lines & beside.lines
        only = [(0, line) for line in page.lines - common - self._frame]
        only += [(1, line) for line in beside.lines - common - self._frame]
        if len(only) > MAX_LEFT:
            return Verdict.DIFFERENT
        shared = [line for _, line in only if line in self._shared]
        if len(shared) <= MAX_SHARED:
            only = [(side, line) for side, line in only if line not in self._shared]
        lines = self._lines(only, one, other)
        if sum(line.is_new for line in lines) > MAX_NEW:
            return Verdict.DIFFERENT
        own = common - self._frame
        return _Left(
            group,
            lines,
            sum(len(digests.words(line)) for line in own),
            sum(len(digests.words(line)) * self._rarity(line) for line in own),
        )

    def _lines(self, only: Sequence[tuple[int, int]], one: int, other: int) -> list[_Line]:
        """The lines (side and number) that are not equal but for the values in which the addresses differ."""
        values = self._values_of(one), self._values_of(other)
        masked = sorted({*values[0]} ^ {*values[1]}, key=len, reverse=True)
        rest = _without_equal([(side, _masked(self.digests.words(line), masked)) for side, line in only])
        if not rest:
            return []
        words_of = [self._words_of(self.digests.content(place)) for place in (one, other)]
        said = self._known.union({_VALUE}, *values[0], *values[1])
        return [
            _Line(side, words, any(word not in said and word not in words_of[1 - side] for word in words))
            for side, words in rest
        ]

    def _words_of(self, place: int) -> frozenset[str]:
        found = self._page_words.get(place)
        if found is None:
            if len(self._page_words) >= _MAX_PAGE_WORDS:
                self._page_words.clear()
            words = map(self.digests.words, self.digests.pages[place].lines)
            found = self._page_words[place] = frozenset().union(*words)
        return found

    def _rarity(self, line: int) -> float:
        # the two pages have titles of their own, which do not count
        n = max(1, self.digests.n_of_line[line] - 1)
        return math.log(self.digests.n_titles / n)

    def _verdict(self, left: _Left, habits: _Habits) -> Verdict:
        if not all(map(habits.excuse, left.lines)):
            return Verdict.DIFFERENT
        if left.support < MIN_COMMON:
            return Verdict.SILENT
        n_excused = sum(len(line.words) for line in left.lines)
        return Verdict.SAME if n_excused <= MAX_EXCUSED * left.n_common else Verdict.DIFFERENT

    def _values_of(self, place: int) -> frozenset[Words]:
        found = self._values.get(place)
        if found is None:
            found = self._values[place] = _url_values(self.digests.urls[place])
        return found


class _Habits:
    """Kinds of lines that are left in many groups of one rule."""

    def __init__(self, left: Sequence[_Left], n_same: int) -> None:
        words_in: dict[int, set[str]] = defaultdict(set)
        for each in left:
            words_in[each.group].update(*(line.words for line in each.lines))
        n_groups = n_same + len({each.group for each in left})
        self._least = max(SYSTEMATIC_GROUPS, SYSTEMATIC_SHARE * n_groups)
        self._least_new = max(NEW_GROUPS, NEW_SHARE * n_groups)
        n_of_word = Counter(word for words in words_in.values() for word in words)
        self._usual = frozenset(word for word, n in n_of_word.items() if n >= self._least)
        kinds_in: dict[int, set[_Kind]] = defaultdict(set)
        for each in left:
            kinds_in[each.group].update(kind for line in each.lines for kind in self._kinds(line))
        self._n_of_kind = Counter(kind for kinds in kinds_in.values() for kind in kinds)

    def excuse(self, line: _Line) -> bool:
        """Tell whether a line of this kind is left so often that it says nothing of the two pages."""
        n_groups = max((self._n_of_kind[kind] for kind in self._kinds(line)), default=0)
        return n_groups >= (self._least_new if line.is_new else self._least)

    def _kinds(self, line: _Line) -> Iterator[_Kind]:
        """How a line begins and how it ends, where a word that many groups have is there.

        What is between may be anything: "Revision as of", a date, "by", a name, what the name said.
        """
        for place, end in enumerate((line.words[:_END], line.words[-_END:])):
            said = tuple([word if word in self._usual else _ANY for word in end])
            if said.count(_ANY) < len(said):
                yield line.side, place, said


def _without_equal(lines: Sequence[tuple[int, Words]]) -> list[tuple[int, Words]]:
    """Lines of both sides without those that the other side has as well, and without empty ones."""
    sides = Counter(words for side, words in lines if not side), Counter(words for side, words in lines if side)
    rest = sides[0] - sides[1], sides[1] - sides[0]
    return [(side, words) for side in (0, 1) for words in rest[side].elements() if words]


def _masked(words: Words, values: Sequence[Words]) -> Words:
    for value in values:
        n = len(value)
        if not n or value[0] not in words:
            continue
        found: list[str] = []
        place = 0
        while place < len(words):
            if words[place : place + n] == value:
                found.append(_VALUE)
                place += n
            else:
                found.append(words[place])
                place += 1
        words = tuple(found)
    return words


def _url_values(url: str) -> frozenset[Words]:
    """What stands in the parts of a path and in the values of a query, as words."""
    behind = url.partition("://")[2]
    path, _, query = behind[behind.find("/") :].partition("?")
    parts = [*path.split("/"), *(part.partition("=")[2] for part in query.split("&"))]
    return frozenset(filter(None, (words_of(unquote_plus(part)) for part in parts)))
