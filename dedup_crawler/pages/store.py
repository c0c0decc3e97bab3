"""The crawl database: pages in crawl order, with their texts and labels. Takes and returns records, hides rows and SQL.

One thread may write with one store, any number may read. Stores in several processes may write at the same time.
"""

from __future__ import annotations

import functools
import itertools
import operator
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Integer, bindparam, delete, func, insert, null, select, update

from dedup_crawler.pages.database import Database
from dedup_crawler.pages.records import LabelledPage, Overview, Page, PageFacts, PageText, ReloadedText
from dedup_crawler.pages.rotating import STEADY, RotatingText
from dedup_crawler.pages.tables import (
    BODY_HEAD,
    FACT_COLUMNS,
    LABELLED_COLUMNS,
    PAGE_COLUMNS,
    DigestRow,
    ImportRow,
    PageRow,
    ReloadRow,
    ScoreRow,
    checked,
    page_row,
    row_facts,
    row_labelled_page,
    row_page,
    storable,
    text_row,
)
from dedup_crawler.urls.normal import host_of, normal_form

if TYPE_CHECKING:
    from dedup_crawler.pages.tables import AnyRow, Query

T = TypeVar("T")

_BATCH_PAGES = 100
_BATCH_BYTES = 16 * 2**20  # bytes of compressed bodies, so that a batch of huge files does not fill the memory
_BATCH_S = 5.0
_CHUNK_PAGES = 50  # pages that are read at once
_CHUNK_ROWS = 1000  # small rows that are read or written at once
_N_BYTES = func.length(PageRow.content, type_=Integer())


class PageStore:
    """The pages of a crawl, in crawl order, with their texts, clusters and scores.

    Pages are written in transactions: when 100 pages, 16 MiB of compressed bodies, or a page after 5 s have come, or by
    :meth:`flush`. A process that is killed loses at most one such batch, and the database can be opened afterwards.

    A stored URL keeps its first answer, except if that was an error (status >= 400) and the new answer is none, or if
    it has no body and the new answer has one. URLs are compared byte by byte. NUL characters and lone surrogates in
    strings are replaced by U+FFFD, because databases refuse them; bodies are stored exactly.

    *location* is a path (SQLite), or the SQLAlchemy URL of a database in PostgreSQL (recognised by its ``://``). With
    *create*, a missing database is created.

    StoreError if the database is missing (without *create*) or cannot be opened, and from any method that cannot read
    or write it. Pages that could not be written stay in memory, so :meth:`flush` can be tried again.
    ForeignDatabaseError or SchemaVersionError if another program, or another version of this one, wrote the database.
    """

    def __init__(self, location: str | Path, *, create: bool = True) -> None:
        self._database = Database(location, create=create)
        self._pages: dict[str, tuple[dict[str, Any], str | None]] = {}  # not written yet: URL -> row, digest
        self._positions: dict[str, int] = {}
        self._n_bytes = 0
        self._since = 0.0

    def __enter__(self) -> PageStore:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Write the remaining pages and close the connections."""
        try:
            self.flush()
        finally:
            self._database.close()

    # Pages in

    def add(self, page: Page) -> int:
        """Add a page, and write the batch if it is full; return the number of new URLs that were written."""
        row = page_row(page)
        now = time.monotonic()
        if not self._pages:
            self._since = now
        known = self._pages.get(row["url"])
        if known is None or is_better(_standing(row), _standing(known[0])):
            self._pages[row["url"]] = row, None if page.content else storable(page.digest)
            self._n_bytes += len(row["content"])
        is_full = len(self._pages) >= _BATCH_PAGES or self._n_bytes >= _BATCH_BYTES or now - self._since >= _BATCH_S
        return self.flush() if is_full else 0

    def add_many(self, pages: Iterable[Page]) -> int:
        """Write *pages* in batches; return the number of new URLs."""
        self.flush()
        n_new = sum(map(self.add, pages))
        return n_new + self.flush()

    def flush(self) -> int:
        """Write all unwritten pages and import positions in one transaction; return the number of new URLs."""
        if not self._pages and not self._positions:
            return 0
        with self._database.writing() as connection:
            n_new = self._write_pages(connection)
            for source, n_records in self._positions.items():
                connection.execute(delete(ImportRow).where(ImportRow.source == source))
                connection.execute(insert(ImportRow).values(source=source, n_records=n_records))
        self._pages.clear()
        self._positions.clear()
        self._n_bytes = 0
        return n_new

    def _write_pages(self, connection: Connection) -> int:
        """Insert new URLs, replace worse answers, and return the number of new URLs."""
        query = select(PageRow.url, PageRow.status, _N_BYTES).where(PageRow.url.in_(self._pages))
        found = self._execute(connection, query)
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

    # Pages out

    def __len__(self) -> int:
        """Number of stored URLs."""
        self.flush()
        with self._database.reading() as connection:
            return connection.execute(select(func.count()).select_from(PageRow)).scalar_one()

    def overview(self) -> Overview:
        """Count pages, texts, clusters and scores."""
        self.flush()
        counts = select(
            func.count(),
            func.count(PageRow.main_text),
            func.count(PageRow.cluster),
            func.count(PageRow.cluster.distinct()),
        ).select_from(PageRow)
        with self._database.reading() as connection:
            n_scores = connection.execute(select(func.count()).select_from(ScoreRow)).scalar_one()
            return Overview(*connection.execute(counts).one(), n_scores)

    def get(self, url: str) -> Page | None:
        """The page of *url*, if it is stored."""
        found = self._few(_pages_with(PAGE_COLUMNS).where(PageRow.url == storable(url)))
        return row_page(found[0]) if found else None

    def before(self, url: str, n: int) -> list[Page]:
        """At most *n* pages that were stored just before the page of *url*, the nearest first."""
        query = _pages_with(PAGE_COLUMNS).where(PageRow.id < _id_of(url)).order_by(PageRow.id.desc())
        return [*map(row_page, self._few(query.limit(n)))]

    def after(self, url: str, n: int) -> list[Page]:
        """At most *n* pages that were stored just after the page of *url*, the nearest first."""
        query = _pages_with(PAGE_COLUMNS).where(PageRow.id > _id_of(url)).order_by(PageRow.id)
        return [*map(row_page, self._few(query.limit(n)))]

    def urls(self) -> Iterator[str]:
        """All URLs in crawl order."""
        return (row.url for row in self._rows(select(PageRow.id, PageRow.url), PageRow.id, _CHUNK_ROWS))

    def pages(self) -> Iterator[Page]:
        """Pages in crawl order, a few at a time in memory."""
        return map(row_page, self._rows(_pages_with(PAGE_COLUMNS), PageRow.id, _CHUNK_PAGES))

    def uncleaned_pages(self) -> Iterator[Page]:
        """Pages without text yet, in crawl order; :meth:`write_texts` may be called meanwhile."""
        query = _pages_with(PAGE_COLUMNS).where(PageRow.main_text.is_(None))
        return map(row_page, self._rows(query, PageRow.id, _CHUNK_PAGES))

    def labelled_pages(self) -> Iterator[LabelledPage]:
        """Pages without bodies and rotating text, in crawl order; the title and text of an unread page are empty."""
        rows = self._rows(_pages_with(LABELLED_COLUMNS), PageRow.id, _CHUNK_ROWS)
        return map(self.rotating_text().without, map(row_labelled_page, rows))

    def page_facts(self, *, with_sizes: bool = False) -> Iterator[PageFacts]:
        """Pages without bodies and texts, in crawl order; *with_sizes* reads the bodies, one at a time."""
        columns = (*FACT_COLUMNS, BODY_HEAD) if with_sizes else FACT_COLUMNS
        return map(row_facts, self._rows(select(PageRow.id, *columns), PageRow.id, _CHUNK_ROWS))

    # Pages that were fetched twice

    def add_reload(self, reload: ReloadedText) -> None:
        """Store the two texts of a page that was fetched twice."""
        row = {"url": reload.url, "first_text": reload.first, "second_text": reload.second}
        with self._database.writing() as connection:
            connection.execute(insert(ReloadRow), {key: storable(text) for key, text in row.items()})

    def rotating_text(self) -> RotatingText:
        """Find the places at which the pages of each site show another text with every fetch."""
        of_host: defaultdict[str, list[ReloadedText]] = defaultdict(list)
        query = select(ReloadRow.id, ReloadRow.url, ReloadRow.first_text, ReloadRow.second_text)
        for row in self._rows(query, ReloadRow.id, _CHUNK_PAGES):
            of_host[host_of(normal_form(row.url))].append(ReloadedText(*row[1:]))
        return functools.reduce(operator.or_, map(RotatingText.of, of_host.values()), STEADY)

    def _execute(self, connection: Connection, query: Query) -> Sequence[AnyRow]:
        """All rows of a query, which must be few."""
        return checked(connection.execute(query).all(), query, self._database.name)

    def _few(self, query: Query) -> Sequence[AnyRow]:
        self.flush()
        with self._database.reading() as connection:
            return self._execute(connection, query)

    def _rows(self, query: Query, key: Any, n_rows: int) -> Iterator[AnyRow]:
        """Rows in the order of *key*; each chunk has its own transaction, so writers do not wait for slow readers."""
        self.flush()
        last = None
        while True:
            chunk_query = query.order_by(key).limit(n_rows)
            if last is not None:
                chunk_query = chunk_query.where(key > last)
            with self._database.reading() as connection:
                rows = self._execute(connection, chunk_query)
            yield from rows
            if len(rows) < n_rows:
                return
            last = rows[-1].id

    # Texts and labels

    def write_texts(self, texts: Iterable[PageText]) -> None:
        """Store texts, in transactions of 100."""
        self.flush()
        statement = update(PageRow).where(PageRow.url == bindparam("key"))
        for chunk in _chunks(texts, _BATCH_PAGES):
            with self._database.writing() as connection:
                connection.execute(statement, [text_row(text) for text in chunk])
                if digests := {storable(text.url): storable(text.digest) for text in chunk if text.digest is not None}:
                    connection.execute(delete(DigestRow).where(DigestRow.url.in_(digests)))
                    connection.execute(insert(DigestRow), [{"url": url, "digest": its} for url, its in digests.items()])

    def write_clusters(self, clusters: Mapping[str, int]) -> None:
        """Replace all clusters by *clusters* (URL -> number) in one transaction."""
        self.flush()
        statement = update(PageRow).where(PageRow.url == bindparam("key"))
        with self._database.writing() as connection:
            connection.execute(update(PageRow).where(PageRow.cluster.is_not(None)).values(cluster=null()))
            for chunk in _chunks(clusters.items(), _CHUNK_ROWS):
                rows = [{"key": storable(url), "cluster": cluster} for url, cluster in chunk]
                connection.execute(statement, rows)

    def write_scores(self, scores: Iterable[tuple[str, str, float]]) -> None:
        """Replace all scores by *scores* (URL, URL, cosine 0-1) in one transaction."""
        self.flush()
        with self._database.writing() as connection:
            connection.execute(delete(ScoreRow))
            for chunk in _chunks(scores, _CHUNK_ROWS):
                rows = [{"url1": storable(url1), "url2": storable(url2), "score": score} for url1, url2, score in chunk]
                connection.execute(insert(ScoreRow), rows)

    # Imports

    def import_position(self, source: str) -> int:
        """Number of imported records of *source* (digest of a file); 0 if it is unknown."""
        rows = self._few(select(ImportRow.n_records).where(ImportRow.source == source))
        return rows[0].n_records if rows else 0

    def set_import_position(self, source: str, n_records: int) -> None:
        """Note that *n_records* of *source* are done; written together with the pages added before."""
        self._positions[source] = n_records


def _standing(row: Mapping[str, Any]) -> tuple[int, bool]:
    """Status of a page, and whether its body is known."""
    return row["status"], bool(row["content"])


def is_better(new: tuple[int, bool], known: tuple[int, bool]) -> bool:
    """Return True if a new page (see :func:`_standing`) replaces the *known* one."""
    (status, has_body), (known_status, had_body) = new, known
    return status < 400 <= known_status or (200 <= status < 300 > known_status >= 200 and has_body and not had_body)


def _pages_with(columns: Iterable[Any]) -> Query:
    """Select the id and some columns of pages, which may include the digest of the body."""
    return select(PageRow.id, *columns).outerjoin(DigestRow, DigestRow.url == PageRow.url)


def _id_of(url: str) -> Any:
    return select(PageRow.id).where(PageRow.url == storable(url)).scalar_subquery()


def _chunks(values: Iterable[T], size: int) -> Iterator[list[T]]:
    iterator = iter(values)
    while chunk := list(itertools.islice(iterator, size)):
        yield chunk
