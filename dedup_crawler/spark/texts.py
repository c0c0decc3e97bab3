"""Reads the texts of pages, and compresses them for the way to where their host is learnt.

A page may crash the process that parses it, or never end. The first try of a task parses here, which is cheaper than
in other processes, and has the process end with such a page. The next try leaves each page to a process beside this
one, as ``dedup-crawler label`` does, and only the text of that page is lost.
"""

from __future__ import annotations

import functools
import json
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import NamedTuple

import pyarrow as pa
import zstandard
from pyspark import TaskContext

from dedup_crawler.labels.main_text import MAX_SECONDS, Outcome, TextReader, clean_page, links_of
from dedup_crawler.pages.records import LabelledPage, Page
from dedup_crawler.pages.tables import storable
from dedup_crawler.spark.inputs import Input, Shares, read_pages, sort_of
from dedup_crawler.spark.session import Row
from dedup_crawler.urls.normal import host_of, normal_form

TEXTS = pa.schema([("host", pa.string()), ("n_letters", pa.int64()), ("text", pa.binary())])
"""Columns of a frame of texts: host, number of letters of text and links, and a compressed :class:`Text`."""

_COMPRESSOR, _DECOMPRESSOR = zstandard.ZstdCompressor(level=1), zstandard.ZstdDecompressor()
_FIELDS = attrgetter(*(each.name for each in fields(LabelledPage)))  # faster than astuple, which copies


class Text(NamedTuple):
    """What learning needs of one page. Characters that a store refuses are replaced as the store does."""

    source: int
    """Source and position: the order of the crawl."""
    position: int
    page: LabelledPage
    has_body: bool
    is_skipped: bool
    """True if its text could not be read."""
    links: Sequence[str]
    """Its links within the host."""

    def compressed(self) -> bytes:
        """The text as JSON in a zstd frame."""
        return _COMPRESSOR.compress(json.dumps(self, default=_FIELDS, ensure_ascii=False).encode())

    @classmethod
    def of(cls, compressed: bytes) -> Text:
        """Read what :meth:`compressed` wrote."""
        source, position, page, *rest = json.loads(_DECOMPRESSOR.decompress(compressed))
        return cls(source, position, LabelledPage(*page), *rest)


def texts_of(number: int, source: Input, plan: Mapping[str, Shares]) -> Iterator[Row]:
    """Read the texts of the pages of an input that *plan* (host -> what is kept) asks for, as rows of :data:`TEXTS`."""
    waiting: deque[tuple[str, int, Page]] = deque()

    def pages() -> Iterator[Page]:
        for host, position, page in _wanted(source, plan):
            waiting.append((host, position, page))
            yield Page(page.url, page.status, content_type=storable(page.content_type), content=page.content)

    task = TaskContext.get()
    is_first_try = task is not None and task.attemptNumber() == 0
    for text, reason in _read_here(pages()) if is_first_try else _reader().read(pages()):
        host, position, page = waiting.popleft()
        labelled = LabelledPage(
            url=page.url,
            referrer=storable(page.referrer),
            status=page.status,
            redirect_to=page.redirect_to,
            title=storable(text.title),
            main_text=storable(text.main_text),
            simhash=None,
            cluster=None,
            digest=storable(text.digest if page.content else page.digest),
        )
        found = links_of(page) if reason is None else ()
        links = [link for link in map(storable, found) if host_of(normal_form(link)) == host]
        yield {
            "host": host,
            "n_letters": len(labelled.main_text) + sum(map(len, links)),
            "text": Text(number, position, labelled, bool(page.content), reason is not None, links).compressed(),
        }


def _wanted(source: Input, plan: Mapping[str, Shares]) -> Iterator[tuple[str, int, Page]]:
    """Host, position and page of the pages of an input that *plan* asks for."""
    for position, page in enumerate(read_pages(source)):
        if not isinstance(page, Page):
            continue
        host, template, key = sort_of(page.url, page.redirect_to)
        shares = plan.get(host)
        if shares is not None and (not shares or key < shares.get(template, 1.0)):
            yield host, position, page


def _read_here(pages: Iterable[Page]) -> Iterator[Outcome]:
    """Read texts in this process, which the alarm clock ends if a page takes too long."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for page in pages:
        signal.setitimer(signal.ITIMER_REAL, MAX_SECONDS)
        found = clean_page(page, with_fingerprint=False)
        signal.setitimer(signal.ITIMER_REAL, 0)
        yield found


@functools.cache
def _reader() -> TextReader:
    return TextReader(1)
