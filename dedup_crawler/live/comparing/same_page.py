"""Comparison of two fetched pages without a model's knowledge of the site.

What all pages of the site share is left out (:mod:`~dedup_crawler.live.comparing.chrome`); what remains has to be the
same, line by line, or in another order (a list sorted otherwise), or but for a counter: the rules by which
:mod:`dedup_crawler.labels` joins pages. For want of text nothing is called the same.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from dedup_crawler.labels.lines import (
    MAX_CHANGED_LINES,
    MAX_CHANGED_SHARE,
    MIN_NEAR_WORDS,
    MIN_WORDS,
    WHEN,
    is_reordered,
    n_words,
)
from dedup_crawler.live.comparing.chrome import NAME, Chrome, shapes_of
from dedup_crawler.live.comparing.owner_pages import FetchedPage
from dedup_crawler.live.comparing.page_lines import Kind, PageLines, numbers_of, read_lines

MIN_BINARY = 100
"""Bytes; equal bodies with fewer (a transparent pixel) say too little."""
MIN_OWN_WORDS = 20
"""Words that two pages share and that are no chrome, where chrome has their names and these differ."""
MAX_STEP = 5
"""A counter of two fetches of one page differs by so much at most ..."""
MAX_GROWTH = 0.05
"""... or by this share (0-1) of it."""
MAX_DIGITS = 16


class _Page(NamedTuple):
    """The lines of a page, with an entry a line."""

    lines: tuple[str, ...]
    shapes: list[str]
    is_chrome: list[bool]
    is_own: list[bool]
    """True if it counts as content where both pages have it."""


class _Split(NamedTuple):
    """A page beside another."""

    common: list[str]
    """The lines that the other page has too, as often as it has them."""
    rest: list[tuple[str, str]]
    """The others that are no chrome, with their shapes."""
    names: list[str]
    """Shapes of the others that hold the page's name, chrome or not."""


def same_page(left: FetchedPage, right: FetchedPage, chrome: Chrome) -> bool | None:
    """Compare two good answers.

    Returns
    -------
    bool | None
        None where it cannot be told: an empty page, too little text of its own, a body that is longer than what is
        compared and the same as far as that goes, a site of which fewer than 20 pages were seen.
    """
    if not left.n_bytes or not right.n_bytes:
        return None
    one, other = read_lines(left), read_lines(right)
    is_equal = left.digest == right.digest and left.n_bytes == right.n_bytes
    if one.kind is not other.kind:
        return False
    if one.kind is Kind.BINARY:
        return (left.n_bytes >= MIN_BINARY or None) if is_equal else False
    if one.kind is Kind.TEXT:
        return _same_text(one.lines, other.lines, is_whole=is_equal or (one.is_whole and other.is_whole))
    if not chrome.is_known:
        return None
    numbers = numbers_of(left.url) | numbers_of(right.url)
    verdict = _same_content(_marked(left, one, chrome), _marked(right, other, chrome), numbers)
    return verdict if is_equal or not verdict or (one.is_whole and other.is_whole) else None


def _same_text(left: tuple[str, ...], right: tuple[str, ...], *, is_whole: bool) -> bool | None:
    """Of plain text the order of lines matters, and every one of them."""
    if left != right:
        return False
    return True if is_whole and _n_words(left) >= MIN_WORDS else None


def _marked(page: FetchedPage, read: PageLines, chrome: Chrome) -> _Page:
    shapes = shapes_of(page, read)
    n_of_shape = Counter(shapes)
    is_chrome = []
    for shape in shapes:
        # what stands twice is a list's; but a name may stand in a list as well, and is chrome once
        is_single = n_of_shape[shape] == 1 or NAME in shape
        is_chrome.append(is_single and n_of_shape[shape] > 0 and chrome.holds(shape))
        if NAME in shape:
            n_of_shape[shape] = 0
    return _Page(read.lines, shapes, is_chrome, [not chrome.is_everywhere(shape) for shape in shapes])


def _same_content(left: _Page, right: _Page, numbers: frozenset[str]) -> bool | None:
    shared = Counter(left.lines) & Counter(right.lines)
    one, other = _split(left, shared), _split(right, shared)
    own = zip(left.lines, left.is_own, strict=True)
    n_own = _n_words(line for line, is_own in own if is_own and line in shared)
    named = frozenset(shape for shape in one.names if shape in other.names and WHEN not in shape)
    if n_own < MIN_OWN_WORDS:
        named = frozenset()
    stamps = _stamps(one), _stamps(other)
    if not _telling(one, named, stamps[0]) and not _telling(other, named, stamps[1]):
        has_stamps = any(stamps)
        has_names = bool(one.names or other.names)
        if n_own < (MIN_NEAR_WORDS if has_stamps else MIN_OWN_WORDS if has_names else MIN_WORDS):
            return None
        is_same = one.common == other.common or is_reordered(one.common, other.common)
        # a page that names itself by an id of its address may be another one with the same text
        has_id = any(not numbers.isdisjoint(numbers_of(line)) for line, _ in (*one.rest, *other.rest))
        return None if is_same and has_id else is_same
    changed = _changed(left, right)
    if changed is None or n_own < MIN_NEAR_WORDS:
        return False
    if any(not numbers.isdisjoint(numbers_of(line)) for pair in changed for line in pair):
        return False  # an id, not a counter
    return _is_small(changed, n_own) or _are_counters(changed)


def _stamps(split: _Split) -> list[str]:
    """The line with the page's name and a time, if there is just one: of more each is a row of its history."""
    found = [line for line, shape in split.rest if NAME in shape and WHEN in shape]
    return found if len(found) == 1 else []


def _telling(split: _Split, named: frozenset[str], stamps: list[str]) -> list[str]:
    """Of the lines that only one page has those that are no mere stamp, nor name the page as the other is named."""
    return [line for line, shape in split.rest if shape not in named and line not in stamps]


def _changed(left: _Page, right: _Page) -> list[tuple[str, str]] | None:
    """The lines of two pages that differ in the same place, chrome apart; None if one page has a line more.

    A line more is an entry of a list, most of the time.
    """
    if len(left.lines) != len(right.lines):
        return None
    pairs = zip(left.lines, right.lines, left.is_chrome, right.is_chrome, strict=True)
    return [
        (line, other)
        for line, other, is_chrome, is_other_chrome in pairs
        if line != other and not (is_chrome and is_other_chrome)
    ]


def _split(page: _Page, shared: Counter[str]) -> _Split:
    surplus = Counter(page.lines) - shared
    is_common = [True] * len(page.lines)
    split = _Split([], [], [])
    for wanted in (True, False):  # of several equal lines first those that are chrome
        for i, line in enumerate(page.lines):
            if page.is_chrome[i] is wanted and surplus[line] > 0:
                surplus[line] -= 1
                is_common[i] = False
                if NAME in page.shapes[i]:
                    split.names.append(page.shapes[i])
                if not wanted:
                    split.rest.append((line, page.shapes[i]))
    split.common.extend(itertools.compress(page.lines, is_common))
    return split


def _is_small(changed: list[tuple[str, str]], n_own: int) -> bool:
    """Return True if so little differs that it is one page with, say, another counter."""
    n_changed = _n_words(line for pair in changed for line in pair)
    return len(changed) <= MAX_CHANGED_LINES and n_changed <= MAX_CHANGED_SHARE * n_own


def _are_counters(changed: list[tuple[str, str]]) -> bool:
    """Return True if all changed lines are numbers that went up a little (the views of each topic of a list)."""
    if not all(line.isdecimal() and len(line) < MAX_DIGITS for pair in changed for line in pair):
        return False
    steps = [(int(one), int(other) - int(one)) for one, other in changed]
    if not (all(step > 0 for _, step in steps) or all(step < 0 for _, step in steps)):
        return False
    return all(abs(step) <= max(MAX_STEP, MAX_GROWTH * start) for start, step in steps)


def _n_words(lines: Iterable[str]) -> int:
    return n_words("\n".join(lines))
