"""Files of pages into the store: several at once, resumable, past any damage.

A file is known by a digest of its size and its first and last MiB; how many of its records are in the store is
written in the same transaction as their pages. So an import that was interrupted goes on where it stopped, under
whatever name the file is given, and a second import of a file changes nothing.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import xxhash

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.compression import read_chunks
from dedup_crawler.pages.damage import DamagedRecord, Damages
from dedup_crawler.pages.jsonlines import LineReader
from dedup_crawler.pages.warc import RecordReader
from dedup_crawler.pages.warc_pages import PageReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dedup_crawler.pages.records import Page
    from dedup_crawler.pages.store import PageStore

__all__ = ["DamagedRecord", "ImportReport", "import_files"]

_DIGEST_BYTES = 2**20
_COMPRESSIONS = ("", ".gz", ".zst")
_KINDS = (".warc", ".jsonl")
_KNOWN = ", ".join(kind + compression for kind in _KINDS for compression in _COMPRESSIONS)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import found."""

    n_records: int
    """Readable records (WARC) or lines (JSON lines) in all files."""
    n_new_pages: int
    """Pages whose URL was not in the store."""
    n_known: int
    """Pages whose URL was there already, from before or from earlier in the same files."""
    n_skipped: int
    """Records that give no page (requests, revisits, empty lines, ...) or were imported by an earlier run."""
    n_damaged: int
    """Places that could not be read."""
    damaged: tuple[DamagedRecord, ...]
    """The first 100 of them."""


class _Reader(Protocol):
    @property
    def position(self) -> int: ...
    @property
    def n_records(self) -> int: ...
    def __iter__(self) -> Iterator[Page]: ...


def import_files(
    paths: Sequence[Path], store: PageStore, progress: Callable[[str, int, int], None] | None = None
) -> ImportReport:
    """Read the pages of *paths* into *store*.

    Parameters
    ----------
    paths
        WARC or JSON lines, plain, ``.gz`` or ``.zst``; the compression itself is told by the first bytes.
    store
        Where the pages go. Whatever ends the import (Ctrl-C too), the records read until then are written.
    progress
        Called with the file's name, the bytes of it that were read, and its size in bytes.

    Raises
    ------
    BadInputError
        If a file is missing or of an unknown kind; before anything is read.
    StoreError
        If the store cannot be written.
    """
    paths = [Path(path) for path in paths]
    for path in paths:
        _check(path)
    damages = Damages()
    n_records = n_pages = n_new = 0
    for path in paths:
        n_file_records, n_file_pages, n_file_new = _import_file(path, store, damages, progress)
        n_records += n_file_records
        n_pages += n_file_pages
        n_new += n_file_new
    return ImportReport(
        n_records=n_records,
        n_new_pages=n_new,
        n_known=n_pages - n_new,
        n_skipped=n_records - n_pages,
        n_damaged=damages.n,
        damaged=tuple(damages.records),
    )


def _import_file(
    path: Path, store: PageStore, damages: Damages, progress: Callable[[str, int, int], None] | None
) -> tuple[int, int, int]:
    """Import one file; its records, its pages, and how many of them were new."""
    source = _digest(path)
    size = path.stat().st_size

    def on_damage(offset: int, reason: str) -> None:
        damages.add(str(path), offset, reason)

    def on_read(n_bytes: int) -> None:
        if progress is not None:
            progress(path.name, n_bytes, size)

    chunks = read_chunks(path, on_read)
    start = store.import_position(source)
    reader: _Reader
    if _kind(path) == ".warc":
        reader = PageReader(RecordReader(chunks, on_damage), on_damage, start)
    else:
        reader = LineReader(chunks, on_damage, start)
    n_pages = 0

    def pages() -> Iterator[Page]:
        nonlocal n_pages
        for page in reader:
            yield page
            # The store has taken the page when it asks for the next one.
            n_pages += 1
            store.set_import_position(source, max(reader.position, start))
        store.set_import_position(source, max(reader.position, start))

    try:
        n_new = store.add_many(pages())
    except KeyboardInterrupt:
        store.flush()
        raise
    return reader.n_records, n_pages, n_new


def _kind(path: Path) -> str:
    name = path.name.lower()
    for compression in _COMPRESSIONS[1:]:
        name = name.removesuffix(compression)
    return Path(name).suffix


def _check(path: Path) -> None:
    if _kind(path) not in _KINDS:
        raise BadInputError(f"{path} is of an unknown kind; known: {_KNOWN}")
    if path.is_dir():
        raise BadInputError(f"{path} is a folder: give the files in it")
    if not path.is_file():
        raise BadInputError(f"there is no file {path}")
    if not os.access(path, os.R_OK):
        raise BadInputError(f"{path} cannot be read: change its permissions")


def _digest(path: Path) -> str:
    """128 bits over the size and the first and last MiB: enough to know a file again without reading all of it."""
    size = path.stat().st_size
    digest = xxhash.xxh3_128(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(_DIGEST_BYTES))
        file.seek(max(size - _DIGEST_BYTES, 0))
        digest.update(file.read(_DIGEST_BYTES))
    return digest.hexdigest()
