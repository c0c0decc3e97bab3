"""Reads pages from CSV, JSON lines, and JSON arrays with one object on each line.

Only an absolute URL is required. Other fields (:data:`NAMES`) may be missing, and unknown fields are ignored. Names are
compared in lower case, with ``_`` for a space. The text in such a file is decoded already, so the body becomes UTF-8,
and the content type says so.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dedup_crawler.errors import BadInputError, did_you_mean
from dedup_crawler.pages.compression import Gap, OnDamage, as_utf8, bounded_lines
from dedup_crawler.pages.records import Page, Step
from dedup_crawler.pages.warc_pages import target_of_answer, timestamp

Names = Mapping[str, tuple[str, ...]]
"""Field -> possible names; the first one that exists counts."""

NAMES: Names = {
    "url": ("url", "address"),
    "content": ("content", "html", "body"),  # the page
    "text": ("text",),  # plain text, if there is no markup
    "referrer": ("referrer", "referer"),  # page with the link
    "status": ("status_code", "status"),  # of HTTP, default 200; 0: was not fetched, and is no page
    "redirect_to": ("redirect_to", "redirect_url"),  # absolute or relative
    "content_type": ("content_type",),  # default text/html, or text/plain for a text
    "fetched_at": ("fetched_at", "date"),  # seconds since 1970, or ISO 8601 in UTC
    "digest": ("digest", "hash"),  # of the body, if the body is missing
    "canonical_link": ("canonical_link", "canonical_link_element_1"),  # if the body is missing
    "words": ("word_count",),  # if the body is missing
}
MIN_WORDS = 10
"""Smallest number of words of HTML whose digest is used: the shell of an application is the same on all pages."""

_MAX_ENTRY = 2**27  # bytes of a line
_MAX_CELL = 2**26  # characters of a cell: an open quote would take in the rest of the file
_END = "\x1aend"  # a row of its own, unless a quote is open
_SEPARATORS = ",;\t"
_SHOWN_FIELDS = 8
_ABSOLUTE = re.compile(r"https?://[^/?#]", re.IGNORECASE)
_SECONDS = re.compile(r"\d{9,10}(?:\.\d+)?", re.ASCII)  # of the years 1973 to 2286; fewer digits are a year or a day
_DIGEST = re.compile("[!-~]{8,256}")
_OF_NOTHING = {
    written.decode().lower()
    for name in ("md5", "sha1", "sha256", "sha512")
    for write in (base64.b16encode, base64.b32encode)  # archives write SHA-1 in base 32
    for written in [write(hashlib.new(name, usedforsecurity=False).digest())]
}


def names_with(given: Mapping[str, str]) -> Names:
    """Names of all fields, with the names that the user gives; an empty name leaves the field out.

    BadInputError for an unknown field.
    """
    for field in given:
        if field not in NAMES:
            raise BadInputError(f"there is no field {field!r}; known: {', '.join(NAMES)}.{did_you_mean(field, NAMES)}")
    return {**NAMES, **{field: (_key(name),) if name else () for field, name in given.items()}}


def read_json_pages(chunks: Iterable[bytes | Gap], on_damage: OnDamage, start: int, names: Names) -> Iterator[Step]:
    """Read the objects of lines, except for the pages of the first *start*; a broken line is skipped."""
    n_entries = 0
    for number, (offset, line) in enumerate(bounded_lines(as_utf8(chunks), _MAX_ENTRY), start=1):
        try:
            entries = objects_of(line)
        except (ValueError, RecursionError) as error:
            on_damage(offset, f"line {number}: {error}")
            entries = [None]
        for entry in entries:
            n_entries += 1
            page = None
            if n_entries > start and entry is not None:
                try:
                    page = page_of(entry, names)
                except (ValueError, OverflowError) as error:
                    on_damage(offset, f"line {number}: {error}")
            yield n_entries, page


def objects_of(line: bytes | Gap) -> list[Any]:
    """Parse one line: an object, an array of objects, or one object of an array over several lines."""
    if isinstance(line, Gap):
        raise ValueError(line.reason)
    text = line.decode("utf-8-sig").strip().removesuffix(",")
    if text.startswith("[") != text.endswith("]"):
        text = text[1:] if text.startswith("[") else text[:-1]
    entries = json.loads(text) if text else []
    return entries if isinstance(entries, list) else [entries]


def read_table(chunks: Iterable[bytes | Gap], on_damage: OnDamage, start: int, names: Names) -> Iterator[Step]:
    """Read the rows below a header, except for the pages of the first *start*.

    Rows behind missing bytes are not read, because a quote may be open there.
    """
    n_rows = offset = 0

    def texts() -> Iterator[str]:
        nonlocal offset
        for offset, line in bounded_lines(as_utf8(chunks), _MAX_ENTRY):
            if isinstance(line, Gap):
                on_damage(offset, f"row {n_rows + 1}: {line.reason}; the rest is not read")
                return
            yield line.decode("utf-8-sig", errors="replace") + "\n"
        yield _END

    lines = texts()
    found = columns_of(next(lines, ""), names)
    if found is None:
        on_damage(0, "the first row does not name a URL")
        return
    columns, separator = found
    limit = csv.field_size_limit(_MAX_CELL)
    try:
        for cells in csv.reader(lines, delimiter=separator):
            if cells == [_END]:
                return
            n_rows += 1
            page = None
            if n_rows > start and any(cells):
                try:
                    if cells[-1].endswith(_END):
                        raise ValueError("a quote is open up to the end of the file")
                    if len(cells) != len(columns):
                        raise ValueError(f"{len(cells)} cells below {len(columns)} columns")
                    page = page_of(dict(zip(columns, cells, strict=True)), names)
                except ValueError as error:
                    on_damage(offset, f"row {n_rows}: {error}")
            yield n_rows, page
    except csv.Error as error:
        on_damage(offset, f"row {n_rows + 1}: {error}; the rest is not read")
    finally:
        csv.field_size_limit(limit)


def columns_of(line: str, names: Names) -> tuple[list[str], str] | None:
    """Columns and their separator, if *line* is a header with the URL and another known field; else None."""
    if line.count('"') % 2:
        return None
    for separator in _SEPARATORS:
        try:
            columns = next(csv.reader([line], delimiter=separator), [])
        except csv.Error:  # for example a line end within the line
            return None
        known = [field for field in names if has_field(columns, field, names)]
        if "url" in known and len(known) > 1:
            return columns, separator
    return None


def has_field(fields: Iterable[str], field: str, names: Names) -> bool:
    """Return True if one of the names in *fields* is a name of our *field*."""
    return not set(names[field]).isdisjoint(map(_key, fields))


def page_of(fields: Any, names: Names = NAMES) -> Page | None:
    """Make a page of *fields*; None if it was not fetched, ValueError for wrong values."""
    if not isinstance(fields, dict):
        raise ValueError(f"expected an object, not {type(fields).__name__}")
    values = {_key(name): value for name, value in fields.items()}
    url = _text(values, names["url"])
    if url is None:
        shown = ", ".join(list(fields)[:_SHOWN_FIELDS]) or "none"
        raise ValueError(f"there is no {' or '.join(names['url']) or 'url'}; fields: {shown}")
    if not _ABSOLUTE.match(url):
        raise ValueError(f"{url[:60]!r} is not an absolute URL of http or https")
    if "\N{REPLACEMENT CHARACTER}" in url:
        raise ValueError(f"{url[:60]!r} is not in UTF-8: save the file as UTF-8")
    status = _status(next((values[name] for name in names["status"] if values.get(name, "") != ""), 200))
    if status == 0:
        return None
    content_type = _text(values, names["content_type"])
    content = _text(values, names["content"])
    if content is None and (content := _text(values, names["text"])) is not None:
        content_type = content_type or "text/plain"
    if content is not None:
        content_type = f"{(content_type or 'text/html').partition(';')[0].strip()}; charset=utf-8"
    return Page(
        url=url,
        status=status,
        referrer=_text(values, names["referrer"]),
        redirect_to=target_of_answer(url, status, _text(values, names["redirect_to"])),
        content_type=content_type,
        content=(content or "").encode(errors="replace"),
        fetched_at=_fetched_at(values, names["fetched_at"]),
        digest=None
        if content or _says_little(values, names, content_type)
        else body_digest(_text(values, names["digest"])),
        canonical_link=None if content else _text(values, names["canonical_link"]),
    )


def body_digest(text: str | None) -> str | None:
    """Write a digest from an export in lower case; None for other texts, and for the digest of an empty body.

    >>> body_digest("7444FDC17B8D887955783A1E3462E0E9")
    '7444fdc17b8d887955783a1e3462e0e9'
    >>> body_digest("sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), body_digest("-")
    (None, None)
    """
    digest = (text or "").strip().lower()
    return digest if _DIGEST.fullmatch(digest) and digest.rpartition(":")[2] not in _OF_NOTHING else None


def _key(name: str) -> str:
    return name.strip().lower().replace(" ", "_")


def _status(value: Any) -> int:
    try:
        status = int(float(value))  # pandas writes 200.0 where other rows have no status
    except (TypeError, ValueError, OverflowError):
        status = -1
    if status != 0 and not 100 <= status <= 599:
        raise ValueError(f"status {value!r} is not a status of HTTP")
    return status


def _says_little(values: Mapping[str, Any], names: Names, content_type: str | None) -> bool:
    """Return True for HTML with hardly any words."""
    n_words = _text(values, names["words"])
    is_html = content_type is None or "html" in content_type.lower()
    return is_html and n_words is not None and n_words.isdecimal() and int(n_words[:9]) < MIN_WORDS


def _text(values: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((values[name] for name in names if values.get(name) and isinstance(values[name], str)), None)


def _fetched_at(values: Mapping[str, Any], names: Iterable[str]) -> float | None:
    for name in names:
        value = values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value) if math.isfinite(value) else None
        if isinstance(value, str):
            return float(value) if _SECONDS.fullmatch(value) else timestamp(value)
    return None
