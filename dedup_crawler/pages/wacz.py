"""Pages out of a WACZ file: a ZIP with WARC files in its folder ``archive``, read where they lie; nothing is unpacked.

Names in the ZIP choose what is read and are never the name of a file here. A ZIP that says it grows more than a hundred
times is a bomb; what it says is believed no further than that, because no more is read.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from typing import TYPE_CHECKING

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.compression import Gap, file_chunks
from dedup_crawler.pages.warc import RecordReader
from dedup_crawler.pages.warc_pages import PageReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dedup_crawler.pages.records import Page

_MEMBER = re.compile(r"archive/[^/]+\.warc(?:\.gz|\.zst)?", re.IGNORECASE)
_MAX_MEMBERS = 10_000
_MAX_GROWTH = 100
_ENCRYPTED = 0x1
_KNOWN_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class ArchiveReader:
    """Reads the WARC files of a WACZ one after the other.

    Parameters
    ----------
    path
        The WACZ file.
    on_damage
        Called with the offset (in the WARC file) and the reason, which names the WARC file.
    on_read
        Called with the number of bytes of the WACZ that were read.
    start
        Records that were imported before: their pages are not made again.

    Raises
    ------
    BadInputError
        If it is no WACZ, or a bomb.
    """

    def __init__(
        self, path: Path, on_damage: Callable[[int, str], None], on_read: Callable[[int], None], start: int = 0
    ) -> None:
        self._path = path
        self._members = warc_members(path)
        self._on_damage = on_damage
        self._on_read = on_read
        self._start = start
        self._reader: PageReader | None = None
        self._n_before = 0  # records of the WARC files before

    @property
    def n_records(self) -> int:
        """Records read so far, those before *start* included."""
        return self._n_before + (self._reader.n_records if self._reader else 0)

    @property
    def position(self) -> int:
        """Records whose pages have all been given out."""
        return self._n_before + (self._reader.position if self._reader else 0)

    def __iter__(self) -> Iterator[Page]:
        n_bytes = 0
        with zipfile.ZipFile(self._path) as archive:
            for member in self._members:
                yield from self._pages(archive, member)
                n_bytes += member.compress_size
                self._on_read(n_bytes)

    def _pages(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[Page]:
        def on_damage(offset: int, reason: str) -> None:
            self._on_damage(offset, f"{member.filename!r}: {reason}")

        if member.flag_bits & _ENCRYPTED or member.compress_type not in _KNOWN_METHODS:
            on_damage(0, "encrypted, or compressed in a way that WACZ does not know")
            return
        records = RecordReader(_chunks(archive, member), on_damage)
        self._reader = PageReader(records, on_damage, max(self._start - self._n_before, 0))
        yield from self._reader
        self._n_before += self._reader.n_records
        self._reader = None


def warc_members(path: Path) -> list[zipfile.ZipInfo]:
    """The WARC files in a WACZ, in its order.

    Raises
    ------
    BadInputError
        If there are none, or it is a bomb.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if _MEMBER.fullmatch(member.filename)]
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise BadInputError(f"{path} begins as a ZIP file and cannot be read as one ({error}).") from None
    if not members:
        raise BadInputError(
            f"{path} is a ZIP file without archive/*.warc.gz, and so no WACZ; a spreadsheet can be saved as CSV."
        )
    size = path.stat().st_size
    if len(members) > _MAX_MEMBERS or sum(member.file_size for member in members) > _MAX_GROWTH * size:
        raise BadInputError(f"{path} says that it grows more than {_MAX_GROWTH} times, as no crawl does: a ZIP bomb.")
    return members


def _chunks(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes | Gap]:
    try:
        with archive.open(member) as file:
            yield from file_chunks(file, _silent)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        yield Gap(f"damaged ZIP member: {error}")


def _silent(_n_bytes: int) -> None:
    """The ZIP itself tells how far it is read."""
