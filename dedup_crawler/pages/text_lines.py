"""Lines out of chunks of bytes, in bounded memory whatever the file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedup_crawler.pages.compression import Gap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def bounded_lines(chunks: Iterable[bytes | Gap], max_bytes: int) -> Iterator[tuple[int, bytes | Gap | None]]:
    """Offset and bytes of each line, without its end.

    Parameters
    ----------
    chunks
        Uncompressed bytes in order, with a :class:`Gap` where some are missing.
    max_bytes
        A longer line is given as None and never held; a line that a gap cuts off is given as that gap.
    """
    offset = 0
    parts: list[bytes] = []
    n_bytes = 0
    for chunk in chunks:
        if isinstance(chunk, Gap):
            yield offset, chunk
            offset += n_bytes
            parts, n_bytes = [], 0
            continue
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            n_bytes += end + 1 - start
            parts.append(chunk[start:end])
            yield offset, b"".join(parts) if n_bytes <= max_bytes else None
            offset += n_bytes
            parts, n_bytes, start = [], 0, end + 1
        n_bytes += len(chunk) - start
        if n_bytes <= max_bytes:
            parts.append(chunk[start:])
        else:
            parts = []
    if n_bytes:
        yield offset, b"".join(parts) if n_bytes <= max_bytes else None
