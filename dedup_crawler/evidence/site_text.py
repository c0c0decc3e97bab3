"""Text that the pages of a site share, and that rules always change; a model stores both.

So a crawl compares pages as training does. The *frame* of the site is its menus and footers. The frame of a time has
what all pages fetched at one time show, such as the latest comments beside the text.

The *habits* of a rule are kinds of lines that it always changes, such as "Leave a reply to Anna" in most merge groups.
Such a line is *systematic*: it is no evidence about two pages of one group. A kind is the first or last words of a
line, common to many groups. The rest may be anything: "Revision as of", a date, "by", a name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, product
from typing import TYPE_CHECKING, Any, NamedTuple

from dedup_crawler.grouping import grouped
from dedup_crawler.json_values import JsonValue
from dedup_crawler.labels.lines import MEDIA
from dedup_crawler.pages.rotating import STEADY, Place, RotatingText

if TYPE_CHECKING:
    from dedup_crawler.evidence.digests import PageDigest, PageDigests  # not loaded by a crawl that compares nothing

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
N_BESIDE = 60
"""Number of pages before a page, and after it, that are searched for its time's frame."""
MIN_TITLES = 6
"""Least number of pages with other titles that show the frame of a time."""
MAX_TITLES = 8
"""Largest number of such pages that are used."""
FRAME_OF_TIME_SHARE = 0.75
"""A line on this share (0-1) of them belongs to the frame."""
SYSTEMATIC_SHARE = 0.25
"""Least share (0-1) of a rule's groups with a remaining line of a kind, for the kind to be systematic."""
SYSTEMATIC_GROUPS = 4
"""Least number of such groups."""
NEW_SHARE = 0.6
"""Least share (0-1) of the groups for a kind of line with new words."""
NEW_GROUPS = 8
"""Least number of groups for a kind of line with new words."""

Words = tuple[str, ...]

ANY = "*"
_WORDS = 2  # most words at the begin or end of a line
_BEGINS, _ENDS = 0, 1
_OLD, _NEW = "known words", "new words"

Kind = tuple[int, Words]
"""Position (begin or end of a line), and the words there."""


class Line(NamedTuple):
    """A line that only one of two pages has."""

    side: int
    """0 or 1."""
    words: Words
    """Words of the line, with a placeholder for each value in which the two URLs differ."""
    is_new: bool
    """True if it has a word that is neither on the other page nor in the URL nor known on the site."""


class Habits(NamedTuple):
    """The systematic lines of a rule, as stored in a model."""

    old: frozenset[Kind] = frozenset()
    """Kinds of lines without new words."""
    new: frozenset[Kind] = frozenset()
    """Kinds of lines with new words."""

    def excuse(self, line: Line) -> bool:
        """Return True if a line is systematic, and so no evidence."""
        kinds = self.new if line.is_new else self.old
        return any(
            (place, said) in kinds
            for place, end in enumerate(_ends(line.words))
            for said in product(*((word, ANY) for word in end))
        )

    def to_json(self) -> dict[str, Any]:
        """Return the habits as JSON values."""
        of_name = zip((_OLD, _NEW), self, strict=True)
        return {name: [[place, *said] for place, said in sorted(kinds)] for name, kinds in of_name}

    @classmethod
    def from_json(cls, value: JsonValue) -> Habits:
        """Read the result of :meth:`to_json`; BadInputError for anything else."""
        return cls(*(frozenset(map(_kind, value[name].values())) for name in (_OLD, _NEW)))


class HabitCounts:
    """Counts the kinds of remaining lines in the merge groups of one rule.

    *left* has the merge group and the remaining lines of each pair; *n_same* further groups have none.
    """

    def __init__(self, left: Sequence[tuple[int, Sequence[Line]]], n_same: int) -> None:
        n_groups = n_same + len({group for group, _ in left})
        self._least = max(SYSTEMATIC_GROUPS, SYSTEMATIC_SHARE * n_groups)
        self._least_new = max(NEW_GROUPS, NEW_SHARE * n_groups)
        groups = grouped((group, line) for group, lines in left for line in lines).values()
        n_of_word = Counter(word for lines in groups for word in {word for line in lines for word in line.words})
        self._usual = frozenset(word for word, n in n_of_word.items() if n >= self._least)
        kinds_in = ({kind for line in lines for kind in self._kinds(line)} for lines in groups)
        self._n_of_kind = Counter(chain.from_iterable(kinds_in))

    def excuse(self, line: Line) -> bool:
        """Return True if lines of this kind remain so often on this side that they are no evidence."""
        n_groups = max((self._n_of_kind[kind] for kind in self._kinds(line)), default=0)
        return n_groups >= (self._least_new if line.is_new else self._least)

    def habits(self) -> Habits:
        """Return the systematic kinds of either side."""
        counts = self._n_of_kind.items()
        return Habits(
            frozenset(kind for (_, kind), n in counts if n >= self._least),
            frozenset(kind for (_, kind), n in counts if n >= self._least_new),
        )

    def _kinds(self, line: Line) -> Iterator[tuple[int, Kind]]:
        is_exact = line.words[0].startswith(MEDIA)  # other pictures, or other data, show something else
        for place, end in enumerate(_ends(line.words)):
            said = tuple([word if word in self._usual else ANY for word in end])
            n_any = said.count(ANY)
            if n_any == 0 or (n_any < len(said) and not is_exact):
                yield line.side, (place, said)


def _ends(words: Words) -> tuple[Words, Words]:
    return words[:_WORDS], words[-_WORDS:]


def _kind(value: JsonValue) -> Kind:
    said = value.values()
    if not 2 <= len(said) <= 1 + _WORDS:
        value.refuse(f"a place and 1 to {_WORDS} words")
    return said[0].count(_ENDS), tuple(each.text() for each in said[1:])


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
    """Words that are known from other pages."""
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
        frequent = frequent_lines(digests.n_of_line, digests.n_titles)
        return cls(digests.n_titles, digests.n_of_line, *frequent, known, meters=digests.meters, rotating=rotating)

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
        known = [self.habits[rule] for rule in rules if rule in self.habits]
        return Habits(
            frozenset().union(*(each.old for each in known)), frozenset().union(*(each.new for each in known))
        )

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
        frequent = frequent_lines(n_of_line, n_titles)
        return cls(n_titles, n_of_line, *frequent, known, habits, meters=meters, rotating=rotating)


def frequent_lines(n_of_line: Counter[int], n_titles: int) -> tuple[frozenset[int], frozenset[int]]:
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


def frame_of_time(pages: Iterable[PageDigest], titles: Set[str] = frozenset()) -> frozenset[int]:
    """Return the lines that nearly all *pages* show; *pages* come nearest first.

    Of pages with one title only the first counts; pages with one of *titles* do not count.
    """
    met = set(titles)
    read: list[frozenset[int]] = []
    for page in pages:
        if len(read) == MAX_TITLES:
            break
        if page.lines and page.title and page.title not in met:
            met.add(page.title)
            read.append(page.lines)
    if len(read) < MIN_TITLES:
        return frozenset()
    least = FRAME_OF_TIME_SHARE * len(read)
    n_lacking = int(len(read) - least)  # a line of the frame is on one of any n_lacking + 1 pages: take short ones
    candidates = frozenset().union(*sorted(read, key=len)[: n_lacking + 1])
    n_of_line = Counter(chain.from_iterable([candidates & lines for lines in read]))
    return frozenset([line for line, n in n_of_line.items() if n >= least])
