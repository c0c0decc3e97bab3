"""The pages that were fetched for canonical forms, as far as memory goes: what an explored page is compared with."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import xxhash
import zstandard

from dedup_crawler.evidence.frame_of_time import N_BESIDE

MAX_BODY = 2**20
"""Bytes of a body that are kept and compared; of a longer one the rest counts through the digest alone."""
MAX_BYTES = 32 * 2**20
_OVERHEAD = 500
"""Bytes that an entry takes beside its body and its texts, about."""

pack = zstandard.ZstdCompressor(level=1).compress
_unpack = zstandard.ZstdDecompressor().decompress


def unpack(packed: bytes) -> bytes:
    """Return the argument of :func:`pack`: at most :data:`MAX_BODY` bytes."""
    return _unpack(packed, max_output_size=MAX_BODY)


class FetchedPage(NamedTuple):
    """One good answer, cut to what pages are compared by; most are never looked at again."""

    url: str
    """As requested."""
    final_url: str
    """As answered: where the redirects ended."""
    content_type: str
    """Header as received; empty where there was none."""
    packed: bytes
    """The first :data:`MAX_BODY` bytes of the body, content encodings undone, compressed: HTML takes a fifth."""
    n_bytes: int
    """Of the whole body."""
    digest: bytes
    """16 bytes, of the whole body."""

    @classmethod
    def of(cls, url: str, final_url: str, content_type: str, body: bytes) -> FetchedPage:
        """Cut an answer."""
        return cls(url, final_url, content_type, pack(body[:MAX_BODY]), len(body), xxhash.xxh3_128_digest(body))

    @property
    def body(self) -> bytes:
        """The kept part of the body."""
        return unpack(self.packed)

    @property
    def is_cut(self) -> bool:
        """Return True if the body was longer than what is kept of it."""
        return self.n_bytes > MAX_BODY


Beside = tuple[Sequence[FetchedPage], Sequence[FetchedPage]]
"""Pages that were fetched just before one, and just after it; the nearest first."""


class OwnerPages:
    """Pages by the digest of the canonical form that they answer for; the least recently used go first.

    Parameters
    ----------
    max_bytes
        Of all that is kept; a page that alone is more is not kept.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        # as plain tuples, which the garbage collector stops looking at: there is one for every page of a crawl
        self._pages: OrderedDict[bytes, tuple[Any, ...]] = OrderedDict()
        self._n_put = 0
        self.n_bytes = 0
        """Memory that the pages take, about."""

    def __len__(self) -> int:
        return len(self._pages)

    def __contains__(self, form_digest: bytes) -> bool:
        return form_digest in self._pages

    def put(self, form_digest: bytes, page: FetchedPage) -> None:
        """Keep the page of a form, in place of an earlier one."""
        self.forget(form_digest)
        size = _size(page)
        if size > self._max_bytes:
            return
        while self.n_bytes + size > self._max_bytes:
            _, (*oldest, _) = self._pages.popitem(last=False)
            self.n_bytes -= _size(FetchedPage(*oldest))
        self._n_put += 1
        self._pages[form_digest] = (*page, self._n_put)
        self.n_bytes += size

    def get(self, form_digest: bytes) -> FetchedPage | None:
        """The page of a form, if it is still there."""
        page = self._pages.get(form_digest)
        if page is None:
            return None
        self._pages.move_to_end(form_digest)
        return FetchedPage(*page[:-1])

    def beside(self, form_digest: bytes) -> Beside:
        """The pages that came just before that of a form, and those just after it, the nearest first."""
        page = self._pages.get(form_digest)
        if page is None:
            return [], []
        place = page[-1]
        near = sorted(
            (each for each in self._pages.values() if abs(each[-1] - place) <= N_BESIDE),
            key=lambda each: abs(each[-1] - place),
        )
        return (
            [FetchedPage(*each[:-1]) for each in near if each[-1] < place],
            [FetchedPage(*each[:-1]) for each in near if each[-1] > place],
        )

    def latest(self) -> list[FetchedPage]:
        """The pages that came last, the latest first."""
        near = (each for each in self._pages.values() if self._n_put - each[-1] <= N_BESIDE)
        return [FetchedPage(*each[:-1]) for each in sorted(near, key=lambda each: -each[-1])]

    def items(self) -> Iterator[tuple[bytes, FetchedPage]]:
        """All pages that are kept, with the forms that they answer for."""
        return ((form, FetchedPage(*page[:-1])) for form, page in self._pages.items())

    def forget(self, form_digest: bytes) -> None:
        """Drop the page of a form, if there is one: its owner was released, or another takes its place."""
        page = self._pages.pop(form_digest, None)
        if page is not None:
            self.n_bytes -= _size(FetchedPage(*page[:-1]))

    def clear(self) -> None:
        """Forget all: the forms are those of another model."""
        self._pages.clear()
        self.n_bytes = 0


def _size(page: FetchedPage) -> int:
    return len(page.packed) + len(page.url) + len(page.final_url) + len(page.content_type) + _OVERHEAD
