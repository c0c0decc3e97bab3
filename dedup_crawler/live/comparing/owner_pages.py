"""Memory-bounded store of the owners' pages, which explored pages are compared with."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import xxhash
import zstandard

from dedup_crawler.evidence.site_text import N_BESIDE

MAX_BODY = 2**20
"""Bytes of a body that are kept and compared; the rest of a longer body counts only through the digest."""
MAX_BYTES = 32 * 2**20
"""Bound on all kept pages; a page larger than this is not kept."""
_OVERHEAD = 500
"""Approximate bytes of an entry besides its body and its texts."""

compress = zstandard.ZstdCompressor(level=1).compress
_decompress = zstandard.ZstdDecompressor().decompress


def decompress(packed: bytes) -> bytes:
    """Return the argument of :func:`compress`: at most :data:`MAX_BODY` bytes."""
    return _decompress(packed, max_output_size=MAX_BODY)


class FetchedPage(NamedTuple):
    """One good answer, reduced to the data needed to compare pages."""

    url: str
    """As requested."""
    final_url: str
    """URL of the response, after redirects."""
    content_type: str
    """Header as received; empty if there was none."""
    packed: bytes
    """The first :data:`MAX_BODY` bytes of the body, without content encodings, compressed (HTML to a fifth)."""
    n_bytes: int
    """Length of the whole body."""
    digest: bytes
    """16-byte hash of the whole body."""

    @classmethod
    def of(cls, url: str, final_url: str, content_type: str, body: bytes) -> FetchedPage:
        """Reduce an answer to a page."""
        return cls(url, final_url, content_type, compress(body[:MAX_BODY]), len(body), xxhash.xxh3_128_digest(body))

    @property
    def body(self) -> bytes:
        """The kept part of the body."""
        return decompress(self.packed)

    @property
    def is_cut(self) -> bool:
        """Return True if the body was longer than its kept part."""
        return self.n_bytes > MAX_BODY


Beside = tuple[Sequence[FetchedPage], Sequence[FetchedPage]]
"""Pages fetched just before a page, and just after it; the nearest first."""


class OwnerPages:
    """Form digest -> page; the least recently used pages are removed first."""

    def __init__(self) -> None:
        self._pages: OrderedDict[bytes, tuple[int, FetchedPage]] = OrderedDict()  # form -> place in the crawl, page
        self._n_put = 0
        self.n_bytes = 0
        """Approximate memory of the pages."""

    def __len__(self) -> int:
        return len(self._pages)

    def __contains__(self, form_digest: bytes) -> bool:
        return form_digest in self._pages

    def put(self, form_digest: bytes, page: FetchedPage) -> None:
        """Keep the page of a form, replacing an earlier one."""
        self.forget(form_digest)
        size = _size(page)
        if size > MAX_BYTES:
            return
        while self.n_bytes + size > MAX_BYTES:
            self.n_bytes -= _size(self._pages.popitem(last=False)[1][1])
        self._n_put += 1
        self._pages[form_digest] = self._n_put, page
        self.n_bytes += size

    def get(self, form_digest: bytes) -> FetchedPage | None:
        """Return the page of a form, if it is kept."""
        if form_digest not in self._pages:
            return None
        self._pages.move_to_end(form_digest)
        return self._pages[form_digest][1]

    def beside(self, form_digest: bytes) -> Beside:
        """Return the pages fetched just before that of a form, and just after it, the nearest first."""
        if form_digest not in self._pages:
            return [], []
        place, _ = self._pages[form_digest]
        return self._between(place - N_BESIDE, place - 1)[::-1], self._between(place + 1, place + N_BESIDE)

    def latest(self) -> list[FetchedPage]:
        """Return the last pages, the latest first."""
        return self._between(self._n_put - N_BESIDE, self._n_put)[::-1]

    def _between(self, first: int, last: int) -> list[FetchedPage]:
        return [page for _, page in sorted(each for each in self._pages.values() if first <= each[0] <= last)]

    def items(self) -> Iterator[tuple[bytes, FetchedPage]]:
        """Yield form digest and page of all kept pages."""
        return ((form, page) for form, (_, page) in self._pages.items())

    def forget(self, form_digest: bytes) -> None:
        """Remove the page of a form, if it is kept: its owner was released or replaced."""
        if form_digest in self._pages:
            self.n_bytes -= _size(self._pages.pop(form_digest)[1])

    def clear(self) -> None:
        """Remove all pages: the forms now come from another model."""
        self._pages.clear()
        self.n_bytes = 0


def _size(page: FetchedPage) -> int:
    return len(page.packed) + len(page.url) + len(page.final_url) + len(page.content_type) + _OVERHEAD
