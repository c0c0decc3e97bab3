"""Comparer of two fetches: a live crawl asks it whether a duplicate shows the page that it was taken for.

Learning compares pages of one crawl in the light of all merge groups of a rule (:mod:`.comparing`). Here there are two
answers of different times, and what training knows: the text of the site, and the systematic lines of the rules. If the
model has no site text, it is counted from the pages as they come (:class:`GrowingText`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dedup_crawler.evidence.comparing import MAX_EXCUSED, MIN_COMMON, Verdict
from dedup_crawler.evidence.digests import TITLE, MaskedLine, PageDigests, titles_name_pages
from dedup_crawler.evidence.line_differences import MAX_LEFT, LineDifferences
from dedup_crawler.evidence.site_text import FRAME_SHARE, Habits, Line, SiteText, Words, frequent_lines
from dedup_crawler.labels.lines import (
    MAX_CHANGED_LINES,
    MAX_CHANGED_SHARE,
    MEDIA,
    MIN_NEAR_WORDS,
    MIN_WORDS,
    is_reordered,
    lines_of,
    numbers_of,
)
from dedup_crawler.labels.meters import MeterCounts
from dedup_crawler.pages.records import LabelledPage

MAX_DRIFT = 0.1
"""Largest number of words in unexcused lines, as a share (0-1) of the common words, for two fetches of one page."""
MAX_STEP = 5
"""A counter differs between two fetches of one page by at most this number,"""
MAX_GROWTH = 0.05
"""or by this share (0-1) of its value."""
MAX_DIGITS = 16
MIN_NAMED = 25
"""Least number of common words of two fetches with different titles."""
MIN_PAGES = 20
"""With fewer pages the text is unknown."""
MAX_PAGES = 200
"""Number of latest pages that are counted; of pages with one title only the first, if titles name pages."""
MAX_CONTENTS = 1_000
"""Number of different first pages whose titles are counted."""
MASKED_PAGES = 4
"""A masked line on this many pages"""
MASKED_SHARE = 0.02
"""and on this share (0-1) of them is shared text."""
NAME_PAGES = 3
"""A masked line with the page's own name is shared if it is on this many pages."""


def compare_fetches(digests: PageDigests, site: SiteText, habits: Habits) -> Verdict:
    """Compare two good answers, whose *digests* these are, given the systematic lines of the rules behind them.

    Training has not seen these rules change such lines, so small differences are silent: a few words (lists beside
    the text change), only numbers, only the order; and little common text of pages with different titles.
    """
    differences = LineDifferences(digests, site)
    page, beside = digests.pages
    if not page.lines or not beside.lines:
        return Verdict.SILENT
    common = page.lines & beside.lines
    masked = digests.masked_lines(0), digests.masked_lines(1)
    only, _ = differences.only(page.lines - common, beside.lines - common)
    if len(only) > MAX_LEFT:
        return Verdict.DIFFERENT
    is_named = any(masked[side][line].has_name for side, line in only)
    n_stamps = Counter(side for side, line in only if masked[side][line].is_stamp)
    rest = [
        (side, line)
        for side, line in only
        # several stamps on one side would be entries of a list
        if not (masked[side][line].is_stamp and n_stamps[side] == 1)
        and not (masked[side][line].is_single and masked[side][line].digest in site.masked_shared)
    ]
    lines = differences.lines(rest, 0, 1)
    own = [line for line in common - site.frame if masked[0][line].digest not in site.masked_frame]
    n_own = sum(map(digests.n_written, own))
    ids = numbers_of(digests.urls[0]) | numbers_of(digests.urls[1])
    is_other = any(word in ids or word[0] == MEDIA for _, line in rest for word in digests.words(line))
    if told := [line for line in lines if not habits.excuse(line)]:
        verdict = _verdict_of(told, n_own)
        return Verdict.SILENT if verdict > 0 and is_other else verdict
    if differences.support(own) < MIN_COMMON or (not site.is_learnt and n_own < (MIN_NAMED if is_named else MIN_WORDS)):
        return Verdict.SILENT
    if sum(len(line.words) for line in lines) > MAX_EXCUSED * n_own:
        return Verdict.DIFFERENT
    if differences.says_more(only, 0, 1):
        return Verdict.SILENT
    if site.is_learnt:
        return Verdict.SAME  # training saw these rules change only order and titles
    orders = [[line for line in each.order if line in common] for each in (page, beside)]
    is_list = all(masked[side][line].has_name for side, line in only)
    is_moved = orders[0] != orders[1] and not (is_list and is_reordered(*orders))
    return Verdict.SILENT if is_moved or is_other else Verdict.SAME


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


class GrowingText:
    """Counts the lines of a site's latest pages, unmasked and masked."""

    def __init__(self) -> None:
        # title of each page, or hash of its content -> its lines, unmasked and masked; the oldest page comes first
        self._pages: dict[str | int, tuple[frozenset[int], frozenset[MaskedLine]]] = {}
        self._contents: set[int] = set()  # of the first pages, to know whether titles name pages
        self._n_of_title: Counter[str] = Counter()  # title -> number of these contents
        self._meters = MeterCounts()
        self._n_of_line: Counter[int] = Counter()
        self._n_of_masked: Counter[MaskedLine] = Counter()
        self._text: SiteText | None = None

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def is_known(self) -> bool:
        """Return True if enough pages were counted to know what they share."""
        return len(self) >= MIN_PAGES

    def see(self, page: LabelledPage) -> None:
        """Count a page, and forget the oldest one."""
        digests = PageDigests([page], frozenset())
        self._meters.see(page.url, page.title, lines_of(page))
        content = hash(digests.pages[0].order)
        title = page.title.lstrip(TITLE) or page.url
        if len(self._contents) < MAX_CONTENTS and content not in self._contents:
            self._contents.add(content)
            self._n_of_title[title] += 1
        is_name = title not in self._pages or titles_name_pages(self._n_of_title.values())
        key = title if is_name else content
        if key in self._pages:
            return
        masked = frozenset(line._replace(is_stamp=False) for line in digests.masked_lines(0).values() if line.is_single)
        self._pages[key] = digests.pages[0].lines, masked
        self._n_of_line.update(digests.pages[0].lines)
        self._n_of_masked.update(masked)
        self._text = None
        if len(self) > MAX_PAGES:
            lines, masked = self._pages.pop(next(iter(self._pages)))
            self._n_of_line = +(self._n_of_line - Counter(lines))
            self._n_of_masked = +(self._n_of_masked - Counter(masked))

    def text(self) -> SiteText:
        """Return the text counted so far."""
        if self._text is None:
            n = len(self)
            least = max(MASKED_PAGES, MASKED_SHARE * n)
            counts = self._n_of_masked.items()
            self._text = SiteText(
                n,
                self._n_of_line,
                *frequent_lines(self._n_of_line, n),
                known=frozenset(),
                is_learnt=False,
                masked_shared=frozenset(
                    line.digest for line, n_on in counts if n_on >= (NAME_PAGES if line.has_name else least)
                ),
                masked_frame=frozenset(line.digest for line, n_on in counts if n_on >= max(FRAME_SHARE * n, 2)),
                meters=self._meters.meters(),
            )
        return self._text
