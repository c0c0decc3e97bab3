"""Pages out of JSON lines: one object a line, as crawlers and data sets write them.

====================================  ============================================================
``url``                               needed
``content``, ``html``, ``body``       the page as text, the first that is there
``text``                              plain text, where there is no markup
``referrer`` or ``referer``           page that held the link
``status``                            HTTP status, default 200
``redirect_to``                       target of a redirect, absolute or relative
``content_type``                      default ``text/html`` (``text/plain`` for ``text``)
``fetched_at`` or ``date``            seconds since 1970, or ISO 8601 in UTC
====================================  ============================================================

Other fields are ignored. The text was decoded by whoever wrote the file, so the body is UTF-8 and the content type
says so.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from dedup_crawler.pages.compression import Gap
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.text_lines import bounded_lines
from dedup_crawler.pages.warc_pages import redirect_target, timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_MAX_LINE = 2**28
_MARKUP_FIELDS = ("content", "html", "body")


class LineReader:
    """Reads the lines of one file as pages.

    Parameters
    ----------
    chunks
        Uncompressed bytes in order, with a :class:`Gap` where some are missing.
    on_damage
        Called with the offset and the reason for each line that holds no page.
    start
        Lines that were imported before: their pages are not made again.
    """

    def __init__(self, chunks: Iterable[bytes | Gap], on_damage: Callable[[int, str], None], start: int = 0) -> None:
        self._chunks = chunks
        self._on_damage = on_damage
        self._start = start
        self.n_records = 0
        """Lines read so far, those before *start* included."""

    @property
    def position(self) -> int:
        """Lines whose pages have all been given out."""
        return self.n_records

    def __iter__(self) -> Iterator[Page]:
        for offset, line in bounded_lines(self._chunks, _MAX_LINE):
            self.n_records += 1
            if isinstance(line, Gap):
                self._on_damage(offset, f"line {self.n_records}: {line.reason}")
                continue
            if self.n_records <= self._start or line in (b"", b"\r"):
                continue
            try:
                if line is None:
                    raise ValueError(f"more than {_MAX_LINE} bytes")
                page = _page(json.loads(line.decode("utf-8-sig")))
            except (ValueError, OverflowError, RecursionError) as error:
                self._on_damage(offset, f"line {self.n_records}: {error}")
            else:
                yield page


def _page(fields: Any) -> Page:
    """The page of one object; ValueError says what is wrong with it."""
    if not isinstance(fields, dict):
        raise ValueError(f"an object is needed, not {type(fields).__name__}")
    url = fields.get("url")
    if not isinstance(url, str) or not url:
        raise ValueError("there is no url")
    status = _status(fields.get("status", 200))
    content, content_type = _content(fields)
    return Page(
        url=url,
        status=status,
        referrer=_text(fields, "referrer", "referer"),
        redirect_to=redirect_target(url, status, _text(fields, "redirect_to")),
        content_type=content_type,
        content=content,
        fetched_at=_fetched_at(fields),
    )


def _status(value: Any) -> int:
    try:
        status = int(value)
    except (TypeError, ValueError, OverflowError):
        status = 0
    if not 100 <= status <= 599:
        raise ValueError(f"status {value!r} is none of HTTP")
    return status


def _content(fields: Mapping[str, Any]) -> tuple[bytes, str | None]:
    content_type = _text(fields, "content_type")
    text = _text(fields, *_MARKUP_FIELDS)
    if text is None:
        text = _text(fields, "text")
        content_type = content_type or "text/plain"
    if text is None:
        return b"", _text(fields, "content_type")
    kind = (content_type or "text/html").partition(";")[0].strip()
    return text.encode(errors="replace"), f"{kind}; charset=utf-8"


def _text(fields: Mapping[str, Any], *names: str) -> str | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value:
            return value
    return None


def _fetched_at(fields: Mapping[str, Any]) -> float | None:
    for name in ("fetched_at", "date"):
        value = fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value) if math.isfinite(value) else None
        if isinstance(value, str):
            return timestamp(value)
    return None
