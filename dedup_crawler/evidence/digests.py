"""Pages as sets of hashed lines, the site-wide frequency of lines and words, and groups of similar pages.

The hash of a line is the same in every crawl; a repeated line of a page gets another hash. Frequencies count different
titles, not pages: otherwise a page with 300 URLs would make its own lines part of the site's frame. On a site that has
one title for all pages, or one for each kind of page, they count different contents.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import unquote_plus

from dedup_crawler.evidence.site_text import FRAME_SHARE, Words
from dedup_crawler.grouping import grouped
from dedup_crawler.labels.joins import DisjointSets
from dedup_crawler.labels.lines import digest, lines_of, masked_clock, n_words, without_count
from dedup_crawler.labels.meters import MeterCounts, meter_shapes
from dedup_crawler.pages.records import LabelledPage
from dedup_crawler.urls.normal import normal_form

TITLE = "\1"
"""Prefix of the title, to tell it from an equal heading."""
MIN_TITLES = 2 / FRAME_SHARE
"""Least number of equally frequent titles that name pages. With fewer, one title alone may be part of the frame."""
MAX_LINES = 4_000
"""A page with more lines is compared by its URL only."""
VALUE = "\0"
"""Placeholder for a value of the URL."""
_MAX_REDIRECTS = 10
_WORD = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True, slots=True)
class PageDigest:
    """The kept data of a page."""

    status: int
    title: str
    """Title; empty for a text file or an unread page."""
    order: tuple[int, ...]
    """64-bit hashes of the lines, in order, each once; empty without text."""
    lines: frozenset[int]
    """The same hashes as a set."""


class _LineText(NamedTuple):
    digest: int
    words: Words
    n_written: int
    """Number of words as written, with dates."""
    is_timed: bool
    """True if it contains a date or a time of day."""


class MaskedLine(NamedTuple):
    """A line with the values of its page's URL masked."""

    digest: int
    has_name: bool
    """True if a value is masked."""
    is_stamp: bool
    """True if it also has a time: "wiki/start.txt, last modified 2026/11/19 06:30"."""
    is_single: bool
    """True if it is no list entry: no other line of the page is alike, or it has a masked value."""


class PageDigests:
    """The pages of a crawl, in crawl order."""

    def __init__(self, pages: Iterable[LabelledPage], meters: Set[int] | None = None) -> None:
        self.urls: list[str] = []
        """URLs of the pages in normal form."""
        self.pages: list[PageDigest] = []
        self._lines: dict[int, _LineText] = {}
        of_title: defaultdict[object, list[int]] = defaultdict(list)
        targets: list[str | None] = []
        counts = MeterCounts()
        contents: dict[tuple[int, ...], tuple[tuple[int, ...], frozenset[int]]] = {}  # equal contents are one object
        shapes_of: list[dict[int, int]] = []  # of each page: line -> its shape as a meter line
        for place, page in enumerate(pages):
            texts = lines_of(page)
            shapes: dict[str, int] = {}
            if page.title and texts:
                shapes = counts.see(page.url, page.title, texts) if meters is None else meter_shapes(texts)
            lines = [TITLE + page.title, *texts] if texts and len(texts) <= MAX_LINES else []
            self.urls.append(normal_form(page.url))
            order = self._hashed(lines)
            shapes_of.append({line: shapes[text] for text, line in zip(lines, order, strict=True) if text in shapes})
            if order not in contents:
                contents[order] = order, frozenset(order)
            self.pages.append(PageDigest(page.status, page.title, *contents[order]))
            targets.append(page.redirect_to and normal_form(page.redirect_to))
            of_title[page.title or f"{TITLE}{place}"].append(place)
        self.meters = counts.meters() if meters is None else meters
        """Shapes of the meter lines, which are left out."""
        for place, its in enumerate(shapes_of) if self.meters else ():
            if gone := {line for line, shape in its.items() if shape in self.meters}:
                order = tuple(line for line in self.pages[place].order if line not in gone)
                self.pages[place] = replace(self.pages[place], order=order, lines=frozenset(order))
        self._n_words = {line: len(text.words) for line, text in self._lines.items()}
        self._content = _contents(self.urls, targets)
        groups = [*of_title.values()]
        titled = [places for places in groups if self.pages[places[0]].title]
        if not titles_name_pages(len({self.pages[place].order for place in places} - {()}) for places in titled):
            groups = self._alike()
        self.n_titles = len(groups)
        """Number of different titles, or contents; each page without a title counts as one."""
        self.n_of_line: Counter[int] = Counter()
        """Line -> number of different titles, or contents, with it on their pages."""
        self.n_of_word: Counter[str] = Counter()
        """Word -> number of different titles, or contents, with it on their pages."""
        for places in groups:
            lines_of_group = frozenset().union(*(self.pages[place].lines for place in places))
            self.n_of_line.update(lines_of_group)
            self.n_of_word.update({word for line in lines_of_group for word in self._lines[line].words})

    def _alike(self) -> list[list[int]]:
        """Group pages with nearly the same lines, not counting lines that very many contents have."""
        contents = {page.order: page.lines for page in self.pages}
        n_of_line = Counter(line for lines in contents.values() for line in lines)
        frame = frozenset(line for line, n in n_of_line.items() if n >= max(FRAME_SHARE * len(contents), 2))
        first: dict[object, int] = {}
        clusters = [first.setdefault(page.order or place, place) for place, page in enumerate(self.pages)]
        alike = alike_pages(self, range(len(self.pages)), frame, clusters)
        return [*grouped((group, place) for place, group in enumerate(alike)).values()]

    def content(self, place: int) -> int:
        """Return the place of the page that a URL shows, after redirects; negative if it was not crawled."""
        return self._content[place]

    def words(self, line: int) -> Words:
        """Return the words of a line in lower case, without dates, times, durations and a final count "(12)"."""
        return self._lines[line].words

    def n_words(self, lines: Iterable[int]) -> int:
        """Return the total number of words of some lines."""
        return sum(map(self._n_words.__getitem__, lines))

    def n_written(self, line: int) -> int:
        """Return the number of words of a line as written, with its dates."""
        return self._lines[line].n_written

    def masked_lines(self, place: int) -> dict[int, MaskedLine]:
        """Return each line of a page, masked."""
        names = sorted((v for v in url_values(self.urls[place]) if len("".join(v)) > 1), key=lambda v: (-len(v), v))
        words_of_line = {line: masked_values(self._lines[line].words, names) for line in self.pages[place].order}
        n_of = Counter(words_of_line.values())
        found = {}
        for line, words in words_of_line.items():
            has_name = VALUE in words
            is_single = has_name or n_of[words] == 1
            is_stamp = has_name and self._lines[line].is_timed
            found[line] = MaskedLine(digest(" ".join(words)), has_name, is_stamp, is_single)
        return found

    def _hashed(self, lines: Iterable[str]) -> tuple[int, ...]:
        met: Counter[str] = Counter()
        found = []
        for line in lines:
            met[line] += 1
            hashed = digest(f"{met[line]} {line}")
            text = self._lines.get(hashed)
            if text is None:
                masked, is_timed = masked_clock(line)
                words = tuple(map(sys.intern, words_of(without_count(masked))))
                text = self._lines[hashed] = _LineText(hashed, words, n_words(line), is_timed)
            found.append(text.digest)  # one object for all pages
        return tuple(found)


def titles_name_pages(n_contents: Iterable[int]) -> bool:
    """Return False if the pages have but a few titles, given the number of different contents of each title.

    Rare titles beside frequent ones hardly count: what counts is the perplexity, the number of equally frequent titles
    with the same entropy.
    """
    numbers = [each for each in n_contents if each]
    n = sum(numbers)
    perplexity = math.exp(-sum(each / n * math.log(each / n) for each in numbers))
    return perplexity >= min(MIN_TITLES, n / 2)


def masked_values(words: Words, values: Sequence[Words]) -> Words:
    """Replace each of *values* in the words of a line by a placeholder; earlier values first."""
    for value in values:
        n = len(value)
        if not n or value[0] not in words:
            continue
        found: list[str] = []
        place = 0
        while place < len(words):
            if words[place : place + n] == value:
                found.append(VALUE)
                place += n
            else:
                found.append(words[place])
                place += 1
        words = tuple(found)
    return words


def url_values(url: str) -> set[Words]:
    """Return the words of the path, of its parts, and of the query values."""
    behind = url.partition("://")[2]
    path, _, query = behind[behind.find("/") :].partition("?")
    parts = [path, *path.split("/"), *(part.partition("=")[2] for part in query.split("&"))]
    return set(filter(None, (words_of(unquote_plus(part)) for part in parts)))


def query_values(url: str) -> dict[str, Words]:
    """Return the words of the query values, by their names; of a repeated name those of the last one."""
    parts = (part.partition("=") for part in url.partition("?")[2].split("&"))
    return {name: words_of(unquote_plus(value)) for name, _, value in parts}


def words_of(text: str) -> Words:
    """Return words and numbers of a text in lower case; an underscore ends a word, because URLs use it as a space.

    >>> words_of("Basic_semaphores, part2")
    ('basic', 'semaphores', 'part', '2')
    """
    return tuple(_WORD.findall(text.lower()))


def _contents(urls: Sequence[str], targets: Sequence[str | None]) -> list[int]:
    place_of = {url: place for place, url in reversed([*enumerate(urls)])}  # the first one of each URL
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
"""Share (0-1) of the words of either page that must be in common lines."""
_N_SAMPLED = 4
_MAX_TRIES = 20
_GOLDEN = 2_654_435_761  # factor of Knuth's multiplicative hash


def alike_pages(
    digests: PageDigests, places: Sequence[int], frame: frozenset[int], clusters: Sequence[int]
) -> list[int]:
    """Return a group number for each of the pages at *places*; pages of one cluster stay together.

    Groups only propose rules; they never confirm them. Candidates share the non-frame lines with the smallest hashes,
    as nearly equal pages do (A. Broder, "On the resemblance and containment of documents", 1997). They are alike if
    most words of their non-frame lines are in common lines.
    """
    sets = DisjointSets(len(clusters))
    first: dict[int, int] = {}
    for place, cluster in enumerate(clusters):
        sets.join(first.setdefault(cluster, place), place)
    buckets: defaultdict[int, list[int]] = defaultdict(list)
    contents = {place: digests.content(places[place]) for place in first.values()}
    own_lines = {
        place: digests.pages[content].lines - frame if content >= 0 else frozenset()
        for place, content in contents.items()
    }
    n_own = {place: digests.n_words(own) for place, own in own_lines.items()}
    for place in sorted(own_lines):
        own = own_lines[place]
        sample = sorted(own, key=lambda line: line * _GOLDEN % 2**32)[:_N_SAMPLED]
        tried = dict.fromkeys(other for line in sample for other in buckets[line])
        for other in list(tried)[:_MAX_TRIES]:
            n_most = max(n_own[place], n_own[other])
            if n_most and digests.n_words(own & own_lines[other]) >= MIN_SHARED * n_most:
                sets.join(other, place)
                break
        for line in sample:
            if len(buckets[line]) < _MAX_TRIES:
                buckets[line].append(place)
    return sets.numbers()
