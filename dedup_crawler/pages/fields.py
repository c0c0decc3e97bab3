"""Pages out of named fields, whatever kind of file the names stand in.

====================================  ============================================================
``url``                               needed
``content``, ``html``, ``body``       the page as text, the first that is there
``text``                              plain text, where there is no markup
``referrer`` or ``referer``           page that held the link
``status``                            HTTP status, default 200
``redirect_to``                       target of a redirect, absolute or relative
``content_type``                      default ``text/html`` (``text/plain`` for ``text``)
``fetched_at`` or ``date``            seconds since 1970, or ISO 8601 in UTC
``digest``                            of the body, where the body itself is not there
``canonical_link``                    what the page says of itself, where the body itself is not there
====================================  ============================================================

Other fields are ignored. The text was decoded by whoever wrote the file, so the body is UTF-8 and the content type
says so.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from typing import Any

from dedup_crawler.errors import BadInputError
from dedup_crawler.pages.digests import body_digest
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.warc_pages import redirect_target, timestamp

Names = Mapping[str, tuple[str, ...]]
"""Field -> what it may be called; the first that is there counts."""

PLAIN_NAMES: Names = {
    "url": ("url",),
    "content": ("content", "html", "body"),
    "text": ("text",),
    "referrer": ("referrer", "referer"),
    "status": ("status",),
    "redirect_to": ("redirect_to",),
    "content_type": ("content_type",),
    "fetched_at": ("fetched_at", "date"),
    "digest": ("digest",),
    "canonical_link": ("canonical_link",),
    "words": (),
}
"""As this program writes them, and as spiders mostly do."""

SCREAMING_FROG_NAMES: Names = {
    **dict.fromkeys(PLAIN_NAMES, ()),
    "url": ("address",),
    "status": ("status code",),
    "redirect_to": ("redirect url", "redirect uri"),
    "content_type": ("content type", "content"),
    "digest": ("hash",),
    "canonical_link": ("canonical link element 1",),
    "words": ("word count",),
}
"""Columns of the internal tab of Screaming Frog SEO Spider, in lower case, those of old versions last."""

MIN_WORDS = 10
"""HTML with fewer words has no digest: the shell of an application is byte for byte the same on all its pages."""
_SHOWN_FIELDS = 8


def with_given(names: Names, given: Mapping[str, str]) -> Names:
    """The same *names*, but for the fields that the user has called otherwise; an empty name: is not there.

    Raises
    ------
    BadInputError
        If there is no such field.
    """
    for field in given:
        if field not in PLAIN_NAMES:
            close = difflib.get_close_matches(field, PLAIN_NAMES, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise BadInputError(f"there is no field {field!r}; known: {', '.join(PLAIN_NAMES)}.{hint}")
    return {**names, **{field: tuple(dict.fromkeys([name, name.lower()])) for field, name in given.items() if name}} | {
        field: () for field, name in given.items() if not name
    }


def has_field(fields: Iterable[str], field: str, names: Names) -> bool:
    """Whether a file with these *fields* tells one of ours."""
    return not set(names[field]).isdisjoint(fields)


def page_of(fields: Any, names: Names = PLAIN_NAMES) -> Page:
    """The page that *fields* describe; ValueError says what is wrong with them."""
    if not isinstance(fields, dict):
        raise ValueError(f"an object is needed, not {type(fields).__name__}")
    url = _text(fields, names["url"])
    if url is None:
        shown = ", ".join(map(str, list(fields)[:_SHOWN_FIELDS])) or "none"
        raise ValueError(f"there is no {' or '.join(names['url']) or 'url'}; fields: {shown}")
    status = _status(_given(fields, names["status"], 200))
    content, content_type = _content(fields, names)
    return Page(
        url=url,
        status=status,
        referrer=_text(fields, names["referrer"]),
        redirect_to=redirect_target(url, status, _text(fields, names["redirect_to"])),
        content_type=content_type,
        content=content,
        fetched_at=_fetched_at(fields, names["fetched_at"]),
        digest=None if content or _says_little(fields, names, content_type) else _digest(fields, names),
        canonical_link=None if content else _text(fields, names["canonical_link"]),
    )


def _given(fields: Mapping[str, Any], names: Iterable[str], default: Any) -> Any:
    return next((fields[name] for name in names if name in fields and fields[name] != ""), default)


def _status(value: Any) -> int:
    try:
        status = int(value)
    except (TypeError, ValueError, OverflowError):
        status = 0
    if not 100 <= status <= 599:
        raise ValueError(f"status {value!r} is none of HTTP")
    return status


def _content(fields: Mapping[str, Any], names: Names) -> tuple[bytes, str | None]:
    content_type = _text(fields, names["content_type"])
    text = _text(fields, names["content"])
    if text is None:
        text = _text(fields, names["text"])
        content_type = content_type or "text/plain"
    if text is None:
        return b"", _text(fields, names["content_type"])
    kind = (content_type or "text/html").partition(";")[0].strip()
    return text.encode(errors="replace"), f"{kind}; charset=utf-8"


def _says_little(fields: Mapping[str, Any], names: Names, content_type: str | None) -> bool:
    """Whether it is HTML of which hardly a word is shown."""
    n_words = _text(fields, names["words"])
    is_html = content_type is None or "html" in content_type.lower()
    return is_html and n_words is not None and n_words.isdecimal() and int(n_words[:9]) < MIN_WORDS


def _digest(fields: Mapping[str, Any], names: Names) -> str | None:
    return body_digest(_text(fields, names["digest"]))


def _text(fields: Mapping[str, Any], names: Iterable[str]) -> str | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value:
            return value
    return None


def _fetched_at(fields: Mapping[str, Any], names: Iterable[str]) -> float | None:
    for name in names:
        value = fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value) if math.isfinite(value) else None
        if isinstance(value, str):
            return timestamp(value)
    return None
