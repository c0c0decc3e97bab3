"""The links of pages: the names in them, and the pages on which each link was seen.

A list that goes on has links with ``page=`` or ``/page/2``, a short list has none. A short list shows the same entries
in every order, so a link to sort it leads back to it. Its URL does not say that it is short, but its links do. A name
is that of a query, or a word before a number in the path: ``/page/N``, ``/page:N``; or ``./N`` for the page's own
address and a number, as ``/topic/440/2`` on ``/topic/440``.

A later page may tell more about a link than the first one: ``/question/7?answer=9`` is linked on the page of its author
and on the page of its question, and only there a referrer rule knows that it leads back. The first link waits in the
queue by then.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import unescape

from dedup_crawler.urls.normal import joined, normal_form

MAX_BYTES = 1_000_000
"""Bytes of the longest page whose links are read: hundreds of pages are read for one model."""
MAX_LINKS = 10_000
"""Most different links of a page that are read, in a tenth of a second or so."""
MAX_NAMES = 500
"""Most names of a page that are kept: a page may be made to fill the memory."""
MAX_KNOWN = 50_000
"""Most links whose pages are known; the oldest are forgotten first."""
MAX_PAGES = 8
"""Most pages that are known of one link, such as one in the menu of all pages: the first ones."""
MAX_SETS = 1_000
"""Most different sets of names that are kept once for all pages."""
_HREF = re.compile(rb"""href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*))""", re.IGNORECASE)
_BASE = re.compile(rb"<base\s", re.IGNORECASE)
_MAY_HAVE_NAME = re.compile(r"[?0-9]")
_IGNORED = dict.fromkeys(map(ord, "\t\r\n"))
_SEPARATOR = re.compile("[&;]")
_NUMBERED = re.compile(r"/([^/:=0-9]{1,40}[/:=])[0-9]+(?![^/.;])")

NamesOf = Callable[[str], "frozenset[str] | None"]
"""URL of a page in normal form -> names in its links; None if they are not known."""


def names_of_links(urls: Iterable[str], page: str) -> frozenset[str]:
    """Names in the *urls* on a *page*, with any separator of the query; all are absolute and in normal form.

    >>> page = "http://a.example/list"
    >>> sorted(names_of_links(["http://a.example/list?q=a&page=2", "http://a.example/?q=a;sort[]=up"], page))
    ['page', 'q', 'sort[]']
    >>> sorted(names_of_links(["http://a.example/tag/page/2/", "http://a.example/tag:b/page:2"], page))
    ['/page/N', '/page:N']
    >>> sorted(names_of_links(["http://a.example/list/2/"], page))
    ['./N', '/list/N']
    """
    own = page.partition("?")[0].rstrip("/") + "/"
    goes_on = False  # True for a link to the page's own address and a number
    paths, queries = set(), set()
    for url in urls:
        path, _, query = url.partition("#")[0].partition("?")
        paths.add(path.partition("://")[2].partition("/")[2])
        queries.add(query)
        goes_on = goes_on or (path.startswith(own) and path[len(own) :].rstrip("/").isdecimal())
    names = {part.partition("=")[0] for query in queries for part in _SEPARATOR.split(query)}
    words = {word for path in paths for word in _NUMBERED.findall(f"/{path}")}
    below = ["./N"] if goes_on else []
    return frozenset(map(sys.intern, [*filter(None, names), *(f"/{word}N" for word in words), *below]))


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
    base = joined(page, _base_of(body).strip()) or page
    spelled = filter(_MAY_HAVE_NAME.search, {*links, *map(unescape, links)})
    urls = (normal_form(joined(base, link.partition("#")[0].strip())) for link in spelled)
    names = names_of_links(urls, normal_form(page))
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


class LinkedOn:
    """URL of a link -> URLs of the first pages that hold it; and page -> names in its links. Bounded."""

    def __init__(self) -> None:
        self._pages: dict[str, tuple[str, ...]] = {}
        self._numbers: dict[str, int] = {}  # pages whose links were seen, numbered
        self._names: dict[str, frozenset[str]] = {}  # page -> names in its links; most pages share one set
        self._sets: dict[frozenset[str], frozenset[str]] = {}
        self._n_seen = 0
        self._n_lost = 0  # number of the latest page with a forgotten link

    def saw(self, links: Iterable[str], page: str) -> None:
        """Note the URLs of the *links* on a page."""
        self._n_seen += 1
        self._numbers.setdefault(page, self._n_seen)
        if len(self._numbers) > MAX_KNOWN:
            del self._numbers[next(iter(self._numbers))]
        known = self._pages
        for url in links:
            pages = known.get(url)
            if pages is None:
                if len(known) >= MAX_KNOWN:
                    lost = known.pop(next(iter(known)))
                    self._n_lost = max(self._n_lost, *(self._numbers.get(each, 0) for each in lost))
                known[url] = (page,)
            elif len(pages) < MAX_PAGES and page not in pages:
                known[url] = (*pages, page)

    def note_names(self, page: str, names: frozenset[str]) -> None:
        """Note the names in the links of a page, whose URL is in normal form (:mod:`dedup_crawler.urls.page_links`)."""
        if len(self._names) >= MAX_KNOWN:
            del self._names[next(iter(self._names))]
        if len(self._sets) >= MAX_SETS:
            self._sets.clear()
        self._names[page] = self._sets.setdefault(names, names)

    def names(self, page: str) -> frozenset[str] | None:
        """Return the names in the links of a page, whose URL is in normal form; None if they are not known."""
        return self._names.get(page)

    def lacks(self, page: str, url: str) -> bool:
        """Return True if the links of *page* are known, and *url* is none of them."""
        if self._numbers.get(page, 0) <= self._n_lost:
            return False
        pages = self.pages(url)
        return len(pages) < MAX_PAGES and page not in pages

    def pages(self, url: str) -> Sequence[str]:
        """Return pages with a link to *url*, the first ones first; none if they are not known."""
        return self._pages.get(url, ())
