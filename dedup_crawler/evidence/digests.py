"""Pages as sets of hashed lines, how much of the site says each line and each word, and pages that are much alike.

The hash of a line is the same in every crawl; the second line of a page with one text has another than the first.
Frequencies are counted by different titles, not by pages: a page of 300 addresses must not make its own lines part of
the site's frame.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dedup_crawler.evidence.habits import Words
from dedup_crawler.labels.joins import DisjointSets
from dedup_crawler.labels.lines import digest, lines_of, masked_times
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.urls.normal import normal_form

TITLE = "\1"
"""Stands before the title, which is often a heading too."""
MAX_LINES = 4_000
"""A page with more lines is compared by its address only."""
_MAX_REDIRECTS = 10
_WORD = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True, slots=True)
class PageDigest:
    """The part of a page that is kept."""

    status: int
    title: str
    """Empty for a text file, or a page that was not read."""
    lines: frozenset[int]
    """Hashes of its lines, 64 bits; none where there is no text."""


class PageDigests:
    """The pages of a crawl, in its order."""

    def __init__(self, pages: Iterable[LabelledPage]) -> None:
        self.urls: list[str] = []
        """URLs of the pages in normal form."""
        self.pages: list[PageDigest] = []
        self._words: dict[int, Words] = {}
        of_title: dict[str, list[int]] = defaultdict(list)
        targets: list[str | None] = []
        for place, page in enumerate(pages):
            lines = lines_of(page)
            lines = [TITLE + page.title, *lines] if lines and len(lines) <= MAX_LINES else []
            self.urls.append(normal_form(page.url))
            self.pages.append(PageDigest(page.status, page.title, self._hashed(lines)))
            targets.append(page.redirect_to and normal_form(page.redirect_to))
            of_title[page.title or f"{TITLE}{place}"].append(place)
        self._content = _contents(self.urls, targets)
        self.n_titles = len(of_title)
        """Number of different titles; each page without a title counts as one."""
        self.n_of_line: Counter[int] = Counter()
        """Line -> number of different titles with it on their pages."""
        self.n_of_word: Counter[str] = Counter()
        """Word -> number of different titles with it on their pages."""
        for places in of_title.values():
            lines_of_title = frozenset().union(*(self.pages[place].lines for place in places))
            self.n_of_line.update(lines_of_title)
            self.n_of_word.update({word for line in lines_of_title for word in self._words[line]})

    def content(self, place: int) -> int:
        """Place of the page that a URL shows, where it redirects; negative if that was not crawled."""
        return self._content[place]

    def words(self, line: int) -> Words:
        """Words of a line in lower case, without dates and times."""
        return self._words[line]

    def _hashed(self, lines: Iterable[str]) -> frozenset[int]:
        met: Counter[str] = Counter()
        found = []
        for line in lines:
            met[line] += 1
            found.append(digest(f"{met[line]} {line}"))
            if found[-1] not in self._words:
                self._words[found[-1]] = words_of(masked_times(line))
        return frozenset(found)


def words_of(text: str) -> Words:
    """Words and numbers of a text in lower case; an underscore ends a word, for it is a space in many addresses.

    >>> words_of("Basic_semaphores, part2")
    ('basic', 'semaphores', 'part', '2')
    """
    return tuple(_WORD.findall(text.lower()))


def _contents(urls: Sequence[str], targets: Sequence[str | None]) -> list[int]:
    place_of: dict[str, int] = {}
    for place, url in enumerate(urls):
        place_of.setdefault(url, place)
    contents = []
    for start in range(len(urls)):
        place = start
        for _ in range(_MAX_REDIRECTS):
            target = targets[place] if place >= 0 else None
            if target is None:
                break
            place = place_of.get(target, -1)
        contents.append(place)
    return contents


MIN_SHARED = 0.7
"""Share (0-1) of the words of either page that have to stand in lines of both."""
_N_SAMPLED = 4
_MAX_TRIES = 20
_GOLDEN = 2_654_435_761  # of Knuth's multiplicative hash


def alike_pages(
    digests: PageDigests, places: Sequence[int], frame: frozenset[int], clusters: Sequence[int]
) -> list[int]:
    """Number of the set of each of the pages at *places*; those of one of the *clusters* stay together.

    What is alike may be proposed, it is never believed. Pages find each other by the lines of their own with the
    smallest hashes, which nearly equal pages share (A. Broder, "On the resemblance and containment of documents",
    1997), and are alike if they share most of their own words, line by line.
    """
    sets = DisjointSets(len(clusters))
    first: dict[int, int] = {}
    for place, cluster in enumerate(clusters):
        sets.join(first.setdefault(cluster, place), place)
    buckets: defaultdict[int, list[int]] = defaultdict(list)
    own_lines = {place: _own_lines(digests, places[place], frame) for place in first.values()}
    n_words = {place: _n_words(digests, own) for place, own in own_lines.items()}
    for place in sorted(own_lines):
        own = own_lines[place]
        sample = sorted(own, key=lambda line: line * _GOLDEN % 2**32)[:_N_SAMPLED]
        tried = dict.fromkeys(other for line in sample for other in buckets[line])
        for other in list(tried)[:_MAX_TRIES]:
            n_most = max(n_words[place], n_words[other])
            if n_most and _n_words(digests, own & own_lines[other]) >= MIN_SHARED * n_most:
                sets.join(other, place)
                break
        for line in sample:
            if len(buckets[line]) < _MAX_TRIES:
                buckets[line].append(place)
    return sets.numbers()


def _own_lines(digests: PageDigests, place: int, frame: frozenset[int]) -> frozenset[int]:
    content = digests.content(place)
    return digests.pages[content].lines - frame if content >= 0 else frozenset()


def _n_words(digests: PageDigests, lines: Iterable[int]) -> int:
    return sum(len(digests.words(line)) for line in lines)
