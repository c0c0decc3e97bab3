"""Habits of rules: kinds of lines that a rule always changes, such as "Leave a reply to Anna" in most merge groups.

Such a line is *systematic*: it is no evidence about two pages of one group. A kind is the first or last words of a
line, common to many groups. The rest may be anything: "Revision as of", a date, "by", a name.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from dedup_crawler.json_values import JsonValue

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
    """Side of the line: 0 or 1."""
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


def all_habits(habits: Iterable[Habits]) -> Habits:
    """Merge the habits of several rules."""
    each = list(habits)
    return Habits(frozenset().union(*(one.old for one in each)), frozenset().union(*(one.new for one in each)))


class HabitCounts:
    """Counts the kinds of remaining lines in the merge groups of one rule.

    *left* has the merge group and the remaining lines of each pair; *n_same* further groups have none.
    """

    def __init__(self, left: Sequence[tuple[int, Sequence[Line]]], n_same: int) -> None:
        words_in: dict[int, set[str]] = defaultdict(set)
        for group, lines in left:
            words_in[group].update(*(line.words for line in lines))
        n_groups = n_same + len(words_in)
        self._least = max(SYSTEMATIC_GROUPS, SYSTEMATIC_SHARE * n_groups)
        self._least_new = max(NEW_GROUPS, NEW_SHARE * n_groups)
        n_of_word = Counter(word for words in words_in.values() for word in words)
        self._usual = frozenset(word for word, n in n_of_word.items() if n >= self._least)
        kinds_in: dict[int, set[tuple[int, Kind]]] = defaultdict(set)
        for group, lines in left:
            kinds_in[group].update(kind for line in lines for kind in self._kinds(line))
        self._n_of_kind = Counter(kind for kinds in kinds_in.values() for kind in kinds)

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
        for place, end in enumerate(_ends(line.words)):
            said = tuple([word if word in self._usual else ANY for word in end])
            if said.count(ANY) < len(said):
                yield line.side, (place, said)


def _ends(words: Words) -> tuple[Words, Words]:
    return words[:_WORDS], words[-_WORDS:]


def _kind(value: JsonValue) -> Kind:
    said = value.values()
    if not 2 <= len(said) <= 1 + _WORDS:
        value.refuse(f"a place and 1 to {_WORDS} words")
    return said[0].count(_ENDS), tuple(each.text() for each in said[1:])
