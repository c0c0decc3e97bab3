"""Chrome, the text that the pages of a site share: menus, footers, clocks, and their own address.

A line is told by its *shape*, in which the page's own address, the values of its arguments, dates and times are masked:
``wiki/start.txt · last modified 2026/11/19 06:30`` has the same shape on all pages of a wiki. A shape that stands once
on many pages is chrome; that two pages differ in it, or share it, says nothing about them.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, deque
from urllib.parse import unquote, urlsplit

import xxhash

from dedup_crawler.labels.arguments import arguments, mask_value, spellings
from dedup_crawler.labels.lines import masked_clock
from dedup_crawler.live.comparing.owner_pages import FetchedPage, OwnerPages
from dedup_crawler.live.comparing.page_lines import Kind, PageLines, read_lines

MIN_PAGES = 20
"""With fewer pages nothing is known."""
MAX_PAGES = 200
"""The latest pages that are counted."""
FIRST_PAGES = 50
"""The first pages, which are all read; later only one in so many: reading takes a tenth of what fetching does."""
EVERY = 8
"""Until as many pages were read as are counted ..."""
EVERY_LATER = 32
"""... and from then on."""
CHROME_SHARE = 0.02
"""A shape on this share (0-1) of the pages is chrome ..."""
CHROME_PAGES = 4
"""... if it is on so many."""
EVERYWHERE_SHARE = 0.08
"""A shape on this share (0-1) of the pages does not count as content either."""
NAME_PAGES = 3
"""Pages on which a shape with the page's own name has to be."""
MAX_HOSTS = 32
"""Sites whose chrome is known; the least recently asked for is forgotten."""
MAX_NAMES = 20
"""Names of a page that are masked, the longest first."""

NAME = "\0"
"""Stands in the place of what a page calls itself."""
_COUNT = re.compile(r" ?[(\[]\d{1,9}[)\]]$")


class Chrome:
    """Counts the shapes of the lines of one site's latest pages."""

    def __init__(self) -> None:
        self._pages: deque[frozenset[int]] = deque()
        self._n_pages: Counter[int] = Counter()
        self._n_offered = 0
        self._n_read = 0
        self._is_asked = False
        self._unread: deque[bytes] = deque(maxlen=FIRST_PAGES)  # forms of pages that wait

    @property
    def is_known(self) -> bool:
        """Return True if enough pages were seen to tell what they share."""
        return len(self._pages) >= MIN_PAGES

    def offer(self, form_digest: bytes, page: FetchedPage) -> None:
        """Say that the page of a form was fetched: the first ones are read, later ones now and then.

        But not before somebody asks: on a site where nothing is explored no page has to be read.
        """
        self._n_offered += 1
        every = EVERY if len(self._pages) < MAX_PAGES else EVERY_LATER
        if self._n_read + len(self._unread) < FIRST_PAGES or self._n_offered % every == 0:
            if self._is_asked:
                self.see(page)
            else:
                self._unread.append(form_digest)

    def catch_up(self, pages: OwnerPages) -> None:
        """Read what was offered so far and is still among *pages*; what is offered from now on is read at once."""
        self._is_asked = True
        while self._unread:
            page = pages.get(self._unread.popleft())
            if page is not None:
                self.see(page)

    def see(self, page: FetchedPage) -> None:
        """Count the shapes of a page, and forget the page that was seen longest ago."""
        self._n_read += 1
        read = read_lines(page)
        if read.kind is not Kind.HTML:
            return
        n_of_shape = Counter(shapes_of(page, read))
        shapes = frozenset(_digest(shape) for shape, n in n_of_shape.items() if n == 1 or NAME in shape)
        self._pages.append(shapes)
        self._n_pages.update(shapes)
        if len(self._pages) > MAX_PAGES:
            for shape in self._pages.popleft():
                self._n_pages[shape] -= 1
                if not self._n_pages[shape]:
                    del self._n_pages[shape]

    def is_everywhere(self, shape: str) -> bool:
        """Return True if a line of that shape is on so many pages that it is no content of any."""
        return self._n_pages[_digest(shape)] >= EVERYWHERE_SHARE * len(self._pages)

    def holds(self, shape: str) -> bool:
        """Return True if a line of that shape is chrome."""
        least = NAME_PAGES if NAME in shape else max(CHROME_PAGES, CHROME_SHARE * len(self._pages))
        return self._n_pages[_digest(shape)] >= least


class ChromeOfHosts:
    """The chrome of each site of a crawl; bounded."""

    def __init__(self) -> None:
        self._chromes: OrderedDict[str, Chrome] = OrderedDict()

    def all(self) -> list[Chrome]:
        """Chrome of all sites."""
        return list(self._chromes.values())

    def of(self, host: str) -> Chrome:
        """Chrome of a host, empty if it is not known yet."""
        chrome = self._chromes.get(host)
        if chrome is None:
            chrome = self._chromes[host] = Chrome()
            if len(self._chromes) > MAX_HOSTS:
                self._chromes.popitem(last=False)
        else:
            self._chromes.move_to_end(host)
        return chrome


def shapes_of(page: FetchedPage, read: PageLines) -> list[str]:
    """The shape of each line of a page."""
    names = _names(page)
    return [_shape(line, names) for line in read.lines]


def _shape(line: str, names: list[str]) -> str:
    for name in names:
        if name in line:
            line = mask_value(line, name, NAME)
    return _COUNT.sub("", masked_clock(line))


def _names(page: FetchedPage) -> list[str]:
    """Names that a page may have for itself: its address, the path of it, the values of its arguments."""
    found: set[str] = set()
    for url in (page.url, page.final_url):
        try:
            path = unquote(urlsplit(url).path)
        except ValueError:
            continue
        found |= {url, path, path.rstrip("/")}
        found.update(form for _, value in arguments(url)[0] for form in spellings(value))
    return sorted((name for name in found if len(name) > 1), key=lambda name: (-len(name), name))[:MAX_NAMES]


def _digest(shape: str) -> int:
    return xxhash.xxh3_64_intdigest(shape.encode("utf-8", "surrogatepass"))
