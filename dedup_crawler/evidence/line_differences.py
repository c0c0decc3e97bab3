"""Lines that only one of two pages has, beyond the frame of the site and the values in which the two URLs differ."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from urllib.parse import unquote_plus

from dedup_crawler.evidence.digests import VALUE, PageDigests, masked_values, query_values, url_values
from dedup_crawler.evidence.site_text import Line, SiteText, Words
from dedup_crawler.labels.lines import times_of

MAX_SHARED = 3
"""Up to this number of lines in a pair that many pages of the site have are ignored."""
MAX_LEFT = 60
"""A pair with more remaining lines is different."""
_N_REMEMBERED = 100  # pages whose words are remembered

Sides = list[tuple[int, int]]
"""Side (0 or 1) and hash of lines that only one of two pages has."""


class LineDifferences:
    """Reads the differences of pairs of pages of one crawl, which are given by their places in the crawl."""

    def __init__(self, digests: PageDigests, site: SiteText) -> None:
        self.digests = digests
        self.site = site
        self._values_of = functools.cache(lambda place: frozenset(url_values(digests.urls[place])))
        self._words_on = functools.lru_cache(_N_REMEMBERED)(
            lambda place: frozenset().union(*map(digests.words, digests.pages[digests.content(place)].lines))
        )

    def only(self, here: frozenset[int], there: frozenset[int]) -> tuple[Sides, Sides]:
        """Return the lines of only one page: those that may be a difference, and a few that many pages have."""
        sides = [(0, line) for line in here] + [(1, line) for line in there]
        only = [(side, line) for side, line in sides if line not in self.site.frame]
        shared = [(side, line) for side, line in only if line in self.site.shared]
        if len(only) > MAX_LEFT or len(shared) > MAX_SHARED:
            return only, []
        if len(sides) - len(only) + len(shared) <= MAX_SHARED:
            shared += [(side, line) for side, line in sides if line in self.site.frame]
        return [(side, line) for side, line in only if line not in self.site.shared], shared

    def lines(self, only: Sequence[tuple[int, int]], one: int, other: int) -> list[Line]:
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
        said = {VALUE}.union(*values[0], *values[1])
        unknown = [{*words} - self.site.known - said for _, words in rest]
        return [
            Line(side, words, is_new=bool(new) and not new <= self._words_on((other, one)[side]))
            for (side, words), new in zip(rest, unknown, strict=True)
        ]

    def is_named(self, here: frozenset[int], there: frozenset[int], one: int, other: int) -> bool:
        """Return True if each page prints a word that only its own URL has, in the lines that only it has.

        A product prints "white" and the next one "black", and a file the first digits of its revision. Such lines count
        even if very many pages have them.
        """
        values = self._values_of(one), self._values_of(other)
        of_line = [(side, self.digests.words(line)) for side, lines in enumerate((here, there)) for line in lines]
        times = [times_of(unquote_plus(self.digests.urls[place])) for place in (one, other)]
        # the words of a line have no dates
        if times[0] != times[1] and len(_without_equal(of_line)) < len(of_line):
            return True
        in_url = [frozenset().union(*its) for its in values]
        printed = [frozenset().union(*(words for its, words in of_line if its == side)) for side in (0, 1)]
        return all(not printed[side].isdisjoint(in_url[side] - in_url[1 - side]) for side in (0, 1))

    def says_more(self, only: Sequence[tuple[int, int]], one: int, other: int) -> bool:
        """Return True if an *only* line of a page prints the value of a query name that the other URL lacks."""
        names = [query_values(self.digests.urls[place]) for place in (one, other)]
        for side, values in enumerate((self._values_of(one), self._values_of(other))):
            added = {names[side][name] for name in names[side].keys() - names[1 - side].keys()}
            lines = (self.digests.words(line) for its, line in only if its == side)
            if added and _is_printed(added & values - self._values_of((other, one)[side]), lines):
                return True
        return False

    def support(self, lines: Iterable[int]) -> float:
        """Return how much some lines that both pages have say: the number of words of each, times its rarity."""
        n_titles, n_of_line = max(self.site.n_titles, 1), self.site.n_of_line
        # rarity: the logarithm of the share of titles with the line, negated; one of the two titles does not count
        return sum(self.digests.n_written(line) * math.log(n_titles / max(1, n_of_line[line] - 1)) for line in lines)


def _is_printed(values: Set[Words], lines: Iterable[Words]) -> bool:
    """Return True if a line contains one of some values."""
    starts = {value[0] for value in values if value}
    return any(masked_values(words, [*values]) != words for words in lines if not starts.isdisjoint(words))


def _without_equal(lines: Sequence[tuple[int, Words]]) -> list[tuple[int, Words]]:
    """Return the lines of both sides without empty lines and without lines that both sides have."""
    sides = [[words for side, words in lines if not side], [words for side, words in lines if side]]
    here, there = set(sides[0]), set(sides[1])
    if len(here) + len(there) < len(lines) or not here.isdisjoint(there):  # seldom
        counts = Counter(sides[0]), Counter(sides[1])
        sides = [list((counts[side] - counts[1 - side]).elements()) for side in (0, 1)]
    return [(side, words) for side in (0, 1) for words in sides[side] if words]
