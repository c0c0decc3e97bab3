"""Text files as UTF-8, whatever their byte order mark says: spreadsheets write UTF-16."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from dedup_crawler.pages.compression import Gap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_LATIN_STARTS = {(False, True): "utf-16-le", (True, False): "utf-16-be"}  # which of two bytes is NUL, without a mark


def as_utf8(chunks: Iterable[bytes | Gap]) -> Iterator[bytes | Gap]:
    """The same chunks without a byte order mark, and in UTF-8 if they were in UTF-16."""
    iterator = iter(chunks)
    first = next(iterator, b"")
    while isinstance(first, bytes) and len(first) < 4:
        more = next(iterator, None)
        if more is None:
            break
        if isinstance(more, Gap):
            yield from filter(None, (first,))
            first = more
        else:
            first += more
    if isinstance(first, Gap):
        yield first
        yield from iterator
        return
    encoding, n_mark = _encoding(first)
    if encoding == "utf-8":
        yield first[n_mark:]
        yield from iterator
        return
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    yield decoder.decode(first[n_mark:]).encode(errors="replace")
    for chunk in iterator:
        if isinstance(chunk, Gap):
            decoder.reset()
            yield chunk
        else:
            yield decoder.decode(chunk).encode(errors="replace")
    yield decoder.decode(b"", final=True).encode(errors="replace")


def _encoding(start: bytes) -> tuple[str, int]:
    for mark, encoding in _MARKS:
        if start.startswith(mark):
            return encoding, len(mark)
    if len(start) >= 2:
        return _LATIN_STARTS.get((start[0] == 0, start[1] == 0), "utf-8"), 0
    return "utf-8", 0
