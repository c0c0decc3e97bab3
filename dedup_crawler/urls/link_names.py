"""The names in a page's links: a list that goes on has links with ``page=`` or ``/page/2``, a short list has none.

A short list shows the same entries in every order, so a link to sort it leads back to it. Its URL does not say that it
is short, but its links do. A name is that of a query, or a word before a number in the path: ``/page/N``, ``/page:N``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from html import unescape
from urllib.parse import urljoin

from dedup_crawler.urls.normal import normal_form

MAX_BYTES = 1_000_000
"""Bytes of the longest page whose links are read: hundreds of pages are read for one model."""
MAX_LINKS = 10_000
"""Most different links of a page that are read, in a tenth of a second or so."""
MAX_NAMES = 500
"""Most names of a page that are kept: a page may be made to fill the memory."""
_HREF = re.compile(rb"""href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*))""", re.IGNORECASE)
_BASE = re.compile(rb"<base\s", re.IGNORECASE)
_MAY_HAVE_NAME = re.compile(r"[?0-9]")
_IGNORED = dict.fromkeys(map(ord, "\t\r\n"))
_SEPARATOR = re.compile("[&;]")
_NUMBERED = re.compile(r"/([^/:=0-9]{1,40}[/:=])[0-9]+(?![^/.;])")

NamesOf = Callable[[str], "frozenset[str] | None"]
"""URL of a page in normal form -> names in its links; None if they are not known."""


def names_of_links(urls: Iterable[str]) -> frozenset[str]:
    """Names in *urls*, which are absolute and in normal form, with any separator of the query.

    >>> sorted(names_of_links(["http://a.example/list?q=a&page=2", "http://a.example/?q=a;sort[]=up"]))
    ['page', 'q', 'sort[]']
    >>> sorted(names_of_links(["http://a.example/list/page/2/", "http://a.example/tag:b/page:2"]))
    ['/page/N', '/page:N']
    """
    paths, queries = set(), set()
    for url in urls:
        path, _, query = url.partition("#")[0].partition("?")
        paths.add(path.partition("://")[2].partition("/")[2])
        queries.add(query)
    names = {part.partition("=")[0] for query in queries for part in _SEPARATOR.split(query)}
    words = {word for path in paths for word in _NUMBERED.findall(f"/{path}")}
    return frozenset(map(sys.intern, [*filter(None, names), *(f"/{word}N" for word in words)]))


def names_in(body: bytes, page: str) -> frozenset[str] | None:
    """Names in all links of the HTML of a *page* (its URL); None without links, or for a page that was made to be long.

    A few names too many, as of a spelling that browsers do not know, do no harm: a rule about short lists then says
    nothing.
    """
    if len(body) > MAX_BYTES:
        return None
    links = set(_hrefs(body))
    if not 0 < len(links) <= MAX_LINKS:
        return None
    page = _joined(page, _base_of(body)) or page
    spelled = filter(_MAY_HAVE_NAME.search, {*links, *map(unescape, links)})
    names = names_of_links(normal_form(_joined(page, link)) for link in spelled)
    return names if len(names) <= MAX_NAMES else None


def not_known(page: str) -> frozenset[str] | None:
    """Return None: the links of no page are known."""
    return None


def _base_of(body: bytes) -> str:
    """Return the link of the first ``<base>`` with one; empty without. Its end is searched once, in linear time."""
    start = 0
    while (tag := _BASE.search(body, start)) is not None and (end := body.find(b">", tag.end())) >= 0:
        if base := next(_hrefs(body[tag.start() : end]), ""):
            return base
        start = end
    return ""


def _hrefs(body: bytes) -> Iterator[str]:
    for match in _HREF.finditer(body):
        link = b"".join(filter(None, match.groups()))
        try:
            text = link.decode()
        except UnicodeDecodeError:
            text = link.decode("latin-1")
        yield text.translate(_IGNORED)


def _joined(page: str, link: str) -> str:
    """Return the absolute URL of a link; empty for a broken one."""
    with suppress(ValueError):  # such as an unclosed bracket in the host
        return urljoin(page, link.strip())
    return ""
