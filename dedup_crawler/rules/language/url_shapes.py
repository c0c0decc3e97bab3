"""The shape of a URL: its map, with ``*`` for the values that tell pages apart.

``/topic/7-a-title?page=2`` has the shape ``/topic/*?page=*``. A value stays if many URLs have it and it is no number:
numbers tell pages apart, however frequent they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

from dedup_crawler.json_values import JsonValue
from dedup_crawler.rules.language.rule import STAR
from dedup_crawler.urls.keyvalue import KEY_VALUES, values_of

MIN_URLS = 8
"""Smallest number of URLs with a value that stays in shapes."""
MIN_SHARE = 0.01
"""Smallest share (0-1) of the URLs with a value that stays in shapes."""
MAX_KNOWN = 10_000
"""Most URLs about which something is remembered: links repeat, and a crawl asks about each link three times."""
MAX_URL = 300
"""Characters of the longest URL that is remembered: a query with hundreds of names would have a large shape."""

Shape = tuple[tuple[str, str], ...]
Said = TypeVar("Said")


class Shapes:
    """Finds the shapes of URLs; *literals* holds the values of each key that stay."""

    def __init__(self, literals: Mapping[str, frozenset[str]]) -> None:
        self.literals = dict(literals)
        self._known: dict[str, Shape] = {}

    @classmethod
    def learn(cls, urls: Iterable[str]) -> Shapes:
        """Learn from URLs of one host, in normal form."""
        counts: Counter[tuple[str, str]] = Counter()
        n_urls = 0
        for url in urls:
            n_urls += 1
            counts.update((key, value or "") for key, value in values_of(url).items())
        least = max(MIN_URLS, MIN_SHARE * n_urls)
        literals: dict[str, set[str]] = {}
        for (key, value), n in counts.items():
            if n >= least and (key == "path.length" or not value.isdigit()):
                literals.setdefault(key, set()).add(value)
        return cls({key: frozenset(values) for key, values in literals.items()})

    def of(self, url: str) -> Shape:
        """Shape of a URL in normal form."""
        shape = self._known.get(url)
        if shape is not None:
            return shape
        shape = self._shape_of(url)
        remember(self._known, url, shape)
        return shape

    def _shape_of(self, url: str) -> Shape:
        literals = self.literals
        values = values_of(url)
        del values["scheme"]
        return tuple(
            [
                (key, value or "" if (value or "") in literals.get(key, ()) or key == "path.length" else STAR)
                for key, value in sorted(values.items())
            ]
        )

    def to_json(self) -> dict[str, list[str]]:
        """Key -> values."""
        return {key: sorted(values) for key, values in sorted(self.literals.items())}

    @classmethod
    def from_json(cls, value: JsonValue) -> Shapes:
        """Read the result of :meth:`to_json`; BadInputError if *value* is not one."""
        return cls({key: frozenset(values.texts()) for key, values in value.table().items()})


def remember(known: dict[str, Said], url: str, said: Said) -> None:
    """Note what was found out about a URL, unless it is long; forget all URLs if there are too many."""
    if len(url) <= MAX_URL:
        if len(known) >= MAX_KNOWN:
            known.clear()
        known[url] = said


def written(shape: Shape) -> str:
    """Write a shape as a URL without scheme and host.

    >>> written((("path.length", "2"), ("path[0]", "topic"), ("path[1]", "*"), ("query[page]", "*")))
    '/topic/*?page=*'
    """
    return KEY_VALUES.write(dict(shape))
