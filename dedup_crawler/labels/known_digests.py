"""Pages that an export describes without their bodies: those with equal digests are byte for byte the same.

That is the surest evidence there is, but for pages on which a program of the page itself writes the content, for log-in
forms and the like: one body, shown at very many addresses, says nothing about what these show. So a body that too many
URLs share joins none of them. Only good answers count: the body of a redirect or an error is not what it is about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import xxhash

from dedup_crawler.pages.records import LabelledPage

MAX_SHARE = 0.1
"""Of the pages that are known by digest; a body that more of them share says nothing ..."""
FEW_URLS = 10
"""... unless these are few."""
SAME_BODY = "the same body, byte for byte"
"""Reason of these joins."""


class KnownDigests:
    """Learns the digests of a crawl's pages, shown in crawl order."""

    def __init__(self) -> None:
        self._digest_of: dict[int, int] = {}

    def see(self, position: int, page: LabelledPage) -> None:
        """Learn from the page at *position*."""
        if page.digest is not None and not page.main_text and 200 <= page.status < 300:
            told = f"{page.status} {page.digest}".encode(errors="replace")
            self._digest_of[position] = xxhash.xxh3_64_intdigest(told)

    def joins(self) -> Iterator[tuple[int, int, str]]:
        """Position of each page, position of the first of the same body, reason."""
        n_urls = Counter(self._digest_of.values())
        most = max(FEW_URLS, MAX_SHARE * len(self._digest_of))
        first: dict[int, int] = {}
        for position, digest in self._digest_of.items():
            if n_urls[digest] <= most:
                yield first.setdefault(digest, position), position, SAME_BODY
