"""Texts that a page shows, found by plain searches in its bytes: parsing every page would be slow.

They tell walls and empty pages, and whether a covered page shows anything that no other page does. A covered page need
not be a duplicate of one page: a printed view has its own title, a feed shows the posts of ten pages. So each of its
texts is looked up among the texts of all fetched pages.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

import xxhash

from dedup_crawler.live.collecting.response_page import FetchedPage

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
MAX_BYTES = 2**16
"""Bytes of a body from which its signature is made."""
MAX_EMPTY_BYTES = 4_096
"""A longer body counts as a page, if only for its scripts."""
_NOT_EMPTY = re.compile(rb">\s*[^<\s]")
_LEADS_ON = re.compile(rb"\b(?:href|src|action|data|content)\s*=", re.IGNORECASE)
_PLAIN = bytes(byte if chr(byte).isalpha() or byte > 127 else 48 if chr(byte).isdigit() else 32 for byte in range(256))
"""Byte -> itself if part of a word, "0" for all digits, else a space."""
_N_BITS = 1 << 25  # 4 MiB


@lru_cache(16)  # the same page is looked at for each of its forms
def signature_of(page: FetchedPage) -> int:
    """Return a 64-bit hash of a page's visible words without digits, which is equal for all answers of a wall.

    A wall may show each visitor the time and a token. Attributes do not count either, because a form may carry a new
    token and return address on each page. For speed, no word is processed on its own.
    """
    # keep text between tags; a tag goes from "<" to the next ">"
    text = b" ".join(_TEXT.findall(b">" + without_scripts(page.body[:MAX_BYTES]))).translate(_PLAIN)
    # remove each word that contains a digit
    first, *behind = (b" " + text + b" ").split(b"0")
    words = [first.rpartition(b" ")[0], *[piece.partition(b" ")[2].rpartition(b" ")[0] for piece in behind if piece]]
    return xxhash.xxh3_64_intdigest(b" ".join(words).translate(None, b" "))


def without_scripts(body: bytes) -> bytes:
    """Return a body without scripts and styles.

    It uses plain searches: a regular expression would take quadratic time on scripts that are never closed.
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


def says_nothing(body: bytes, content_type: str) -> bool:
    """Return True if a body is empty, or short HTML without text and links."""
    if len(body) > MAX_EMPTY_BYTES:
        return False
    if not body.strip():
        return True
    if "html" not in content_type.lower() or b"<script" in body.lower():
        return False
    return not _NOT_EMPTY.search(b">" + without_scripts(body)) and not _LEADS_ON.search(body)


class ShownText:
    """Texts of all added pages, in a Bloom filter of 4 MiB for any number of pages.

    Python's keyed hash chooses one bit a text, so that no site can predict it. With a million texts, 3 % of the others
    look as if they were shown; with ten million 26 %.
    """

    def __init__(self) -> None:
        self._bits = bytearray(_N_BITS >> 3)
        self._n_on: Counter[bytes] = Counter()
        self._n_pages = 0

    @property
    def knows_frame(self) -> bool:
        """Return True if enough pages were added to know the frame; until then no text counts as shown."""
        return self._n_pages >= MIN_PAGES

    def add(self, page: FetchedPage) -> None:
        """Add a page that was not fetched to test a coverage rule."""
        texts = shown_texts(page)
        for text in texts:
            bit = hash(text) % _N_BITS
            self._bits[bit >> 3] |= 1 << (bit & 7)
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
        return sum(n_bytes for text, n_bytes in own.items() if self._has(text)) >= SHOWN_SHARE * n_own

    def _has(self, text: bytes) -> bool:
        bit = hash(text) % _N_BITS
        return bool(self._bits[bit >> 3] >> (bit & 7) & 1)


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
