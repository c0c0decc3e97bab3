"""Walls: a site changes under the crawl, and one page answers for very many URLs, a login form or a captcha.

While that lasts nothing that is fetched says anything about the rules, nor about what a form's page is; so the filter
stands still: it drops nothing, and the forms that got the wall instead of their page are to be fetched again.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from itertools import islice

import xxhash

from dedup_crawler.labels.layout import BoundedCounter
from dedup_crawler.live.comparing.owner_pages import FetchedPage, pack, unpack

MAX_BYTES = 2**16
"""Bytes of a body that its signature is of."""
WINDOW = 200
"""Forms whose pages are looked at: the latest."""
SAMPLE = 16
"""Pages of which one is read; the others of the window are read only if these are suspicious, since reading is slow."""
WALL_SHARE = 0.2
"""Share (0-1) of the window above which one signature is a wall, if it was rare before."""
BEFORE_SHARE = 0.05
"""Share (0-1) of the pages before the window below which a signature was rare."""
MIN_BEFORE = 20
"""Least number of pages before the window."""
LAST = 50
"""Number of latest forms that show whether a wall is gone."""
GONE_SHARE = 0.1
"""Share (0-1) of them below which the signature of a wall that is gone lies."""
MAX_WALLS = 16
"""Walls that are remembered: they need no surprise when they come again."""
MAX_SIGNATURES = 20_000

_PLAIN = bytes(byte if chr(byte).isalpha() or byte > 127 else 48 if chr(byte).isdigit() else 32 for byte in range(256))
"""Byte -> itself if it is of a word, 0 for all digits, else a space."""
_SHOWN = re.compile(rb">([^<]+)")


def page_signature(body: bytes) -> int:
    """64-bit hash of the words that a page shows, without scripts and whatever has a digit: the same for one wall.

    A wall may tell each visitor the time and a token. Attributes do not count either, so that a form may carry another
    token, and where it leads back to, on each page. Crawls make very many of them: no word is looked at by itself.
    """
    # what stands between tags; what follows a "<" is of a tag, up to the next ">"
    text = b" ".join(_SHOWN.findall(b">" + without_scripts(body[:MAX_BYTES]))).translate(_PLAIN)
    # what a digit touches, up to the next space on both sides, is cut out
    first, *behind = (b" " + text + b" ").split(b"0")
    words = [first.rpartition(b" ")[0], *[piece.partition(b" ")[2].rpartition(b" ")[0] for piece in behind if piece]]
    return xxhash.xxh3_64_intdigest(b" ".join(words).translate(None, b" "))


def without_scripts(body: bytes) -> bytes:
    """A body less its scripts and styles.

    Found by searching, not by a pattern, whose time would grow with the square of scripts that are never closed.
    """
    lowered = body.lower()
    for name in (b"script", b"style"):
        pieces, place = [], 0
        while (start := lowered.find(b"<" + name, place)) >= 0:
            pieces.append((place, start))
            end = lowered.find(b"</" + name, start)
            place = end if end >= 0 else len(lowered)
        if pieces:
            pieces.append((place, len(lowered)))
            body = b" ".join(body[first:last] for first, last in pieces)
            lowered = b" ".join(lowered[first:last] for first, last in pieces)
    return body


class WatchedPage:
    """The page of a form, of which the signature is made when it is asked for."""

    __slots__ = ("_packed", "_signature")

    def __init__(self, page: FetchedPage) -> None:
        # bounded: two hundred pages of every host are watched
        self._packed = page.packed if page.n_bytes <= MAX_BYTES else pack(page.body[:MAX_BYTES])
        self._signature: int | None = None

    @property
    def is_read(self) -> bool:
        """Return True if the signature was made."""
        return self._signature is not None

    @property
    def signature(self) -> int:
        """Signature of the page, see :func:`page_signature`."""
        if self._signature is None:
            self._signature = page_signature(unpack(self._packed))
            self._packed = b""
        return self._signature


class SiteFreeze:
    """Watches the pages of one site and says when they are none."""

    def __init__(self) -> None:
        self._window: OrderedDict[bytes, WatchedPage] = OrderedDict()  # form -> its page, the latest last
        self._n_in_window: Counter[int] = Counter()  # of the pages that were read
        self._before: BoundedCounter[int] = BoundedCounter(MAX_SIGNATURES)
        self._n_before = 0
        self._n_seen = 0
        self._walls: OrderedDict[int, None] = OrderedDict()
        self._wall: int | None = None

    @property
    def is_frozen(self) -> bool:
        """Return True if a wall stands."""
        return self._wall is not None

    def wall_forms(self) -> list[bytes]:
        """The forms of the window that got the wall instead of a page, the earliest first."""
        if self._wall is None:
            return []
        return [form for form, page in self._window.items() if page.signature == self._wall]

    def is_wall(self, page: WatchedPage) -> bool:
        """Return True if a page is the wall that stands."""
        return self._wall is not None and page.signature == self._wall

    def see(self, form_digest: bytes, page: WatchedPage) -> bool:
        """Take in the page of a form; whether the freeze began or ended with it."""
        self._leave(form_digest)  # a form counts once
        self._window[form_digest] = page
        if page.is_read:
            self._n_in_window[page.signature] += 1
        if len(self._window) > WINDOW:
            gone = self._leave(next(iter(self._window)))
            if gone is not None and gone not in self._walls:
                self._before.update([gone])
                self._n_before += 1
        if self.is_frozen:
            self._read(page)
            return self._thaw()
        self._n_seen += 1
        return self._n_seen % SAMPLE == 0 and self._freeze(page)

    def _read(self, page: WatchedPage) -> int:
        """Signature of a page of the window, which counts from now on."""
        if not page.is_read:
            self._n_in_window[page.signature] += 1
        return page.signature

    def _leave(self, form_digest: bytes) -> int | None:
        """Let go of a form; gives the signature of its page, if that was read."""
        page = self._window.pop(form_digest, None)
        if page is None or not page.is_read:
            return None
        self._n_in_window[page.signature] -= 1
        if not self._n_in_window[page.signature]:
            del self._n_in_window[page.signature]
        return page.signature

    def _freeze(self, page: WatchedPage) -> bool:
        signature = self._read(page)
        known = signature in self._walls
        n_wanted = WALL_SHARE * (LAST if known else WINDOW)
        if self._n_in_window[signature] <= n_wanted / SAMPLE or not (known or self._is_sudden(signature)):
            return False
        for each in self._window.values():
            self._read(each)
        if self._n_in_window[signature] <= n_wanted:
            return False
        self._wall = signature
        self._walls[signature] = None
        self._walls.move_to_end(signature)
        if len(self._walls) > MAX_WALLS:
            self._walls.popitem(last=False)
        return True

    def _is_sudden(self, signature: int) -> bool:
        """Return True if enough other pages came before the first of the window that has a signature; reads those."""
        n_before = self._n_before
        if n_before < MIN_BEFORE:
            n_before += next(place for place, each in enumerate(self._window.values()) if self._read(each) == signature)
        return n_before >= MIN_BEFORE and self._before[signature] < BEFORE_SHARE * n_before

    def _thaw(self) -> bool:
        latest = [page.signature for page in islice(reversed(self._window.values()), LAST)]
        if len(latest) < LAST or latest.count(self._wall or 0) >= GONE_SHARE * LAST:
            return False
        for form in self.wall_forms():  # they are fetched again; left in the window they would be the next wall
            self._leave(form)
        self._wall = None
        return True
