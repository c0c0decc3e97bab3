"""The texts that the fetched pages of a crawl have shown, to tell whether a page says anything new.

A page behind a covered template must say nothing new. It is no duplicate of one other page: a printed view has its own
title, a feed has the posts of ten pages. So its texts are looked for one by one among those of all fetched pages.
"""

from __future__ import annotations

import re
from collections import Counter

import xxhash

from dedup_crawler.live.comparing.owner_pages import FetchedPage
from dedup_crawler.live.seen.bloom_filter import BloomFilter
from dedup_crawler.live.walls.freeze import without_scripts

MIN_LETTERS = 12
"""Texts with fewer bytes, such as "Reply" or a price, stand on any page and say nothing of it."""
MIN_OWN = 40
"""Bytes of its own that a page needs for a verdict."""
SHOWN_SHARE = 0.9
"""Share (0-1) of its own bytes that other pages have to show."""
MIN_PAGES = 20
FIRST_PAGES = 200
"""Pages of which the site's frame is learnt."""
FRAME_PAGES = 4
FRAME_SHARE = 0.05
"""A text on so many of the first pages, and on this share (0-1) of them, is frame."""

_TEXT = re.compile(rb">([^<]+)")


class ShownText:
    """Hashes of the texts of all pages that were told; 4 MiB, of any number of pages."""

    def __init__(self) -> None:
        self._shown = BloomFilter()
        self._n_on: Counter[bytes] = Counter()
        self._n_pages = 0

    @property
    def knows_frame(self) -> bool:
        """Tell whether so many pages were seen that a page's own text is known; until then none counts as shown."""
        return self._n_pages >= MIN_PAGES

    def add(self, page: FetchedPage) -> None:
        """Take in a page that was reached otherwise."""
        texts = texts_of(page)
        self._shown.add(texts)
        if self._n_pages < FIRST_PAGES:
            self._n_pages += 1
            self._n_on.update(texts.keys())  # a mapping would be taken for counts

    def has_shown(self, texts: dict[bytes, int]) -> bool | None:
        """Tell whether other pages show what a page with these *texts* does; None if it has hardly any of its own."""
        if not self.knows_frame:
            return False
        least = max(FRAME_PAGES, FRAME_SHARE * self._n_pages)
        own = {text: n_bytes for text, n_bytes in texts.items() if self._n_on[text] < least}
        n_own = sum(own.values())
        if n_own < MIN_OWN:
            return None
        return sum(own[text] for text in self._shown.among(own)) >= SHOWN_SHARE * n_own


def texts_of(page: FetchedPage) -> dict[bytes, int]:
    """Digest -> bytes, of each text between two tags; a body that is no HTML is one text, or one a line."""
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
