"""Reads the texts of pages, and packs those of a host, so that Spark moves few rows.

A page may crash the process that parses it, or never end. The first try of a task parses here, which is cheaper than
in other processes, and has the process end with such a page. The next try leaves each page to a process beside this
one, as ``dedup-crawler label`` does, and only the text of that page is lost.
"""

from __future__ import annotations

import functools
import json
import signal
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import zstandard
from pyspark import TaskContext

from dedup_crawler.labels.main_text import MAX_SECONDS, Outcome, TextReader, clean_page, links_of
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.tables import storable
from dedup_crawler.spark.inputs import Input, Shares, read_pages, sort_of
from dedup_crawler.spark.session import Row
from dedup_crawler.urls.normal import host_of, normal_form

PACKS = pa.schema([("host", pa.string()), ("n_letters", pa.int64()), ("texts", pa.binary())])
"""Columns of a data frame of packs: some texts of a host, and the number of letters of them and of their links."""

_MAX_TEXTS = 1000  # of a pack
_MAX_LETTERS = 2**20  # of a pack, and one text more
_MAX_WAITING = 2**24  # letters of the packs that are being filled
_COMPRESSION_LEVEL = 1


class Text(NamedTuple):
    """The fields of one page that learning needs. Characters that a store refuses are replaced as the store does."""

    source: int
    """Source and position: the order of the crawl."""
    position: int
    url: str
    status: int
    referrer: str | None
    redirect_to: str | None
    title: str
    main_text: str
    digest: str | None
    has_body: bool
    is_skipped: bool
    """True if its text could not be read."""
    links: Sequence[str]
    """Its links within the host."""


def packs_of(number: int, source: Input, plan: Mapping[str, Shares]) -> Iterator[Row]:
    """Read the texts of the pages of an input that *plan* (host -> what is kept) asks for, as rows of :data:`PACKS`."""
    return packed(texts_of(number, _wanted(source, plan)))


def texts_of(number: int, wanted: Iterable[tuple[str, int, Page]]) -> Iterator[tuple[str, Text]]:
    """Texts of pages, each with its host; *wanted* are host, position and page, *number* is that of their source."""
    waiting: list[tuple[str, int, Page]] = []

    def pages() -> Iterator[Page]:
        for host, position, page in wanted:
            waiting.append((host, position, page))
            yield Page(page.url, page.status, content_type=storable(page.content_type), content=page.content)

    task = TaskContext.get()
    is_first_try = task is not None and task.attemptNumber() == 0
    for text, reason in _read_here(pages()) if is_first_try else _reader().read(pages()):
        host, position, page = waiting.pop(0)
        yield (
            host,
            Text(
                source=number,
                position=position,
                url=page.url,
                status=page.status,
                referrer=storable(page.referrer),
                redirect_to=page.redirect_to,
                title=storable(text.title),
                main_text=storable(text.main_text),
                digest=storable(text.digest if page.content else page.digest),
                has_body=bool(page.content),
                is_skipped=reason is not None,
                links=[link for link in map(storable, links_of(page)) if _is_on(link, host)] if reason is None else [],
            ),
        )


def _is_on(url: str, host: str) -> bool:
    return host_of(normal_form(url)) == host


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


def packed(texts: Iterable[tuple[str, Text]]) -> Iterator[Row]:
    """Pack texts with their hosts, as rows of :data:`PACKS`; memory holds some megabytes of texts."""
    compressor = zstandard.ZstdCompressor(_COMPRESSION_LEVEL)
    waiting: defaultdict[str, list[Text]] = defaultdict(list)
    n_letters: Counter[str] = Counter()
    n_waiting = 0

    def pack(host: str) -> Row:
        texts = json.dumps(waiting.pop(host), ensure_ascii=False, separators=(",", ":"))
        return {"host": host, "n_letters": n_letters.pop(host), "texts": compressor.compress(texts.encode())}

    for host, text in texts:
        waiting[host].append(text)
        n_of_text = len(text.main_text) + sum(map(len, text.links))
        n_letters[host] += n_of_text
        n_waiting += n_of_text
        if len(waiting[host]) >= _MAX_TEXTS or n_letters[host] >= _MAX_LETTERS:
            n_waiting -= n_letters[host]
            yield pack(host)
        elif n_waiting >= _MAX_WAITING:
            yield from map(pack, list(waiting))
            n_waiting = 0
    yield from map(pack, list(waiting))


def unpacked(texts: bytes) -> list[Text]:
    """The texts of a pack."""
    return [Text(*each) for each in json.loads(zstandard.decompress(texts))]
