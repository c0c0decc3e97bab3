r"""Reads the accesses of web-server logs, one on each line.

The formats are the Common Log Format, the Combined Log Format (with referrer and user agent)::

    10.0.0.1 - - [12/Dec/2015:18:25:11 +0100] "GET /topic?t=4 HTTP/1.1" 200 4263 "http://a.example/" "Mozilla/5.0"

and tab-separated columns. Their names are on the first line, with ``method``, ``url``, ``status`` and ``size`` among
them. Any other line is damage, and so is a line of more than 64 KiB.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import xxhash

from dedup_crawler.pages.compression import Gap, OnDamage, bounded_lines
from dedup_crawler.pages.records import Page, Step

MAX_LINE = 2**16
"""Bytes of the longest line, with its end."""
EXPECTED = (
    'HOST IDENT USER [TIME] "METHOD URL PROTOCOL" STATUS SIZE, with or without "REFERRER" "AGENT" behind it, '
    "or tab-separated columns below a line with their names (method, url, status, size)"
)

# each quoted field is unrolled (characters, then an escape and characters), so no line can make it backtrack
_QUOTED = r'"([^"\\]*(?:\\.[^"\\]*)*)"'
_LINE = re.compile(
    rf"\S+ \S+ \S+ \[[^\]]*\] {_QUOTED} (\d{{3}}) (\d{{1,18}}|-)(?: {_QUOTED} {_QUOTED})?\s*", re.ASCII
).fullmatch
_REQUEST = re.compile(r"([A-Za-z]+) (.+?)(?: HTTP/\d(?:\.\d)?)?").fullmatch
_ESCAPE = re.compile(r'\\(?:x([0-9A-Fa-f]{2})|(["\\]))')
_MAX_GIVEN = 1_000_000  # URLs that are remembered; others may be yielded again, and the store knows them
_NOT_MODIFIED = 304  # the client already has the page
_NEEDED = ("method", "url", "status", "size")
_SIZE = re.compile(r"\d{1,18}|-", re.ASCII).fullmatch
_STATUS = re.compile(r"\d{3}", re.ASCII).fullmatch


@dataclass(frozen=True, slots=True)
class Access:
    """One request and its answer."""

    method: str
    url: str
    """URL in the request: path and query, or an absolute URL."""
    status: int
    size: int
    """Size of the answer in bytes; 0 for ``-``."""
    referrer: str
    """Referrer as logged; may be empty."""


def read_accesses(chunks: Iterable[bytes | Gap], on_damage: OnDamage) -> Iterator[Access]:
    """Accesses of one file, in order; *on_damage* gets the offset and the reason for each line that cannot be read."""
    places: Mapping[str, int] | None = None
    for number, (offset, line) in enumerate(bounded_lines(chunks, MAX_LINE), start=1):
        if line is None or isinstance(line, Gap):
            reason = f"more than {MAX_LINE} bytes" if line is None else line.reason
            on_damage(offset, f"line {number}: {reason}")
            continue
        text = line.decode("utf-8", "backslashreplace").rstrip("\r")
        if number == 1:
            places = _columns(text.removeprefix("\ufeff"))
            if places is not None:
                continue
        access = _from_columns(text, places) if places is not None else _from_line(text)
        if access is not None:
            yield access
        elif text.strip():
            on_damage(offset, f"line {number}: expected {_said(places)}, found {text[:60]!r}")


def access_pages(chunks: Iterable[bytes | Gap], on_damage: OnDamage, start: int, origin: str) -> Iterator[Step]:
    """Read the accesses behind the first *start* ones as pages without bodies.

    Other methods than GET are skipped, and so are repeated accesses with the same kind of answer. *origin* is the
    scheme and host of URLs that the log writes without them.
    """
    given: set[int] = set()
    for n_read, access in enumerate(read_accesses(chunks, on_damage), start=1):
        page = None
        if _is_page(access):
            url = f"{origin}{access.url}" if access.url[:1] == "/" else access.url
            told = xxhash.xxh3_64_intdigest(f"{access.status < 400} {url}".encode(errors="replace"))
            if n_read > start and told not in given:
                page = Page(url, status=access.status, referrer=access.referrer or None)
            if len(given) < _MAX_GIVEN:
                given.add(told)
        yield n_read, page


def _is_page(access: Access) -> bool:
    return (
        access.method == "GET"
        and 100 <= access.status <= 599
        and access.status != _NOT_MODIFIED
        and (access.url[:1] == "/" or access.url.lower().startswith(("http://", "https://")))
    )


def _columns(header: str) -> Mapping[str, int] | None:
    """Name -> place of the columns; None if *header* does not name columns."""
    names = header.lower().split("\t")
    return {name: place for place, name in enumerate(names)} if set(_NEEDED) <= set(names) else None


def _said(places: Mapping[str, int] | None) -> str:
    return EXPECTED if places is None else "the columns " + ", ".join(sorted(places, key=lambda name: places[name]))


def _from_columns(text: str, places: Mapping[str, int]) -> Access | None:
    cells = text.split("\t")
    if len(cells) != len(places):
        return None
    method, url, status, size = (cells[places[name]] for name in _NEEDED)
    referrer = cells[places["referrer"]] if "referrer" in places else ""
    return _access(method, url, status, size, referrer)


def _from_line(text: str) -> Access | None:
    line = _LINE(text)
    if line is None:
        return None
    request, status, size, referrer, _ = line.groups()
    asked = _REQUEST(request)
    if asked is None:  # a log line of a request that is not HTTP
        return _access("?", "-", status, size, "")
    return _access(asked[1], _plain(asked[2]), status, size, _plain(referrer or ""))


def _access(method: str, url: str, status: str, size: str, referrer: str) -> Access | None:
    if not (_STATUS(status) and _SIZE(size)) or not method or not url:
        return None
    return Access(
        method.upper(), url, int(status), 0 if size == "-" else int(size), "" if referrer == "-" else referrer
    )


def _plain(text: str) -> str:
    r"""Undo the escapes of servers: ``\"``, ``\\``, and ``\xE9`` as ``%E9``."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda escape: f"%{escape[1]}" if escape[1] else escape[2], text)
