"""Writes pages in batches, and decides which of two answers to one URL is kept."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, delete, func, insert, select, update

from dedup_crawler.pages.store.rows import checked, page_row, storable
from dedup_crawler.pages.store.schema import DigestRow, ImportRow, PageRow

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from dedup_crawler.pages.records import Page
    from dedup_crawler.pages.store.database import Database

BATCH_PAGES = 100
_BATCH_BYTES = 16 * 2**20  # bytes of compressed bodies, so that a batch of huge files does not fill the memory
_BATCH_S = 5.0


class PageBatch:
    """Pages and import positions that are not written yet; one transaction writes them.

    A batch is full with 100 pages, with 16 MiB of compressed bodies, or 5 s after its first page (checked when a page
    is added). After an error everything stays, so :meth:`write` can be tried again.
    """

    def __init__(self, database: Database) -> None:
        self.n_new = 0
        """Number of new URLs that were written so far."""
        self._database = database
        self._pages: dict[str, tuple[dict[str, Any], str | None]] = {}  # URL -> row, digest
        self._positions: dict[str, int] = {}
        self._n_bytes = 0
        self._since = 0.0

    def add(self, page: Page) -> None:
        """Add a page, and write all pages if the batch is full."""
        row = page_row(page)
        now = time.monotonic()
        if not self._pages:
            self._since = now
        known = self._pages.get(row["url"])
        if known is None or is_better(_standing(row), _standing(known[0])):
            self._pages[row["url"]] = row, None if page.content else storable(page.digest)
            self._n_bytes += len(row["content"])
        is_full = len(self._pages) >= BATCH_PAGES or self._n_bytes >= _BATCH_BYTES
        if is_full or now - self._since >= _BATCH_S:
            self.write()

    def set_position(self, source: str, n_records: int) -> None:
        """Note that *n_records* of *source* are done; written together with the pages that were added before."""
        self._positions[source] = n_records

    def write(self) -> None:
        """Write everything."""
        if not self._pages and not self._positions:
            return
        with self._database.writing() as connection:
            n_new = self._write_pages(connection)
            self._write_positions(connection)
        self.n_new += n_new
        self._pages.clear()
        self._positions.clear()
        self._n_bytes = 0

    def _write_pages(self, connection: Connection) -> int:
        """Insert new URLs, replace worse answers, and return the number of new URLs."""
        query = select(PageRow.url, PageRow.status, func.length(PageRow.content)).where(PageRow.url.in_(self._pages))
        found = checked(connection.execute(query).all(), query, self._database.name)
        known = {url: (status, bool(n_bytes)) for url, status, n_bytes in found}
        new = [each for url, each in self._pages.items() if url not in known]
        better = [
            each for url, each in self._pages.items() if url in known and is_better(_standing(each[0]), known[url])
        ]
        if new:
            connection.execute(insert(PageRow), [row for row, _ in new])
        if better:
            replacement = [{"key": row["url"], **row, "simhash": None, "cluster": None} for row, _ in better]
            connection.execute(update(PageRow).where(PageRow.url == bindparam("key")), replacement)
            connection.execute(delete(DigestRow).where(DigestRow.url.in_([row["url"] for row, _ in better])))
        if digests := [{"url": row["url"], "digest": its} for row, its in (*new, *better) if its is not None]:
            connection.execute(insert(DigestRow), digests)
        return len(new)

    def _write_positions(self, connection: Connection) -> None:
        for source, n_records in self._positions.items():
            connection.execute(delete(ImportRow).where(ImportRow.source == source))
            connection.execute(insert(ImportRow).values(source=source, n_records=n_records))


def _standing(row: Mapping[str, Any]) -> tuple[int, bool]:
    """Status of a page, and whether its body is known."""
    return row["status"], bool(row["content"])


def is_better(new: tuple[int, bool], known: tuple[int, bool]) -> bool:
    """Return True if a new page (see :func:`_standing`) replaces the *known* one."""
    (status, has_body), (known_status, had_body) = new, known
    return status < 400 <= known_status or (200 <= status < 300 > known_status >= 200 and has_body and not had_body)
