"""Kinds of files, told by what they hold; by their name only where the beginning is damaged or empty."""

from __future__ import annotations

import os
import re
from enum import Enum
from typing import TYPE_CHECKING, Any

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.compression import Gap, as_utf8, read_chunks
from dedup_crawler.pages.imports.items import Names, columns_of, has_field, objects_of
from dedup_crawler.pages.imports.wacz import warc_members
from dedup_crawler.pages.logs.access_log import accesses_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HEAD = 2**16
_SHOWN = 40
_FEW_LINES = 20
_ZIP_MARK = b"PK\x03\x04"
_WARC_MARK = re.compile(rb"\s*WARC/[01]\.\d")
_ENDING = re.compile(r"\.(warc|jsonl|jl)(?:\.gz|\.zst)?", re.IGNORECASE)


class Kind(Enum):
    """The kinds of files that can be imported, as a user calls them."""

    WARC = "WARC"
    WACZ = "WACZ"
    JSON = "JSON lines"
    TABLE = "CSV"
    ACCESS_LOG = "an access log"


EXPECTED = ", ".join(kind.value for kind in Kind)


def kind_of(path: Path, names: Names, host: str | None) -> Kind:
    """Say what *path* holds.

    Parameters
    ----------
    path
        Plain, gzip or zstd.
    names
        Of the fields of items.
    host
        Where the paths of an access log belong, if the user has said so.

    Raises
    ------
    BadInputError
        If it is missing, cannot be read, or holds nothing that can be imported; the text says what was expected.
    """
    _check_readable(path)
    head = b"".join(_head(path))[:_HEAD]
    if head.startswith(_ZIP_MARK):
        warc_members(path)  # says what is wrong with it
        return Kind.WACZ
    if _WARC_MARK.match(head):
        return Kind.WARC
    if head.lstrip()[:1] in (b"{", b"[") and _is_json(path, head, names):
        return Kind.JSON
    lines = head.decode(errors="replace").splitlines()[:_FEW_LINES]
    if accesses := accesses_of(lines):
        if host is None and any(access.url.startswith("/") for access in accesses):
            raise BadInputError(f"{path} is an access log that names paths only: say of which site with --host.")
        return Kind.ACCESS_LOG
    if lines and columns_of(lines[0], names) is not None:
        return Kind.TABLE
    ending = _ENDING.fullmatch("".join(path.suffixes[-2:])) or _ENDING.fullmatch(path.suffix)
    if ending is None:
        raise BadInputError(f"{path} starts with {head[:_SHOWN]!r}, as nothing that can be imported does: {EXPECTED}.")
    return Kind.WARC if ending[1].lower() == "warc" else Kind.JSON


def _is_json(path: Path, head: bytes, names: Names) -> bool:
    """Return True for objects a line; BadInputError if none of the first ones names a URL."""
    entries = [entry for line in head.split(b"\n")[:_FEW_LINES] for entry in _entries(line)]
    objects = [entry for entry in entries if isinstance(entry, dict)]
    if objects and not any(has_field(fields, "url", names) for fields in objects):
        fields = ", ".join(list(objects[0])[:8]) or "none"
        raise BadInputError(
            f"{path}: no object has a field {' or '.join(names['url'])!r} (fields: {fields}); "
            "say which one holds the URL: --field url=NAME."
        )
    # one object over many lines is something else; a line that is longer than what was looked at may be anything
    return bool(objects) or b"\n" not in head.strip()


def _entries(line: bytes) -> list[Any]:
    try:
        return objects_of(line)
    except (ValueError, RecursionError):
        return []


def _head(path: Path) -> Iterator[bytes]:
    """Give the first chunks, unpacked and without a byte order mark."""
    n_bytes = 0
    for chunk in as_utf8(read_chunks(path)):
        if isinstance(chunk, Gap) or n_bytes >= _HEAD:
            return
        yield chunk if n_bytes else chunk.removeprefix(b"\xef\xbb\xbf")
        n_bytes += len(chunk)


def _check_readable(path: Path) -> None:
    if path.is_dir():
        raise BadInputError(f"{path} is a folder: give the files in it")
    if not path.is_file():
        raise BadInputError(f"there is no file {path}")
    if not os.access(path, os.R_OK):
        raise BadInputError(f"{path} cannot be read: change its permissions")
