"""Pages out of a WACZ file: a ZIP with WARC files in its folder ``archive``, read where they lie; nothing is unpacked.

Names in the ZIP choose what is read and are never the name of a file here.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from functools import partial
from typing import TYPE_CHECKING

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.compression import Gap, OnDamage, file_chunks
from dedup_crawler.pages.imports.warc_pages import read_warc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dedup_crawler.pages.records import Step

_MEMBER = re.compile(r"archive/[^/]+\.warc(?:\.gz|\.zst)?", re.IGNORECASE)
_MAX_GROWTH = 100


def read_wacz(path: Path, on_damage: OnDamage, on_read: Callable[[int], None], start: int = 0) -> Iterator[Step]:
    """Read the WARC files one after the other; offsets are those in the WARC file, which each reason names."""
    n_before = n_bytes = 0
    with zipfile.ZipFile(path) as archive:
        for member in warc_members(path):
            n_done = 0
            told = partial(_tell, on_damage, member.filename)
            for n_done, page in read_warc(_chunks(archive, member), told, start - n_before):
                yield n_before + n_done, page
            n_before += n_done
            n_bytes += member.compress_size
            on_read(n_bytes)


def warc_members(path: Path) -> list[zipfile.ZipInfo]:
    """List the WARC files; BadInputError if there are none, or if they claim to grow as only a bomb does."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if _MEMBER.fullmatch(member.filename)]
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise BadInputError(f"{path} begins as a ZIP file and cannot be read as one ({error}).") from None
    if not members:
        raise BadInputError(
            f"{path} is a ZIP file without archive/*.warc.gz, and so no WACZ; a spreadsheet can be saved as CSV."
        )
    if sum(member.file_size for member in members) > _MAX_GROWTH * path.stat().st_size:
        raise BadInputError(f"{path} says that it grows more than {_MAX_GROWTH} times, as no crawl does: a ZIP bomb.")
    return members


def _chunks(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes | Gap]:
    try:
        with archive.open(member) as file:
            yield from file_chunks(file)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:  # encrypted: RuntimeError
        yield Gap(f"damaged ZIP member: {error}")


def _tell(on_damage: OnDamage, name: str, offset: int, reason: str) -> None:
    on_damage(offset, f"{name!r}: {reason}")
