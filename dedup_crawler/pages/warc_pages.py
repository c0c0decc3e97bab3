"""Makes pages of the records of a WARC file, or of the WARC files in a WACZ file.

A ``response`` record is a page. Its ``request`` record, before or after it, has the method and the Referer. The two are
matched by WARC-Concurrent-To, or without it by WARC-Target-URI. Everything else is skipped: ``revisit`` (no body; the
repeated page has its own record), ``resource``, ``conversion`` and ``metadata`` (no HTTP answer), answers to other
methods than GET, and other schemes than http and https.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import urljoin

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.compression import Gap, OnDamage, Progress, file_chunks
from dedup_crawler.pages.records import Page, Step
from dedup_crawler.pages.warc import MAX_BODY, RecordReader, WarcRecord, decoded_body, parse_message

_MEMBER = re.compile(r"archive/[^/]+\.warc(?:\.gz|\.zst)?", re.IGNORECASE)
_MAX_GROWTH = 100  # a WACZ file that grows more is a ZIP bomb
_N_WAITING = 4  # responses (with their bodies) that wait for their requests
_N_REQUESTS = 1000  # requests that wait for their responses
_STATUS = re.compile(r"HTTP/\d(?:\.\d)? +(\d{3})(?: |$)")
_DATE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(\.\d+)?(?:Z|\+00:00)?\Z")
_ID = re.compile(r"<[^>]*>")


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    referrer: str | None


@dataclass(slots=True)
class _WaitingResponse:
    """A response that waits for its request."""

    page: Page
    position: int
    ids: frozenset[str]
    request: _Request | None


def read_warc(chunks: Iterable[bytes | Gap], on_damage: OnDamage, start: int = 0) -> Iterator[Step]:
    """Read the pages of a WARC file from its uncompressed *chunks*, except for those of the first *start* records."""
    return iter(_PageReader(RecordReader(chunks, on_damage), on_damage, start))


class _PageReader:
    """Makes pages of the *records* of one file, except for the first *start* records.

    *on_damage* gets the offset and the reason for each response that is no HTTP answer, or whose body is too large.
    """

    def __init__(self, records: Iterable[WarcRecord], on_damage: OnDamage, start: int = 0) -> None:
        self._records = records
        self._on_damage = on_damage
        self._start = start
        self._waiting: deque[_WaitingResponse] = deque()
        self._requests: OrderedDict[str, _Request] = OrderedDict()
        self._n_records = 0

    def __iter__(self) -> Iterator[Step]:
        for record in self._records:
            kind = record.headers.get("warc-type", "").lower()
            if kind == "request":
                self._take_request(record)
            elif kind == "response" and self._n_records >= self._start:
                self._take_response(record)
            self._n_records += 1
            yield from self._ready(_N_WAITING)
        yield from self._ready(0)
        yield self._n_records, None

    def _ready(self, n_may_wait: int) -> Iterator[Step]:
        while self._waiting and (self._waiting[0].request or len(self._waiting) > n_may_wait):
            response = self._waiting.popleft()
            request = response.request
            n_done = self._waiting[0].position if self._waiting else self._n_records
            if request is None:
                yield n_done, response.page
            elif request.method == "GET":
                yield n_done, replace(response.page, referrer=request.referrer)

    def _take_request(self, record: WarcRecord) -> None:
        message = parse_message(record.block)
        method = message.first_line.partition(" ")[0].upper()
        request = _Request(method, message.headers.get("referer") or None)
        url, ids = _target(record), _ids(record)
        for response in self._waiting:
            if response.request is None and (response.ids & ids or response.page.url == url):
                response.request = request
                return
        for key in (*ids, url):
            self._requests[key] = request
        while len(self._requests) > _N_REQUESTS:
            self._requests.popitem(last=False)

    def _take_response(self, record: WarcRecord) -> None:
        url = _target(record)
        if not url.lower().startswith(("http:", "https:")):
            if not url:
                self._on_damage(record.offset, "a response without WARC-Target-URI")
            return
        page = self._page(record, url)
        if page is None:
            self._on_damage(record.offset, f"the response to {url} has no HTTP status line")
            return
        ids = _ids(record)
        found = [self._requests.pop(key) for key in (*ids, url) if key in self._requests]
        self._waiting.append(_WaitingResponse(page, self._n_records, ids, found[0] if found else None))

    def _page(self, record: WarcRecord, url: str) -> Page | None:
        message = parse_message(record.block)
        status = _STATUS.match(message.first_line)
        if status is None or not 100 <= int(status[1]) <= 599:
            return None
        content = decoded_body(message)
        if len(content) > MAX_BODY:
            self._on_damage(record.offset, f"the body of {url} unpacks to more than {MAX_BODY} bytes and was cut there")
        return Page(
            url=url,
            status=int(status[1]),
            redirect_to=target_of_answer(url, int(status[1]), message.headers.get("location")),
            content_type=message.headers.get("content-type"),
            content=content[:MAX_BODY],
            fetched_at=timestamp(record.headers.get("warc-date", "")),
        )


def read_wacz(path: Path, on_damage: OnDamage, progress: Progress | None = None, start: int = 0) -> Iterator[Step]:
    """Read the pages of a WACZ file, a ZIP file with WARC files in its folder ``archive``, without unpacking it.

    The damage offsets count in the WARC file that the reason names.
    """
    n_before = n_bytes = 0
    with zipfile.ZipFile(path) as archive:
        for member in warc_members(path):
            n_done = 0

            def told(offset: int, reason: str, name: str = member.filename) -> None:
                on_damage(offset, f"{name!r}: {reason}")

            for n_done, page in read_warc(_chunks(archive, member), told, start - n_before):
                yield n_before + n_done, page
            n_before += n_done
            n_bytes += member.compress_size
            if progress is not None:
                progress(path.name, n_bytes, path.stat().st_size)


def warc_members(path: Path) -> list[zipfile.ZipInfo]:
    """List the WARC files in a WACZ file; BadInputError if there are none, or if the file is a ZIP bomb."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if _MEMBER.fullmatch(member.filename)]
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise BadInputError(f"{path} begins like a ZIP file but cannot be read as one ({error}).") from None
    if not members:
        raise BadInputError(
            f"{path} is a ZIP file without archive/*.warc.gz, so it is not a WACZ; save a spreadsheet as CSV."
        )
    if sum(member.file_size for member in members) > _MAX_GROWTH * path.stat().st_size:
        raise BadInputError(f"{path} would grow more than {_MAX_GROWTH} times: it looks like a ZIP bomb.")
    return members


def _chunks(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes | Gap]:
    try:
        with archive.open(member) as file:
            yield from file_chunks(file)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:  # encrypted: RuntimeError
        yield Gap(f"damaged ZIP member: {error}")


def target_of_answer(url: str, status: int, location: str | None) -> str | None:
    """Absolute URL that a 3xx answer leads to; None for other answers."""
    if not location or not 300 <= status <= 399:
        return None
    try:
        return urljoin(url, location)
    except ValueError:  # an invalid URL, for example a bracket that is no IPv6 address
        return location


def timestamp(date: str) -> float | None:
    """Seconds since 1970 of an ISO 8601 date in UTC, with any number of decimals; None for other texts."""
    match = _DATE.match(date.strip())
    if match is None:
        return None
    try:
        whole = datetime.fromisoformat(match[1]).replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return whole.timestamp() + float(match[2] or 0)


def _target(record: WarcRecord) -> str:
    url = record.headers.get("warc-target-uri", "")
    return url[1:-1] if url.startswith("<") and url.endswith(">") else url  # as old versions of wget wrote it


def _ids(record: WarcRecord) -> frozenset[str]:
    """Identifiers of the record and of the records that were written with it."""
    text = record.headers.get("warc-record-id", "") + record.headers.get("warc-concurrent-to", "")
    return frozenset(_ID.findall(text))
