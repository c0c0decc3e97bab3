"""Pages as sets of hashed lines, and how much of the site says each line and each word.

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
        """In normal form."""
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
        """Different ones; a page without is one of its own."""
        self.n_of_line: Counter[int] = Counter()
        """On pages of so many different titles each line stands ..."""
        self.n_of_word: Counter[str] = Counter()
        """... and each word."""
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
