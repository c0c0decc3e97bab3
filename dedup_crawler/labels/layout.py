"""Finds decoration: lines in which the pages of a site print their own name or address.

A footer ``wiki/start.txt · last modified 2026/11/19 06:30 by anna`` is on a page, on its history, and on the log-in
form reached from it. It makes one log-in form look like hundreds of pages. It differs on every page, so no comparison
of lines finds it. But its *shape* is on very many pages. In a shape, the values of the URL's own arguments, dates and
times are masked.

``Files in ⟨folder⟩`` is frequent too, but there the value tells two pages apart. The difference: a site names the
folder only on pages about folders, but the page on all pages. So only values of *naming* keys are masked, which at
least half of all pages show as a line of its own. Most sites have no such keys.

Numbers are not masked, because they may be ids; but lines whose numbers change with every fetch are decoration too
(:mod:`dedup_crawler.labels.meters`).

``do=edit`` and ``tab=files`` choose a kind of page; ``id=...`` names the thing that it is about. The names do not tell
which is which, but the values do: a key with few values that repeat is a *choice*, a key with many values is *open*. In
a small crawl some keys are neither.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from urllib.parse import parse_qsl, unquote

from dedup_crawler.labels.lines import digest, lines_of, masked_times
from dedup_crawler.labels.meters import MeterCounts, meter_shapes
from dedup_crawler.pages.records import LabelledPage

Argument = tuple[str, str]
Pages = Callable[[], Iterable[LabelledPage]]
"""Gives the pages of a crawl, in crawl order; can be called several times."""

MIN_PAGES = 50
"""Smallest number of pages of a crawl in which decoration is searched."""
NAMING_SHARE = 0.5
"""Smallest share (0-1) of the pages that show the value of a naming key as a line."""
SHAPE_SHARE = 0.005
"""Smallest share (0-1) of the pages that have a line with the shape of decoration."""
SHAPE_PAGES = 10
"""Smallest number of pages that have a line with the shape of decoration."""

MAX_CHOICES = 30
"""Largest number of different values of a choice; a key with more is open."""
MIN_REPEATS = 5
"""Smallest mean number of pages for each value of a choice; a key with up to three values is always a choice."""
MAX_ARGUMENTS = 100
"""Largest number of arguments; a query with more is ignored."""
_FEW_VALUES = 3
_NAME, _OTHER, _ADDRESS = "\0", "\1", "\3"
_NOT_IN_NAMES = re.compile(r"[^\w.\-]+")


class SiteLayout:
    """Learns the decoration of a site: call :meth:`see` with each page, then :meth:`settle`.

    *meters* are the shapes of its meter lines, if they are known already.
    """

    def __init__(self, meters: Set[int] | None = None) -> None:
        self.naming_keys: frozenset[str] = frozenset()
        self._n_pages = 0  # pages with title and text: a file without a title has no layout
        self._kinds = ArgumentKinds()
        self._n_named: Counter[str] = Counter()
        self._shapes: frozenset[int] = frozenset()
        self._meter_counts = MeterCounts() if meters is None else None
        self._meters: Set[int] = meters or frozenset()

    def see(self, page: LabelledPage) -> None:
        """Learn from a page."""
        found, _ = arguments(page.url)
        self._kinds.add(found)
        if page.title and page.main_text:
            self._n_pages += 1
            lines = lines_of(page)
            if self._meter_counts is not None:
                self._meter_counts.see(page.url, page.title, lines)
            self._n_named.update({key for key, value in found if not name_forms(value).isdisjoint(lines)})

    def settle(self, pages: Pages) -> None:
        """Decide which keys are naming keys, and which lines are decoration; reads the pages again if needed."""
        if self._meter_counts is not None:
            self._meters = self._meter_counts.meters()
        if self._n_pages >= MIN_PAGES:
            least = NAMING_SHARE * self._n_pages
            self.naming_keys = frozenset(key for key, n in self._n_named.items() if n >= least)
        if self.naming_keys:
            n_shapes: Counter[int] = Counter()
            for page in pages():
                if page.title and page.main_text:
                    n_shapes.update(set(self.names(page.url).shapes_of(lines_of(page)).values()))
            least = max(SHAPE_SHARE * self._n_pages, SHAPE_PAGES)
            self._shapes = frozenset(shape for shape, n in n_shapes.items() if n >= least)

    def names(self, url: str) -> Names:
        """Finds the values of one URL's naming arguments; call it after :meth:`settle`."""
        return Names(url, self.naming_keys) if self.naming_keys else _NO_NAMES

    def decoration(self, url: str, lines: list[str]) -> set[int]:
        """Indexes of the lines of the page at *url* that are decoration.

        Only the first of equal lines is decoration: the others may be entries of a list.
        """
        found = {index for index, shape in self.names(url).shapes_of(lines).items() if shape in self._shapes}
        if self._meters:
            shapes = meter_shapes(lines)
            found.update(index for index, line in enumerate(lines) if shapes.get(line) in self._meters)
        return found

    def kind_of(self, url: str) -> tuple[int, tuple[Argument, ...]]:
        """Hash of the kind of page of a URL, and the URL's open arguments, except for naming keys.

        The kind is the URL without the values of naming keys, and of keys that are no choices.
        """
        found, before = arguments(url)
        kinds, naming = self._kinds, self.naming_keys
        kept = (f"{key}={value if key not in naming and kinds.is_choice(key) else ''}" for key, value in found)
        is_open = [key not in naming and kinds.is_open(key) for key, _ in found]
        return digest("\n".join((before, *sorted(kept)))), tuple(sorted(itertools.compress(found, is_open)))


class Names:
    """Finds the values of one URL's naming arguments in lines."""

    def __init__(self, url: str, naming_keys: frozenset[str]) -> None:
        found, _ = arguments(url)
        self._names = _longest_first(form for key, value in found if key in naming_keys for form in name_forms(value))
        self._others = _longest_first(
            form for key, value in found if key not in naming_keys for form in name_forms(value)
        )

    def shapes_of(self, lines: list[str]) -> dict[int, int]:
        """Index of the first of equal lines with names -> digest of the line's shape."""
        found: dict[str, int] = {}
        for name in self._names:
            for index, line in enumerate(lines):
                if name in line:
                    found.setdefault(line, index)
        shapes = ((index, self._shape(line)) for line, index in found.items())
        return {index: digest(shape) for index, shape in shapes if shape}

    def plain_title(self, title: str) -> str | None:
        """The title with the page's name masked; None if the title does not contain it."""
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


@functools.lru_cache(maxsize=64)
def arguments(url: str) -> tuple[tuple[Argument, ...], str]:
    """Decoded keys and values of the query, in their order, and the URL before the query."""
    before, _, query = url.partition("#")[0].partition("?")
    if query.count("&") >= MAX_ARGUMENTS:
        return (), before
    return tuple(parse_qsl(query, keep_blank_values=True)), before


def name_forms(value: str) -> set[str]:
    """Spellings of an argument's value in the text of a page: the value, or the value as a path (``a/b`` for ``a:b``).

    A value of one character occurs everywhere, so it has no spelling.
    """
    return {form for form in (value, _NOT_IN_NAMES.sub("/", value)) if len(form) > 1}


def mask_value(line: str, value: str, mark: str) -> str:
    """Replace *value* by *mark*, except inside of a longer word."""
    pieces = line.split(value)
    masked = pieces[0]
    for before, after in itertools.pairwise(pieces):
        is_word = not _ends_in_word(masked if before else "") and not _ends_in_word(after[:1])
        masked += (mark if is_word else value) + after
    return masked


def address_free(page: LabelledPage, lines: Sequence[str]) -> int | None:
    """Digest of a page's title and *lines* without its own address (``Index of /pub/x``); None if it is not printed."""
    path = unquote(page.url.partition("://")[2].partition("/")[2].partition("?")[0]).strip("/")
    if not path or (f"/{path}" not in page.title and f"/{path}" not in page.main_text):
        return None
    text = "\n".join((page.title, *lines))
    masked = mask_value(text, f"/{path}", _ADDRESS)
    return digest(masked) if masked != text else None


def _ends_in_word(text: str) -> bool:
    return text[-1:].isalnum() or text[-1:] == "_"


class ArgumentKinds:
    """Learns which keys are choices, from the URLs of a crawl."""

    def __init__(self) -> None:
        self._n_pages: Counter[str] = Counter()
        self._values: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, found: Sequence[Argument]) -> None:
        """Count the arguments of one URL."""
        for key, value in found:
            self._n_pages[key] += 1
            if len(self._values[key]) <= MAX_CHOICES:
                self._values[key].add(value)

    def is_choice(self, key: str) -> bool:
        """Return True if *key* has few values, each on many pages."""
        most = min(MAX_CHOICES, max(_FEW_VALUES, self._n_pages[key] / MIN_REPEATS))
        return len(self._values.get(key, ())) <= most

    def is_open(self, key: str) -> bool:
        """Return True if *key* has so many values that it cannot be a choice."""
        return len(self._values.get(key, ())) > MAX_CHOICES


_NO_NAMES = Names("", frozenset())  # of all URLs of most sites
