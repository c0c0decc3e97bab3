"""The URLs of an access log, with the sizes of their answers and their numbers of accesses.

Z. Bar-Yossef, I. Keidar, U. Schonfeld, "Do not crawl in the DUST", WWW 2007 (poster: WWW 2006): pages change, so a URL
has a range of sizes. If the ranges of two URLs do not overlap, they do not show the same page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.compression import Damages, read_chunks
from dedup_crawler.pages.logs.access_log import EXPECTED, Access, read_accesses
from dedup_crawler.urls.normal import host_of, normal_form

MAX_URLS = 1_000_000
"""Most URLs that are kept of a log, the first ones; they take about 500 MB."""
MAX_LENGTH = 2_000
"""Characters of the longest URL that is used; longer ones come from attacks."""
NO_HOST = "localhost"
"""Host of URLs without a host, if nothing tells it."""
_MAX_REFERRERS = 10_000


@dataclass
class SizeRange:
    """Sizes of the answers to one URL, in bytes."""

    low: int
    high: int
    n: int = 1
    """Number of accesses."""

    def add(self, size: int) -> None:
        """Count one more access."""
        self.low, self.high, self.n = min(self.low, size), max(self.high, size), self.n + 1


@dataclass(frozen=True)
class LogReport:
    """Contents of the logs of one site."""

    host: str
    """Host of URLs that the log writes without a host."""
    is_guessed: bool
    """True if the host comes from the referrers, or is :data:`NO_HOST`."""
    sizes: dict[str, SizeRange]
    """URL in normal form -> its sizes, in order of first access."""
    n_accesses: int
    """Number of readable lines."""
    n_counted: int
    """Number of accesses with GET and status 200, from which the sizes come."""
    n_left_out: int
    """Number of counted accesses whose URL is too long or not among the first million."""
    damages: Damages
    """Lines that could not be read."""


@dataclass
class _Paths:
    """Counts of a log; URLs are written as in the log."""

    sizes: dict[str, SizeRange] = field(default_factory=dict)
    referrer_hosts: Counter[str] = field(default_factory=Counter)
    n_accesses: int = 0
    n_counted: int = 0
    n_left_out: int = 0

    def add(self, access: Access) -> None:
        self.n_accesses += 1
        if access.method != "GET" or access.status != 200 or (access.url[:1] != "/" and "://" not in access.url[:9]):
            return
        self.n_counted += 1
        self._add_referrer(access.referrer)
        known = self.sizes.get(access.url)
        if known is not None:
            known.add(access.size)
        elif len(access.url) > MAX_LENGTH or len(self.sizes) >= MAX_URLS:
            self.n_left_out += 1
        else:
            self.sizes[access.url] = SizeRange(access.size, access.size)

    def _add_referrer(self, referrer: str) -> None:
        if referrer.startswith("http"):
            host = host_of(referrer.lower())
            if host in self.referrer_hosts or len(self.referrer_hosts) < _MAX_REFERRERS:
                self.referrer_hosts[host] += 1


def read_logs(
    paths: Sequence[Path], host: str | None = None, progress: Callable[[str, int, int], None] | None = None
) -> LogReport:
    """Read access logs of one site; plain, gzip or zstd.

    *host* (with its port) is the host of URLs that the log writes without a host. If it is None, the host of most
    referrers is taken, because visitors usually come from a page of the site itself. *progress* is called with the name
    of a file, the number of bytes read, and its size in bytes. BadInputError if a file is missing or has no accesses.
    """
    damages, found = Damages(), _Paths()
    for path in map(Path, paths):
        before = found.n_accesses
        for access in _accesses(path, damages, progress):
            found.add(access)
        if found.n_accesses == before:
            raise BadInputError(_nothing_in(path, damages))
    common = found.referrer_hosts.most_common(1)
    named = host.lower() if host is not None else common[0][0] if common else NO_HOST
    return LogReport(
        host=named,
        is_guessed=host is None,
        sizes=_with_host(found.sizes, named),
        n_accesses=found.n_accesses,
        n_counted=found.n_counted,
        n_left_out=found.n_left_out,
        damages=damages,
    )


def sizes_of(accesses: Iterable[Access], host: str) -> dict[str, SizeRange]:
    """URL in normal form -> sizes of the answers, for *accesses* to one *host*."""
    found = _Paths()
    for access in accesses:
        found.add(access)
    return _with_host(found.sizes, host)


def _accesses(path: Path, damages: Damages, progress: Callable[[str, int, int], None] | None) -> Iterator[Access]:
    if not path.is_file():
        raise BadInputError(f"there is no file {path}")
    size = path.stat().st_size

    def on_read(n_bytes: int) -> None:
        if progress is not None:
            progress(path.name, n_bytes, size)

    try:
        chunks = read_chunks(path, on_read)
        yield from read_accesses(chunks, lambda offset, reason: damages.add(str(path), offset, reason))
    except OSError as error:
        raise BadInputError(f"{path} cannot be read: {error.strerror}") from error


def _nothing_in(path: Path, damages: Damages) -> str:
    lines = [record for record in damages.records if record.path == str(path)]
    first = f" ({lines[0].reason.partition(':')[0]} is the first that cannot be read)" if lines else " (no lines)"
    return f"{path} has no accesses{first}: expected {EXPECTED}."


def _with_host(sizes: dict[str, SizeRange], host: str) -> dict[str, SizeRange]:
    """Join the sizes of all spellings of a URL."""
    merged: dict[str, SizeRange] = {}
    for logged, sizes_of_url in sizes.items():
        url = normal_form(f"http://{host}{logged}" if logged[:1] == "/" else logged)
        known = merged.get(url)
        if known is None:
            merged[url] = SizeRange(sizes_of_url.low, sizes_of_url.high, sizes_of_url.n)
        else:
            known.low, known.high = min(known.low, sizes_of_url.low), max(known.high, sizes_of_url.high)
            known.n += sizes_of_url.n
    return merged
