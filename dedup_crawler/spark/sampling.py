"""Chooses the pages of a large host that are learnt from, by the URL alone and so in one pass over any number of pages.

URLs are sorted by template, so that a rare kind of page keeps all of its URLs where a frequent one keeps a share. The
URLs of one thing have one *key* (the numbers of the path, as a rule) and go together: of ``/topic/42`` and
``/topic/42?page=1`` both are learnt from, or neither. A key that is kept in one template is kept in all that keep a
larger share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import xxhash

from dedup_crawler.urls.normal import host_of, normal_form

MAX_PAGES = 20_000
"""Most pages of a host that are learnt from; a larger host is sampled to about this number."""
N_TEMPLATES = 1000
"""Largest number of templates of a host; more share their numbers, so that nobody can make the counts grow."""
_SIZE = 2**32

_DIGITS = re.compile("[0-9]+")
_VALUE = re.compile("[?&;][^=&;]*=([^&;]+)")

Shares = Mapping[int, float]
"""Template -> share (0-1) of its keys that is kept; an empty one keeps all pages."""


class Sort(NamedTuple):
    """Host, template (a number below :data:`N_TEMPLATES`) and key (0-1) of a page."""

    host: str
    template: int
    key: float


def sort_of(url: str, redirect_to: str | None) -> Sort:
    """Sort a page; a redirect has the key of its target, so that both are kept.

    >>> sort_of("http://a.example/topic/42-x?page=1", None)[1:] == sort_of("http://a.example/topic/7?page=2", None)[1:]
    False
    >>> sort_of("http://a.example/topic/42-x?page=1", None).key == sort_of("http://a.example/t/42", None).key
    True
    """
    form = normal_form(url)
    path, query = _path_and_query(form)
    names = sorted({part.partition("=")[0] for part in re.split("[&;]", query)})
    folders = path.split("/")
    template = " ".join([*folders[1:2], str(len(folders)), *names])
    number = xxhash.xxh32_intdigest(_DIGITS.sub("0", template).encode()) % N_TEMPLATES
    return Sort(host_of(form), number, _key_of(normal_form(redirect_to) if redirect_to else form))


def shares_of(n_pages: Mapping[int, int], most: int) -> Shares:
    """Shares of the templates with *n_pages*, by which about *most* pages are kept.

    Every template keeps the same number of pages, or all if it has fewer.

    >>> shares_of({0: 1000, 1: 10}, 110)
    {0: 0.1, 1: 1.0}
    """
    left, n_left = most, len(n_pages)
    level = 0.0
    for n in sorted(n_pages.values()):
        level = left / n_left
        if n > level:
            break
        left, n_left = left - n, n_left - 1
    else:
        return {}
    return {template: min(1.0, level / n) for template, n in n_pages.items()}


def _key_of(form: str) -> float:
    path, query = _path_and_query(form)
    value = _VALUE.search(f"?{query}")
    key = "-".join(_DIGITS.findall(path)) or (value[1] if value is not None else path.rpartition("/")[2])
    return xxhash.xxh32_intdigest(key.encode()) / _SIZE


def _path_and_query(form: str) -> tuple[str, str]:
    """Path and query of a URL in normal form."""
    path, _, query = form.partition("://")[2].partition("?")
    return f"/{path.partition('/')[2]}", query
