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

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.compression import Gap, OnDamage, Progress, file_chunks
from dedup_crawler.pages.records import Page, Step
from dedup_crawler.pages.warc import MAX_BODY, RecordReader, WarcRecord, decoded_body, parse_message
from dedup_crawler.urls.normal import joined

_MEMBER = re.compile(r"archive/[^/]+\.warc(?:\.gz|\.zst)?", re.IGNORECASE)
_MAX_GROWTH = 100  # a WACZ file that grows more is a ZIP bomb
_N_WAITING = 4  # responses (with their bodies) that wait for their requests
_N_REQUESTS = 1000  # requests that wait for their responses
_STATUS = re.compile(r"HTTP/\d(?:\.\d)? +([1-5]\d\d)(?: |$)", re.ASCII)
_DATE = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(\.\d+)?(?:Z|\+00:00)?\Z")
_ID = re.compile(r"<[^>]*>")


@dataclass(slots=True)
class _Response:
    """A response that waits for its request."""

    page: Page
    position: int
    ids: frozenset[str]
    request: tuple[str, str | None] | None
    """Method and referrer."""


def read_warc(chunks: Iterable[bytes | Gap], on_damage: OnDamage, start: int = 0) -> Iterator[Step]:
    """Read the pages of a WARC file from its uncompressed *chunks*, except for those of the first *start* records.

    *on_damage* also gets each response that is no HTTP answer, or whose body is too large.
    """
    waiting: deque[_Response] = deque()
    requests: OrderedDict[str, tuple[str, str | None]] = OrderedDict()
    n_records = 0

    def ready(n_may_wait: int) -> Iterator[Step]:
        while waiting and (waiting[0].request or len(waiting) > n_may_wait):
            response = waiting.popleft()
            method, referrer = response.request or ("GET", None)
            if method == "GET":
                yield waiting[0].position if waiting else n_records, replace(response.page, referrer=referrer)

    for record in RecordReader(chunks, on_damage):
        kind = record.headers.get("warc-type", "").lower()
        url, ids = _target(record), _ids(record)
        if kind == "request":
            message = parse_message(record.block)
            request = message.first_line.partition(" ")[0].upper(), message.headers.get("referer") or None
            asked = (each for each in waiting if each.request is None and (each.ids & ids or each.page.url == url))
            if (response := next(asked, None)) is not None:
                response.request = request
            else:
                requests.update(dict.fromkeys((*ids, url), request))
                while len(requests) > _N_REQUESTS:
                    requests.popitem(last=False)
        elif kind == "response" and n_records >= start and (page := _page_of(record, url, on_damage)) is not None:
            found = [requests.pop(key) for key in (*ids, url) if key in requests]
            waiting.append(_Response(page, n_records, ids, found[0] if found else None))
        n_records += 1
        yield from ready(_N_WAITING)
    yield from ready(0)
    yield n_records, None


def _page_of(record: WarcRecord, url: str, on_damage: OnDamage) -> Page | None:
    """The page of a response; None for other schemes than http and https, and if it is no HTTP answer."""
    if not url:
        on_damage(record.offset, "a response without WARC-Target-URI")
    if not url.lower().startswith(("http:", "https:")):
        return None
    message = parse_message(record.block)
    status = _STATUS.match(message.first_line)
    if status is None:
        on_damage(record.offset, f"the response to {url} has no HTTP status line")
        return None
    content = decoded_body(message)
    if len(content) > MAX_BODY:
        on_damage(record.offset, f"the body of {url} unpacks to more than {MAX_BODY} bytes and was cut there")
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
    return joined(url, location) or location


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
