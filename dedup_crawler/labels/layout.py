"""What the pages of a site say whatever they are about: their own address, and the time.

A footer ``wiki/start.txt · last modified 2026/11/19 06:30 by anna`` stands on a page's text, its history, and the login
form reached from it. It differs on every page, so comparing lines never calls it boilerplate; and it makes one login
form look like hundreds. The trick is to compare its *shape*, in which the values of the URL's own arguments, dates and
times are masked: the shapes of decoration are on very many pages.

This must not go too far. ``Files in ⟨folder⟩`` is frequent too, and is all that tells two folders apart. The
difference is that a site names the folder on the pages about folders, and the page on all pages whatsoever. So only
values of *naming* keys are masked: those that at least half of all pages show as a line of its own. Most sites have
none.

Times that are told from now ("5 minutes ago") change while one looks and are masked in every line. A clock, or how long
the page took to make, is left out where its line is part of the layout: once on each of most pages. Other numbers are
not told from ids, so they stay; that one of them counts visitors, only a long page with a single difference can show.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

import xxhash

from dedup_crawler.labels.arguments import Argument, ArgumentKinds, arguments, spellings
from dedup_crawler.labels.counting import BoundedCounter
from dedup_crawler.pages.records import LabelledPage

Pages = Callable[[], Iterable[LabelledPage]]
"""Gives the pages of a crawl anew, from the first to the last, each time it is called."""

MIN_PAGES = 50
"""With fewer pages nothing is called decoration."""
COMMON_SHARE = 0.05
"""A line on this share of the pages says nothing about one of them."""
NAMING_SHARE = 0.5
"""Of the pages show the value of a naming key as a line ..."""
SHAPE_SHARE = 0.005
"""... and a line that names it is decoration if its shape is on this share of the pages ..."""
SHAPE_PAGES = 10
"""... and on so many."""
CLOCK_SHARE = 0.5
"""A line with a time, whose shape is on this share of the pages, once on each, is a clock of the layout."""

_TIME = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?",
    re.IGNORECASE,
)
_AGO = re.compile(r"\b(?:\d+|an?|one)\s+(?:second|sec|minute|min|hour|day|week|month|year)s?\s+ago\b", re.IGNORECASE)
_DURATION = re.compile(r"\b\d+(?:[.,]\d+)?\s?(?:ms|s|secs?|seconds?|milliseconds?)\b", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_NAME, _OTHER, _WHEN = "\0", "\1", "\2"


def digest(text: str) -> int:
    """64-bit hash of a text, the same in every run."""
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))


def lines_of(page: LabelledPage) -> list[str]:
    """Lines of a page's text without the mark of jusText's boilerplate, and without times told from now."""
    if not page.main_text:
        return []
    text = page.main_text.replace("\t", "")
    return (_AGO.sub(_WHEN, text) if "ago" in text else text).split("\n")


class SiteLayout:
    """Decoration of a site; made by :meth:`learn`."""

    def __init__(self) -> None:
        self.n_pages = 0
        """Pages with text."""
        self.kinds = ArgumentKinds()
        self.naming_keys: frozenset[str] = frozenset()
        self.common_lines: frozenset[int] = frozenset()
        """Digests of the lines that more than 5 % of the pages share."""
        self._decorations: frozenset[int] = frozenset()
        self._clocks: frozenset[int] = frozenset()

    @classmethod
    def learn(cls, pages: Pages) -> SiteLayout:
        """Read the pages once, and once more where a key names the page; memory does not grow with them."""
        layout = cls()
        named: Counter[str] = Counter()
        clocks: BoundedCounter[int] = BoundedCounter()
        all_lines: BoundedCounter[int] = BoundedCounter()
        for page in pages():
            all_of_page = lines_of(page)
            lines = set(all_of_page)
            found, _ = arguments(page.url)
            layout.kinds.add(found)
            if lines:
                layout.n_pages += 1
                named.update({key for key, value in found if not lines.isdisjoint(spellings(value))})
                all_lines.update(map(digest, lines))
                clocks.update(digest(shape) for shape in _clocks_of(all_of_page))
        layout.common_lines = all_lines.at_least(COMMON_SHARE * layout.n_pages)
        if layout.n_pages >= MIN_PAGES:
            layout.naming_keys = frozenset(key for key, n in named.items() if n >= NAMING_SHARE * layout.n_pages)
            layout._clocks = clocks.at_least(CLOCK_SHARE * layout.n_pages)
        if layout.naming_keys:
            layout._decorations = layout._frequent_shapes(pages)
        return layout

    def _frequent_shapes(self, pages: Pages) -> frozenset[int]:
        shapes: BoundedCounter[int] = BoundedCounter()
        for page in pages():
            names = _Names(page.url, self.naming_keys)
            shapes.update({digest(shape) for line in set(lines_of(page)) if (shape := names.shape(line))})
        return shapes.at_least(max(SHAPE_SHARE * self.n_pages, SHAPE_PAGES))

    def content(self, page: LabelledPage) -> list[bool]:
        """Of each line of a page, whether it is content.

        A line that stands twice is decoration once: a label may have the same words as an entry of a list.
        """
        lines = lines_of(page)
        if not self._decorations and not self._clocks:
            return [True] * len(lines)
        names = _Names(page.url, self.naming_keys)
        clocks = {shape for shape in _clocks_of(lines) if digest(shape) in self._clocks} if self._clocks else set()
        seen: set[str] = set()
        kept = []
        for line in lines:
            shape = names.shape(line)
            is_decoration = line not in seen and bool(shape) and digest(shape) in self._decorations
            if is_decoration:
                seen.add(line)
            kept.append(not is_decoration and not (clocks and _clock_shape(line) in clocks))
        return kept

    def plain_title(self, page: LabelledPage) -> str | None:
        """The title with the page's name masked, or None if it does not hold it."""
        return _Names(page.url, self.naming_keys).shape(page.title) or None

    def open_arguments(self, found: Iterable[Argument]) -> tuple[Argument, ...]:
        """The arguments that do not name the page and certainly do not choose its kind, sorted."""
        keys = {key for key, _ in found if key not in self.naming_keys and self.kinds.is_open(key)}
        return tuple(sorted(each for each in found if each[0] in keys))


class _Names:
    """Finds the values of one URL's naming arguments in lines."""

    def __init__(self, url: str, naming_keys: frozenset[str]) -> None:
        self.url = url
        found = arguments(url)[0] if naming_keys else []
        self._names = sorted(form for key, value in found if key in naming_keys for form in spellings(value))
        self._others = [form for key, value in found if key not in naming_keys for form in spellings(value)]
        self._find_names: re.Pattern[str] | None = None
        self._find_others: re.Pattern[str] | None = None

    def shape(self, line: str) -> str:
        """The line with names, other values and times masked; empty if it holds no name."""
        if not any(name in line for name in self._names):
            return ""
        if self._find_names is None:
            self._find_names, self._find_others = _any_of(self._names), _any_of(self._others)
        shape, n_names = self._find_names.subn(_NAME, line)
        if not n_names:
            return ""
        if self._others and self._find_others is not None:
            shape = self._find_others.sub(_OTHER, shape)
        return _TIME.sub(_WHEN, shape)


def _any_of(values: Iterable[str]) -> re.Pattern[str]:
    """Any of the values as whole words, the longest first."""
    longest_first = sorted(set(values), key=lambda value: (-len(value), value))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")


def _clock_shape(line: str) -> str:
    """The line with times and durations masked; empty if it has none."""
    if not _DIGIT.search(line):
        return ""
    shape = _DURATION.sub(_WHEN, _TIME.sub(_WHEN, line))
    return shape if _WHEN in shape and shape != line else ""


def _clocks_of(lines: Iterable[str]) -> list[str]:
    """The shapes with a time that stand once on a page."""
    shapes = Counter(shape for line in lines if (shape := _clock_shape(line)))
    return [shape for shape, n in shapes.items() if n == 1]
