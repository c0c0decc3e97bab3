"""The query names of a page's links: a list that goes on has links with ``page=`` or ``start=``, a short list has none.

A short list shows the same entries in every order, so a link to sort it leads back to it. Its URL does not say that it
is short, but its links do.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from html import unescape

from dedup_crawler.urls.normal import normal_form

MAX_BYTES = 1_000_000
"""Bytes of the longest page whose links are read."""
MAX_NAMES = 500
"""Most names of a page that are kept: a page may be made to fill the memory."""
_HREF = re.compile(rb"""href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*))""", re.IGNORECASE)
_IGNORED = dict.fromkeys(map(ord, "\t\r\n"))
_SEPARATOR = re.compile("[&;]")

NamesOf = Callable[[str], "frozenset[str] | None"]
"""URL of a page in normal form -> query names of its links; None if they are not known."""


def names_of_links(urls: Iterable[str]) -> frozenset[str]:
    """Query names of *urls*, with any separator.

    >>> sorted(names_of_links(["/list?q=a&page=2", "/list?q=a;sort%5B%5D=up", "/"]))
    ['page', 'q', 'sort[]']
    """
    queries = {url.partition("?")[2].partition("#")[0] for url in urls}
    names = {part.partition("=")[0] for query in queries for part in _SEPARATOR.split(query)}
    return frozenset(sys.intern(_written(name)) for name in names if name)


def names_in(body: bytes) -> frozenset[str] | None:
    """Query names of all links in the HTML of a page; None if it has no link, too many names, or is too long.

    A few names too many, as of a spelling that browsers do not know, do no harm: a rule about short lists then says
    nothing.
    """
    if len(body) > MAX_BYTES:
        return None
    links = {_decoded(b"".join(groups)) for groups in _HREF.findall(body)}
    names = names_of_links([*links, *map(unescape, links)])
    return names if links and len(names) <= MAX_NAMES else None


def not_known(page: str) -> frozenset[str] | None:
    """Return None: the links of no page are known."""
    return None


def _decoded(link: bytes) -> str:
    try:
        text = link.decode()
    except UnicodeDecodeError:
        text = link.decode("latin-1")
    return text.translate(_IGNORED)


def _written(name: str) -> str:
    return normal_form(f"?{name}")[1:]
