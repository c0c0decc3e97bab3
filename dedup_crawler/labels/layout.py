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

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable

from dedup_crawler.labels.arguments import Argument, ArgumentKinds, arguments, spellings
from dedup_crawler.labels.counting import BoundedCounter
from dedup_crawler.labels.lines import LineFacts, digest, facts, lines_of, masked_times
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

_NAME, _OTHER = "\0", "\1"


class SiteLayout:
    """Decoration of a site; made by :meth:`learn`."""

    def __init__(self) -> None:
        self.n_pages = 0
        """Pages with title and text: a file without a title has no layout."""
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
            found, _ = arguments(page.url)
            layout.kinds.add(found)
            if page.title and page.main_text:
                lines = lines_of(page)
                known = facts(lines)
                different = set(lines)
                layout.n_pages += 1
                named.update({key for key, value in found if not different.isdisjoint(spellings(value))})
                all_lines.update({each.digest for each in known})
                clocks.update(_clocks_of(known))
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
            if not page.title:
                continue
            found = _names(page.url, self.naming_keys).shapes(list(set(lines_of(page))))
            shapes.update({digest(shape) for shape in found if shape})
        return shapes.at_least(max(SHAPE_SHARE * self.n_pages, SHAPE_PAGES))

    def content(self, page: LabelledPage) -> list[bool]:
        """Of each line of a page, whether it is content.

        A line that stands twice is decoration once: a label may have the same words as an entry of a list.
        """
        lines = lines_of(page)
        if not self._decorations and not self._clocks:
            return [True] * len(lines)
        shapes = _names(page.url, self.naming_keys).shapes(lines)
        known = facts(lines)
        clocks = self._clocks.intersection(_clocks_of(known)) if self._clocks else frozenset()
        seen: set[str] = set()
        kept = []
        for line, shape, each in zip(lines, shapes, known, strict=True):
            is_decoration = bool(shape) and line not in seen and digest(shape) in self._decorations
            if is_decoration:
                seen.add(line)
            kept.append(not is_decoration and not (clocks and each.clock in clocks))
        return kept

    def plain_title(self, page: LabelledPage) -> str | None:
        """The title with the page's name masked, or None if it does not hold it."""
        return _names(page.url, self.naming_keys).shapes([page.title])[0] or None

    def open_arguments(self, found: Iterable[Argument]) -> tuple[Argument, ...]:
        """The arguments that do not name the page and certainly do not choose its kind, sorted."""
        keys = {key for key, _ in found if key not in self.naming_keys and self.kinds.is_open(key)}
        return tuple(sorted(each for each in found if each[0] in keys))


class _Names:
    """Finds the values of one URL's naming arguments in lines."""

    def __init__(self, url: str, naming_keys: frozenset[str]) -> None:
        found = arguments(url)[0] if naming_keys else ()
        self._names = _longest_first(form for key, value in found if key in naming_keys for form in spellings(value))
        self._others = _longest_first(
            form for key, value in found if key not in naming_keys for form in spellings(value)
        )

    def shapes(self, lines: list[str]) -> list[str]:
        """Each line with names, other values and times masked; empty if it holds no name."""
        found = [""] * len(lines)
        for name in self._names:
            for index, line in enumerate(lines):
                if name in line:
                    found[index] = found[index] or self._shape(line)
        return found

    def _shape(self, line: str) -> str:
        shape = line
        for name in self._names:
            if name in shape:
                shape = _masked(shape, name, _NAME)
        if shape == line:
            return ""
        for value in self._others:
            if value in shape:
                shape = _masked(shape, value, _OTHER)
        return masked_times(shape)


@functools.lru_cache(maxsize=4)
def _names(url: str, naming_keys: frozenset[str]) -> _Names:
    """Of the page that is looked at: more than one thing is asked about it in turn."""
    return _Names(url, naming_keys)


def _longest_first(values: Iterable[str]) -> list[str]:
    return sorted(set(values), key=lambda value: (-len(value), value))


def _masked(line: str, value: str, mark: str) -> str:
    """Put *mark* in the place of *value* where it is no part of a longer word."""
    pieces = line.split(value)
    masked = pieces[0]
    for before, after in itertools.pairwise(pieces):
        is_word = not _ends_in_word(masked if before else "") and not _ends_in_word(after[:1])
        masked += (mark if is_word else value) + after
    return masked


def _ends_in_word(text: str) -> bool:
    return text[-1:].isalnum() or text[-1:] == "_"


def _clocks_of(lines: Iterable[LineFacts]) -> list[int]:
    """The shapes with a time that stand once on a page."""
    shapes = Counter(line.clock for line in lines if line.clock)
    return [shape for shape, n in shapes.items() if n == 1]
