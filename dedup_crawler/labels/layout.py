"""Decoration: lines in which the pages of a site print their own address.

A footer ``wiki/start.txt · last modified 2026/11/19 06:30 by anna`` stands on a page's text, its history, and the login
form reached from it. It differs on every page, so comparing lines never calls it boilerplate; and it makes one login
form look like hundreds. The trick is to compare its *shape*, in which the values of the URL's own arguments, dates and
times are masked: the shapes of decoration are on very many pages.

This must not go too far. ``Files in ⟨folder⟩`` is frequent too, and is all that tells two folders apart. The
difference is that a site names the folder on the pages about folders, and the page on all pages whatsoever. So only
values of *naming* keys are masked: those that at least half of all pages show as a line of its own. Most sites have
none.

Numbers are not told from ids, so they stay; that one of them counts visitors, only a long page with a single difference
can show.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

from dedup_crawler.labels.arguments import Argument, ArgumentKinds, arguments, mask_value, spellings
from dedup_crawler.labels.lines import digest, lines_of, masked_times
from dedup_crawler.pages.records import LabelledPage

Pages = Callable[[], Iterable[LabelledPage]]
"""Gives the pages of a crawl anew, from the first to the last, each time it is called."""

MIN_PAGES = 50
"""Least number of pages of a crawl with decoration."""
NAMING_SHARE = 0.5
"""Least share (0-1) of the pages that show the value of a key as a line, for the key to name pages."""
SHAPE_SHARE = 0.005
"""Least share (0-1) of the pages with a line of some shape that names them, for such lines to be decoration."""
SHAPE_PAGES = 10
"""Least number of such pages."""

MAX_KEYS = 400_000
"""About 50 MB of counts with 64-bit keys."""

Key = TypeVar("Key", bound=Hashable)

_NAME, _OTHER = "\0", "\1"


class SiteLayout:
    """Decoration of a site: see all pages, then settle."""

    def __init__(self) -> None:
        self.naming_keys: frozenset[str] = frozenset()
        self._n_pages = 0  # with title and text: a file without a title has no layout
        self._kinds = ArgumentKinds()
        self._n_named: Counter[str] = Counter()
        self._shapes: frozenset[int] = frozenset()

    def see(self, page: LabelledPage) -> None:
        """Learn from a page."""
        found, _ = arguments(page.url)
        self._kinds.add(found)
        if page.title and page.main_text:
            self._n_pages += 1
            lines = set(lines_of(page)) if found else set()
            self._n_named.update({key for key, value in found if not lines.isdisjoint(spellings(value))})

    def settle(self, pages: Pages) -> None:
        """Decide which keys name the page and what is decoration; reads the pages again where there are such keys."""
        if self._n_pages >= MIN_PAGES:
            least = NAMING_SHARE * self._n_pages
            self.naming_keys = frozenset(key for key, n in self._n_named.items() if n >= least)
        if self.naming_keys:
            n_shapes: BoundedCounter[int] = BoundedCounter()
            for page in pages():
                if page.title and page.main_text:
                    n_shapes.update(set(self.names(page.url).shapes_of(lines_of(page)).values()))
            self._shapes = n_shapes.at_least(max(SHAPE_SHARE * self._n_pages, SHAPE_PAGES))

    def names(self, url: str) -> Names:
        """Finder of the values of one URL's naming arguments, after :meth:`settle`."""
        return Names(url, self.naming_keys)

    def decoration(self, url: str, lines: list[str]) -> set[int]:
        """Lines of the page at *url* that are no content, by their index.

        A line that stands twice is decoration once: a label may have the same words as an entry of a list.
        """
        return {index for index, shape in self.names(url).shapes_of(lines).items() if shape in self._shapes}

    def kind_of(self, url: str) -> tuple[int, tuple[Argument, ...]]:
        """Hash of what kind of page a URL asks for, and its arguments that neither name it nor choose the kind."""
        found, before = arguments(url)
        template = "\n".join(self._kinds.template(before, found, self.naming_keys))
        is_open = [key not in self.naming_keys and self._kinds.is_open(key) for key, _ in found]
        return digest(template), tuple(sorted(itertools.compress(found, is_open)))


class Names:
    """Finds the values of one URL's naming arguments in lines."""

    def __init__(self, url: str, naming_keys: frozenset[str]) -> None:
        found, _ = arguments(url)
        self._names = _longest_first(form for key, value in found if key in naming_keys for form in spellings(value))
        self._others = _longest_first(
            form for key, value in found if key not in naming_keys for form in spellings(value)
        )

    def shapes_of(self, lines: list[str]) -> dict[int, int]:
        """First place of each line with names, and its digest with names, other values and times masked."""
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


class BoundedCounter(Generic[Key]):
    """Counts of a stream: what is frequent stays counted, what is rare is forgotten.

    J. Misra, D. Gries, "Finding repeated elements", Science of Computer Programming 2, 1982, many elements at a time.
    Whenever more than *max_keys* are held, all are lowered alike and at least half are forgotten.

    A count is never too high, and too low by at most :attr:`max_error`: 0 until something was forgotten, and always
    less than the share ``2 / max_keys`` of all that was counted.
    """

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        self._max_keys = max_keys
        self._counts: Counter[Key] = Counter()
        self.max_error = 0

    def update(self, keys: Iterable[Key] | Mapping[Key, int]) -> None:
        """Count each of *keys* once, or as often as it says."""
        self._counts.update(keys)
        if len(self._counts) > self._max_keys:
            less = sorted(self._counts.values(), reverse=True)[self._max_keys // 2]
            self._counts = Counter({key: n - less for key, n in self._counts.items() if n > less})
            self.max_error += less

    def __getitem__(self, key: Key) -> int:
        return self._counts[key]

    def __len__(self) -> int:
        return len(self._counts)

    def at_least(self, n: float) -> frozenset[Key]:
        """The keys that may have been counted *n* times or more; those counted so often for certain are among them."""
        return frozenset(key for key, count in self._counts.items() if count + self.max_error >= max(n, 1))
