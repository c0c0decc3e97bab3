r"""Reads web-server logs: their accesses, one on each line, and the sizes of the answers to each URL.

The formats are the Common Log Format, the Combined Log Format (with referrer and user agent)::

    10.0.0.1 - - [12/Dec/2015:18:25:11 +0100] "GET /topic?t=4 HTTP/1.1" 200 4263 "http://a.example/" "Mozilla/5.0"

and tab-separated columns. Their names are on the first line, with ``method``, ``url``, ``status`` and ``size`` among
them. Any other line is damage, and so is a line of more than 64 KiB.

``mine-log`` learns from sizes (Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST", WWW 2007; poster:
WWW 2006): pages change, so a URL has a range of sizes. If the ranges of two URLs do not overlap, they do not show the
same page. Rules are mined in ``rules/miners/``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import xxhash

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.compression import Damages, Gap, OnDamage, Progress, bounded_lines, read_chunks
from dedup_crawler.pages.records import Page, Step
from dedup_crawler.urls.normal import host_of, normal_form

MAX_LINE = 2**16
"""Bytes of the longest line, with its end."""
MAX_URLS = 1_000_000
"""Most URLs whose sizes are kept of a log, the first ones; they take about 500 MB."""
MAX_LENGTH = 2_000
"""Characters of the longest URL whose sizes are kept; longer ones come from attacks."""
NO_HOST = "localhost"
"""Host of URLs without a host, if nothing tells it."""
_MAX_REFERRERS = 10_000
_EXPECTED = (
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
    columns: list[str] | None = None
    for number, (offset, line) in enumerate(bounded_lines(chunks, MAX_LINE), start=1):
        if isinstance(line, Gap):
            on_damage(offset, f"line {number}: {line.reason}")
            continue
        text = line.decode("utf-8", "backslashreplace").rstrip("\r")
        if number == 1:
            names = text.removeprefix("\ufeff").lower().split("\t")
            if {"method", "url", "status", "size"} <= {*names}:
                columns = names
                continue
        access = _from_columns(text, columns) if columns is not None else _from_line(text)
        if access is not None:
            yield access
        elif text.strip():
            expected = _EXPECTED if columns is None else f"the columns {', '.join(columns)}"
            on_damage(offset, f"line {number}: expected {expected}, found {text[:60]!r}")


def access_pages(chunks: Iterable[bytes | Gap], on_damage: OnDamage, start: int, origin: str) -> Iterator[Step]:
    """Read the accesses behind the first *start* ones as pages without bodies.

    Other methods than GET are skipped, and so are repeated accesses with the same kind of answer. *origin* is the
    scheme and host of URLs that the log writes without them.
    """
    given: set[int] = set()
    for n_read, access in enumerate(read_accesses(chunks, on_damage), start=1):
        page = None
        has_url = access.url[:1] == "/" or access.url.lower().startswith(("http://", "https://"))
        if has_url and access.method == "GET" and 100 <= access.status <= 599 and access.status != _NOT_MODIFIED:
            url = f"{origin}{access.url}" if access.url[:1] == "/" else access.url
            told = xxhash.xxh3_64_intdigest(f"{access.status < 400} {url}".encode(errors="replace"))
            if n_read > start and told not in given:
                page = Page(url, status=access.status, referrer=access.referrer or None)
            if len(given) < _MAX_GIVEN:
                given.add(told)
        yield n_read, page


@dataclass
class SizeRange:
    """Sizes of the answers to one URL, in bytes."""

    low: int
    high: int
    n: int = 1
    """Number of accesses."""

    def add(self, low: int, high: int, n: int = 1) -> None:
        """Count *n* more accesses, with sizes from *low* to *high*."""
        self.low, self.high, self.n = min(self.low, low), max(self.high, high), self.n + n


@dataclass
class LogReport:
    """Contents of the logs of one site."""

    host: str = NO_HOST
    """Host of URLs that the log writes without a host."""
    is_guessed: bool = True
    """True if the host comes from the referrers, or is :data:`NO_HOST`."""
    sizes: dict[str, SizeRange] = field(default_factory=dict)
    """URL -> its sizes, in order of first access; in normal form after :meth:`settle`."""
    n_accesses: int = 0
    """Number of readable lines."""
    n_counted: int = 0
    """Number of accesses with GET and status 200, from which the sizes come."""
    n_left_out: int = 0
    """Number of counted accesses whose URL is too long or not among the first million."""
    damages: Damages = field(default_factory=Damages)
    """Lines that could not be read."""
    referrer_hosts: Counter[str] = field(default_factory=Counter)

    def add(self, access: Access) -> None:
        """Count one access."""
        self.n_accesses += 1
        if access.method != "GET" or access.status != 200 or (access.url[:1] != "/" and "://" not in access.url[:9]):
            return
        self.n_counted += 1
        if access.referrer.startswith("http"):
            host = host_of(access.referrer.lower())
            if host in self.referrer_hosts or len(self.referrer_hosts) < _MAX_REFERRERS:
                self.referrer_hosts[host] += 1
        known = self.sizes.get(access.url)
        if known is not None:
            known.add(access.size, access.size)
        elif len(access.url) > MAX_LENGTH or len(self.sizes) >= MAX_URLS:
            self.n_left_out += 1
        else:
            self.sizes[access.url] = SizeRange(access.size, access.size)

    def settle(self, host: str | None) -> None:
        """Choose the host, and join the sizes of all spellings of a URL."""
        self.is_guessed = host is None
        if host is None:
            common = self.referrer_hosts.most_common(1)
            host = common[0][0] if common else NO_HOST
        self.host = host.lower()
        logged, self.sizes = self.sizes, {}
        for target, its in logged.items():
            url = normal_form(f"http://{self.host}{target}" if target[:1] == "/" else target)
            if url in self.sizes:
                self.sizes[url].add(its.low, its.high, its.n)
            else:
                self.sizes[url] = its


def read_logs(paths: Sequence[Path], host: str | None = None, progress: Progress | None = None) -> LogReport:
    """Read access logs of one site; plain, gzip or zstd.

    *host* (with its port) is the host of URLs that the log writes without a host. If it is None, the host of most
    referrers is taken, because visitors usually come from a page of the site itself. BadInputError if a file is missing
    or has no accesses.
    """
    report = LogReport()
    for path in map(Path, paths):
        before = report.n_accesses
        for access in read_accesses(read_chunks(path, progress), report.damages.of(path)):
            report.add(access)
        if report.n_accesses == before:
            lines = [record.reason for record in report.damages.records if record.path == str(path)]
            first = f"{lines[0].partition(':')[0]} is the first that cannot be read" if lines else "no lines"
            raise BadInputError(f"{path} has no accesses ({first}): expected {_EXPECTED}.")
    report.settle(host)
    return report


def _from_columns(text: str, columns: list[str]) -> Access | None:
    cells = text.split("\t")
    if len(cells) != len(columns):
        return None
    row = dict(zip(columns, cells, strict=True))
    return _access(row["method"], row["url"], row["status"], row["size"], row.get("referrer", ""))


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
