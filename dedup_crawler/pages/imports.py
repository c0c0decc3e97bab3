"""Imports files of pages into the store. An import can be resumed, and continues after damage.

A file is identified by a digest of its size and its first and last MiB. The number of its records that are done is
written in the same transaction as their pages. So an interrupted import continues where it stopped, even if the file
was renamed, and a second import of a file changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import xxhash

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.compression import Damages, Gap, OnDamage, Progress, as_utf8, read_chunks
from dedup_crawler.pages.items import (
    NAMES,
    Names,
    columns_of,
    has_field,
    names_with,
    objects_of,
    read_json_pages,
    read_table,
)
from dedup_crawler.pages.logs import access_pages, read_accesses
from dedup_crawler.pages.records import Page, Step
from dedup_crawler.pages.store import PageStore
from dedup_crawler.pages.warc_pages import read_wacz, read_warc, warc_members
from dedup_crawler.urls.normal import normal_form

_DIGEST_BYTES = 2**20
_HEAD = 2**16
_SHOWN = 40
_FEW_LINES = 20
_ZIP_MARK = b"PK\x03\x04"
_WARC_MARK = re.compile(rb"\s*WARC/[01]\.\d")
_HOST = re.compile(r"(?:https?://)?[^\s/?#@\\]+", re.IGNORECASE)
_ENDING = re.compile(r"\.(warc|jsonl|jl)(?:\.gz|\.zst)?", re.IGNORECASE)


class Kind(Enum):
    """The kinds of files that can be imported, by their names for users."""

    WARC = "WARC"
    WACZ = "WACZ"
    JSON = "JSON lines"
    TABLE = "CSV"
    ACCESS_LOG = "an access log"


EXPECTED = ", ".join(kind.value for kind in Kind)


@dataclass(slots=True)
class ImportReport:
    """Numbers of an import."""

    n_records: int = 0
    """Number of readable records (WARC), rows, objects or accesses in all files."""
    n_new_pages: int = 0
    """Number of pages whose URL was not in the store."""
    n_known: int = 0
    """Number of pages whose URL was in the store already."""
    n_by_digest: int = 0
    """Number of pages with only a digest of the body."""
    n_without_body: int = 0
    """Number of pages with status 2xx and neither body nor digest, which cannot be compared."""
    damages: Damages = field(default_factory=Damages)
    """Places that could not be read."""


def import_files(
    paths: Sequence[Path],
    store: PageStore,
    progress: Progress | None = None,
    *,
    fields: Mapping[str, str] | None = None,
    host: str | None = None,
) -> ImportReport:
    """Read the pages of *paths* (plain, gzip or zstd files of any :class:`Kind`) into *store*.

    If the import is interrupted, also by Ctrl-C, the records read so far are in the store. *fields* maps our fields to
    their names in JSON and CSV (an empty name leaves the field out). *host*, with or without scheme, is the host of
    paths in access logs.

    BadInputError if a file is missing or of an unknown kind; nothing is read then. StoreError if the store cannot be
    written.
    """
    return import_sources(sources_of(paths, fields, host), store, progress)


def import_sources(sources: Sequence[Source], store: PageStore, progress: Progress | None = None) -> ImportReport:
    """Read the pages of files whose kinds are known; the rest as :func:`import_files`."""
    report = ImportReport()
    for source in sources:
        _import_file(source, store, report, progress)
    return report


@dataclass(frozen=True)
class Source:
    """A file with its kind, the names of its fields, and the scheme and host of paths in a log, if they were given."""

    path: Path
    kind: Kind
    names: Names = field(default_factory=lambda: NAMES)
    origin: str = ""

    def steps(self, on_damage: OnDamage, progress: Progress | None = None, start: int = 0) -> Iterator[Step]:
        """Read the pages of the file, except for those of the first *start* records."""
        if self.kind is Kind.WACZ:
            return read_wacz(self.path, on_damage, progress, start)
        chunks = read_chunks(self.path, progress)
        if self.kind is Kind.WARC:
            return read_warc(chunks, on_damage, start)
        if self.kind is Kind.ACCESS_LOG:
            return access_pages(chunks, on_damage, start, self.origin)
        read = read_table if self.kind is Kind.TABLE else read_json_pages
        return read(chunks, on_damage, start, self.names)

    def digest(self) -> str:
        """128-bit digest of the size, the first and last MiB, and what the user has said of the file."""
        size = self.path.stat().st_size
        digest = xxhash.xxh3_128(str(size).encode())
        with self.path.open("rb") as file:
            digest.update(file.read(_DIGEST_BYTES))
            file.seek(max(size - _DIGEST_BYTES, 0))
            digest.update(file.read(_DIGEST_BYTES))
        if self.names != NAMES or self.origin:
            digest.update(repr((sorted(self.names.items()), self.origin)).encode(errors="replace"))
        return digest.hexdigest()


def sources_of(paths: Sequence[Path], fields: Mapping[str, str] | None = None, host: str | None = None) -> list[Source]:
    """Detect the kinds of files; errors and options as :func:`import_files`."""
    names, origin = names_with(fields or {}), "" if host is None else _origin(host)
    return [Source(path, kind_of_file(path, names, host), names, origin) for path in map(Path, paths)]


def _import_file(source: Source, store: PageStore, report: ImportReport, progress: Progress | None) -> None:
    """Import one file and count its records."""
    digest = source.digest()
    start = store.import_position(digest)
    n_done = n_pages = 0

    def pages() -> Iterator[Page]:
        nonlocal n_done, n_pages
        for n_done, page in source.steps(report.damages.of(source.path), progress, start):
            if page is not None:
                yield page
                # the store has taken the page when it asks for the next one
                n_pages += 1
                if not page.content:
                    report.n_by_digest += page.digest is not None
                    report.n_without_body += page.digest is None and 200 <= page.status < 300
            store.set_import_position(digest, max(n_done, start))

    try:
        n_new = store.add_many(pages())
    except KeyboardInterrupt:
        store.flush()
        raise
    report.n_records += n_done
    report.n_new_pages += n_new
    report.n_known += n_pages - n_new


def kind_of_file(path: Path, names: Names, host: str | None) -> Kind:
    """Detect the kind of *path* (plain, gzip or zstd) by its beginning, or by its name if that is damaged or empty.

    *host* is the host of the paths in an access log, if the user has given one. BadInputError if the file is missing,
    cannot be read, or is of no known kind.
    """
    head = _head(path)
    if head.startswith(_ZIP_MARK):
        warc_members(path)  # raises an error if it is no WACZ
        return Kind.WACZ
    if _WARC_MARK.match(head):
        return Kind.WARC
    if head.lstrip()[:1] in (b"{", b"[") and _is_json(path, head, names):
        return Kind.JSON
    lines = head.decode(errors="replace").split("\n")[:_FEW_LINES]
    if accesses := list(read_accesses(["\n".join(lines).encode()], lambda offset, reason: None)):
        if host is None and any(access.url.startswith("/") for access in accesses):
            raise BadInputError(f"{path} is an access log that names paths only: say of which site with --host.")
        return Kind.ACCESS_LOG
    if columns_of(lines[0], names) is not None:
        return Kind.TABLE
    ending = _ENDING.fullmatch("".join(path.suffixes[-2:])) or _ENDING.fullmatch(path.suffix)
    if ending is None:
        raise BadInputError(f"{path} starts with {head[:_SHOWN]!r}, which is no known format; known: {EXPECTED}.")
    return Kind.WARC if ending[1].lower() == "warc" else Kind.JSON


def _is_json(path: Path, head: bytes, names: Names) -> bool:
    """Return True for one object on each line; BadInputError if none of the first objects has a URL."""
    entries = [entry for line in head.split(b"\n")[:_FEW_LINES] for entry in _entries(line)]
    objects = [entry for entry in entries if isinstance(entry, dict)]
    if objects and not any(has_field(fields, "url", names) for fields in objects):
        fields = ", ".join(list(objects[0])[:8]) or "none"
        raise BadInputError(
            f"{path}: no object has a field {' or '.join(names['url'])!r} (fields: {fields}); "
            "say which one holds the URL: --field url=NAME."
        )
    # not a single object over many lines; a line that is longer than *head* may be an object
    return bool(objects) or b"\n" not in head.strip()


def _entries(line: bytes) -> list[Any]:
    try:
        return objects_of(line)
    except (ValueError, RecursionError):
        return []


def _head(path: Path) -> bytes:
    """The first bytes, unpacked and without a byte order mark."""
    head = b""
    for chunk in as_utf8(read_chunks(path)):
        if isinstance(chunk, Gap) or len(head) >= _HEAD:
            break
        head += chunk
    return head.removeprefix(b"\xef\xbb\xbf")[:_HEAD]


def _origin(host: str) -> str:
    """Scheme and host of the host that a user gives for a log.

    >>> _origin("Forum.example"), _origin("https://forum.example:8443/")
    ('http://forum.example', 'https://forum.example:8443')
    """
    given = host.strip().removesuffix("/")
    if not _HOST.fullmatch(given):
        raise BadInputError(f"--host {host!r} is no host: give one like forum.example.org or https://forum.example.org")
    return normal_form(given if "://" in given else f"http://{given}").rstrip("/")
