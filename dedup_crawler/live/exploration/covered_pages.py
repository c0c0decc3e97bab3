"""Explored covered pages: they must show nothing that the crawl does not reach otherwise.

Such a page need not be a duplicate of one page: a printed view has its own title, a feed shows the posts of ten pages.
So each of its texts is looked up among the texts of all fetched pages. A crawl may reach the same content later, so
nothing counts against a rule before PATIENCE further answers have come, or the crawl has run dry.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import xxhash

from dedup_crawler.live.comparing.owner_pages import FetchedPage
from dedup_crawler.live.seen.table import BloomFilter
from dedup_crawler.live.walls.freeze import without_scripts

PATIENCE = 1_000
"""Number of answers after which content that no other page has shown counts as lost."""
MAX_WAITING = 5_000
"""Maximum of waiting pages; beyond it the oldest get their verdict early."""
MIN_LETTERS = 12
"""Shorter texts in bytes, such as "Reply" or a price, may be on any page and are no evidence."""
MIN_OWN = 40
"""Bytes of own text (not frame) that a page needs for a verdict."""
SHOWN_SHARE = 0.9
"""Share (0-1) of these bytes that other pages must show."""
MIN_PAGES = 20
FIRST_PAGES = 200
"""Number of first pages from which the site's frame is learnt."""
FRAME_PAGES = 4
FRAME_SHARE = 0.05
"""A text on FRAME_PAGES of the first pages, and on this share (0-1) of them, is frame."""
_TEXT = re.compile(rb">([^<]+)")


class Waiting(NamedTuple):
    """One explored page."""

    n_answers: int
    """Number of answers of the crawl when the page came."""
    form: bytes
    """Digest of the form that it redirected to, or of its own form."""
    rules: tuple[str, ...]
    texts: dict[bytes, int] | None
    """Its texts (:func:`~dedup_crawler.live.exploration.covered_pages.shown_texts`); None if it redirected."""


class Unreached:
    """Queue of waiting pages, the oldest first.

    *has_shown* returns True if other fetched pages show the texts of a page; None if unknown.
    """

    def __init__(self, has_shown: Callable[[dict[bytes, int]], bool | None]) -> None:
        self._has_shown = has_shown
        self._waiting: deque[Waiting] = deque()
        self.n_redirected = 0
        """Number of waiting pages that redirected: a link to their target decides about them."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, page: Waiting) -> None:
        """Add a page."""
        self._waiting.append(page)
        self.n_redirected += page.texts is None

    def reached(self, form: bytes) -> Waiting | None:
        """Note that a link led to *form*; remove and return the page that redirected to it."""
        for place, page in enumerate(self._waiting):
            if page.texts is None and page.form == form:
                del self._waiting[place]
                self.n_redirected -= 1
                return page
        return None

    def shown_by_now(self) -> Iterator[Waiting]:
        """Remove and yield the pages whose content other pages have shown by now."""
        for _ in range(len(self._waiting)):
            page = self._waiting.popleft()
            if page.texts is not None and self._has_shown(page.texts):
                yield page
            else:
                self._waiting.append(page)

    def due(self, n_answers: int, *, is_idle: bool) -> Iterator[tuple[Waiting, bool | None]]:
        """Remove and yield pages that waited long enough (*is_idle*: all), each with its verdict."""
        while self._waiting:
            page = self._waiting[0]
            if not is_idle and len(self._waiting) <= MAX_WAITING and n_answers - page.n_answers <= PATIENCE:
                return
            self._waiting.popleft()
            self.n_redirected -= page.texts is None
            yield page, self._has_shown(page.texts) if page.texts is not None else False

    def clear(self) -> None:
        """Remove all pages: the forms now come from another model."""
        self._waiting.clear()
        self.n_redirected = 0


class ShownText:
    """Hashes of the texts of all added pages, in 4 MiB for any number of pages."""

    def __init__(self) -> None:
        self._shown = BloomFilter()
        self._n_on: Counter[bytes] = Counter()
        self._n_pages = 0

    @property
    def knows_frame(self) -> bool:
        """Return True if enough pages were added to know the frame; until then no text counts as shown."""
        return self._n_pages >= MIN_PAGES

    def add(self, page: FetchedPage) -> None:
        """Add a page that was not fetched to test a coverage rule."""
        texts = shown_texts(page)
        self._shown.add(texts)
        if self._n_pages < FIRST_PAGES:
            self._n_pages += 1
            self._n_on.update(texts.keys())  # keys(): a mapping would be read as counts

    def has_shown(self, texts: dict[bytes, int]) -> bool | None:
        """Return True if other pages show the *texts* of a page; None if it has too little text of its own."""
        if not self.knows_frame:
            return False
        least = max(FRAME_PAGES, FRAME_SHARE * self._n_pages)
        own = {text: n_bytes for text, n_bytes in texts.items() if self._n_on[text] < least}
        n_own = sum(own.values())
        if n_own < MIN_OWN:
            return None
        return sum(own[text] for text in self._shown.among(own)) >= SHOWN_SHARE * n_own


def shown_texts(page: FetchedPage) -> dict[bytes, int]:
    """Return digest -> length in bytes of each text between two tags, of each line, or of the whole binary body."""
    body, kind = page.body, page.content_type.lower()
    if "html" in kind or not kind:
        pieces = _TEXT.findall(b">" + without_scripts(body))
    elif "xml" in kind:
        pieces = _TEXT.findall(body.replace(b"<![CDATA[", b">").replace(b"]]>", b"<"))
    elif kind.startswith("text/"):
        pieces = body.splitlines()
    else:
        return {page.digest: page.n_bytes}
    folded = (b" ".join(piece.split()) for piece in pieces)
    return {xxhash.xxh3_128_digest(text): len(text) for text in folded if len(text) >= MIN_LETTERS}
