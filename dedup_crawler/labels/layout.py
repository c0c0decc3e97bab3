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

from collections import Counter
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import numpy.typing as npt

from dedup_crawler.labels.arguments import Argument, ArgumentKinds, arguments, mask_value, spellings
from dedup_crawler.labels.counting import BoundedCounter
from dedup_crawler.labels.lines import Digests, digest
from dedup_crawler.labels.times import masked_times
from dedup_crawler.pages.records import LabelledPage

Pages = Callable[[], Iterable[LabelledPage]]
"""Gives the pages of a crawl anew, from the first to the last, each time it is called."""

MIN_PAGES = 50
"""With fewer pages nothing is called decoration."""
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
    """Decoration of a site: see all pages, then settle; where there are naming keys, see shapes, then settle these."""

    def __init__(self) -> None:
        self.n_pages = 0
        """Pages with title and text: a file without a title has no layout."""
        self.kinds = ArgumentKinds()
        self.naming_keys: frozenset[str] = frozenset()
        self._n_named: Counter[str] = Counter()
        self._clocks: BoundedCounter[int] = BoundedCounter()
        self._shapes: BoundedCounter[int] = BoundedCounter()
        self._frequent_clocks: frozenset[int] = frozenset()
        self._frequent_shapes: frozenset[int] = frozenset()

    def see_url(self, url: str) -> None:
        """Learn from the URL of any page."""
        self.kinds.add(arguments(url)[0])

    def see_lines(self, url: str, lines: list[str], clocks: Digests) -> None:
        """Learn from a page with title and text."""
        self.n_pages += 1
        found, _ = arguments(url)
        if found:
            different = set(lines)
            self._n_named.update({key for key, value in found if not different.isdisjoint(spellings(value))})
        if clocks.any():
            self._clocks.update(_single(clocks))

    def settle(self) -> None:
        """Decide which keys name the page and what is a clock."""
        if self.n_pages >= MIN_PAGES:
            least = NAMING_SHARE * self.n_pages
            self.naming_keys = frozenset(key for key, n in self._n_named.items() if n >= least)
            self._frequent_clocks = self._clocks.at_least(CLOCK_SHARE * self.n_pages)
        self._clocks = BoundedCounter()

    def names(self, url: str) -> Names:
        """What finds the values of one URL's naming arguments, after :meth:`settle`."""
        return Names(url, self.naming_keys)

    def see_shapes(self, shapes: Iterable[int]) -> None:
        """Learn from the shapes of a page's lines (:meth:`Names.shapes_of`)."""
        self._shapes.update(set(shapes))

    def settle_shapes(self) -> None:
        """Decide which shapes are decoration."""
        self._frequent_shapes = self._shapes.at_least(max(SHAPE_SHARE * self.n_pages, SHAPE_PAGES))
        self._shapes = BoundedCounter()

    def content(self, n_lines: int, shapes: Mapping[int, int], clocks: Digests) -> npt.NDArray[np.bool_]:
        """Of each line of a page, whether it is content.

        Parameters
        ----------
        n_lines
            Of the page.
        shapes
            Of lines that hold a name (:meth:`Names.shapes_of`). A line that stands twice is decoration once: a label
            may have the same words as an entry of a list.
        clocks
            Of each line the digest of its shape without times, 0 where it has none; empty if no line has.
        """
        is_content = np.ones(n_lines, bool)
        is_content[[index for index, shape in shapes.items() if shape in self._frequent_shapes]] = False
        found = self._frequent_clocks.intersection(_single(clocks)) if self._frequent_clocks else None
        if found:
            is_content[np.isin(clocks, np.array(list(found), np.uint64))] = False
        return is_content

    def open_arguments(self, found: Iterable[Argument]) -> tuple[Argument, ...]:
        """The arguments that do not name the page and certainly do not choose its kind, sorted."""
        keys = {key for key, _ in found if key not in self.naming_keys and self.kinds.is_open(key)}
        return tuple(sorted(each for each in found if each[0] in keys))


class Names:
    """Finds the values of one URL's naming arguments in lines."""

    def __init__(self, url: str, naming_keys: frozenset[str]) -> None:
        found, _ = arguments(url)
        self._names = _longest_first(form for key, value in found if key in naming_keys for form in spellings(value))
        self._others = _longest_first(
            form for key, value in found if key not in naming_keys for form in spellings(value)
        )

    def shapes_of(self, lines: list[str]) -> dict[int, int]:
        """Where lines with names stand first, and the digest of each with names, other values and times masked."""
        found: dict[str, int] = {}
        for name in self._names:
            for index, line in enumerate(lines):
                if name in line:
                    found.setdefault(line, index)
        shapes = ((index, self._shape(line)) for line, index in found.items())
        return {index: digest(shape) for index, shape in shapes if shape}

    def plain_title(self, title: str) -> str | None:
        """The title with the page's name masked, or None if it does not hold it."""
        return (self._shape(title) if any(name in title for name in self._names) else "") or None

    def _shape(self, line: str) -> str:
        shape = line
        for name in self._names:
            if name in shape:
                shape = mask_value(shape, name, _NAME)
        if shape == line:
            return ""
        for value in self._others:
            if value in shape:
                shape = mask_value(shape, value, _OTHER)
        return masked_times(shape)


def _longest_first(values: Iterable[str]) -> list[str]:
    return sorted(set(values), key=lambda value: (-len(value), value))


def _single(clocks: Digests) -> list[int]:
    """The shapes with a time that stand once on a page."""
    return [shape for shape, n in Counter(clocks[clocks != 0].tolist()).items() if n == 1]
