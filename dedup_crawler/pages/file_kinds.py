"""What kind of file this is, told by what it holds; by its name only where its beginning is damaged or empty."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from pathlib import Path

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.access_log import accesses_of
from dedup_crawler.pages.cdx import is_index_line
from dedup_crawler.pages.compression import Gap, read_chunks
from dedup_crawler.pages.fields import PLAIN_NAMES, has_field, with_given
from dedup_crawler.pages.tables import columns_of
from dedup_crawler.pages.utf8 import as_utf8
from dedup_crawler.pages.wacz import warc_members

_HEAD = 2**16
_SHOWN = 40
_FEW_LINES = 20
_ZIP_MARK = b"PK\x03\x04"
_WARC_MARK = re.compile(rb"\s*WARC/[01]\.\d")
_XML_MARK = re.compile(rb"\s*(?:<\?xml|<items?\b)")
_COMPRESSIONS = (".gz", ".zst")


class Kind(Enum):
    """The kinds of files that can be imported, as a user calls them."""

    WARC = "WARC"
    WACZ = "WACZ"
    JSON_LINES = "JSON lines"
    JSON_ITEMS = "a JSON array of items"
    XML_ITEMS = "an XML feed"
    TABLE = "CSV (a Scrapy feed, or the internal tab of Screaming Frog)"
    INDEX = "CDX or CDXJ"
    ACCESS_LOG = "an access log"


EXPECTED = ", ".join(kind.value for kind in Kind)
_KIND_OF_ENDING = {".warc": Kind.WARC, ".jsonl": Kind.JSON_LINES, ".jl": Kind.JSON_LINES}


def kind_of(path: Path, given: Mapping[str, str], host: str | None) -> Kind:
    """Say what *path* holds.

    Parameters
    ----------
    path
        Plain, gzip or zstd.
    given
        What the user calls the fields.
    host
        Where the paths of an access log belong, if the user has said so.

    Raises
    ------
    BadInputError
        If it is missing, cannot be read, or holds nothing that can be imported; the text says what was expected.
    """
    _check_readable(path)
    head = _head(path)
    if head.startswith(_ZIP_MARK):
        warc_members(path)  # says what is wrong with it
        return Kind.WACZ
    found = _kind_of(path, head, given, host) or _KIND_OF_ENDING.get(_ending(path))
    if found is None:
        raise BadInputError(f"{path} starts with {head[:_SHOWN]!r}, as nothing that can be imported does: {EXPECTED}.")
    return found


def _kind_of(path: Path, head: bytes, given: Mapping[str, str], host: str | None) -> Kind | None:
    if _WARC_MARK.match(head):
        return Kind.WARC
    start = head.lstrip()[:1]
    if start == b"{":
        return _json_lines(path, head, given)
    if start == b"[" and head.lstrip()[1:].lstrip()[:1] in (b"{", b"]"):
        return Kind.JSON_ITEMS
    if _XML_MARK.match(head):
        if _has_document_type(head):
            raise BadInputError(f"{path} has a document type (<!DOCTYPE ...>), which no feed has: it is not read.")
        return Kind.XML_ITEMS
    lines = head.decode(errors="replace").splitlines()[:_FEW_LINES]
    if accesses := accesses_of(lines):
        if host is None and any(access.url.startswith("/") for access in accesses):
            raise BadInputError(f"{path} is an access log that names paths only: say of which site with --host.")
        return Kind.ACCESS_LOG
    if any(map(is_index_line, lines[:3])):
        return Kind.INDEX
    if any(columns_of(line, given) is not None for line in lines[:3]):
        return Kind.TABLE
    return None


def _has_document_type(head: bytes) -> bool:
    """Whether XML begins with a document type, behind declarations and comments."""
    place = 0
    while True:
        rest = head[place:].lstrip()
        for start, end in ((b"<?", b"?>"), (b"<!--", b"-->")):
            if rest.startswith(start):
                found = rest.find(end)
                if found < 0:
                    return False
                place = len(head) - len(rest) + found + len(end)
                break
        else:
            return rest[:9].upper() == b"<!DOCTYPE"


def _json_lines(path: Path, head: bytes, given: Mapping[str, str]) -> Kind | None:
    """JSON lines, unless no object of the first lines names a URL."""
    objects = [fields for fields in map(_object, head.split(b"\n")[:_FEW_LINES]) if fields is not None]
    names = with_given(PLAIN_NAMES, given)
    if objects and not any(has_field(fields, "url", names) for fields in objects):
        fields = ", ".join(list(objects[0])[:8]) or "none"
        raise BadInputError(
            f"{path}: no object has a field {' or '.join(names['url'])!r} (fields: {fields}); "
            "say which one holds the URL: --field url=NAME."
        )
    # one object over many lines is something else; a line that is longer than what was looked at may be anything
    return Kind.JSON_LINES if objects or b"\n" not in head.strip() else None


def _object(line: bytes) -> dict[str, object] | None:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _ending(path: Path) -> str:
    name = path.name.lower()
    for compression in _COMPRESSIONS:
        name = name.removesuffix(compression)
    return Path(name).suffix


def _head(path: Path) -> bytes:
    """The first bytes, unpacked and in UTF-8; XML says its encoding itself."""

    def whole() -> Iterator[bytes | Gap]:
        n_bytes = 0
        for chunk in read_chunks(path, lambda n_read: None):
            if isinstance(chunk, Gap) or n_bytes >= _HEAD:
                return
            n_bytes += len(chunk)
            yield chunk

    return b"".join(chunk for chunk in as_utf8(whole()) if isinstance(chunk, bytes))[:_HEAD]


def _check_readable(path: Path) -> None:
    if path.is_dir():
        raise BadInputError(f"{path} is a folder: give the files in it")
    if not path.is_file():
        raise BadInputError(f"there is no file {path}")
    if not os.access(path, os.R_OK):
        raise BadInputError(f"{path} cannot be read: change its permissions")
