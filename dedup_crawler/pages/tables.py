"""The tables of a crawl database, and the way of records into rows and back.

Bodies are compressed, fingerprints become signed, and characters that a database may refuse are replaced. SQLite
stores any type in any column, and a stranger may have written the file, so the type of each value is checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, overload

import zstandard
from sqlalchemy import BigInteger, Dialect, Integer, LargeBinary, Row, Select, Text, UniqueConstraint, func
from sqlalchemy.dialects.postgresql import ExcludeConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from dedup_crawler.errors import StoreError
from dedup_crawler.pages.records import LabelledPage, Page, PageFacts, PageText

if TYPE_CHECKING:
    from typing_extensions import Unpack

    AnyRow = Row[Unpack[tuple[Any, ...]]]
    Query = Select[Unpack[tuple[Any, ...]]]

APPLICATION = "dedup-crawler"
"""Value of ``meta.application``; a database with another value is not touched."""

SCHEMA_VERSION = 1
"""Increases when a table changes in a way that older versions of this program cannot read."""

_NAMES = {int: "a whole number", float: "a number", str: "a text", bytes: "a body"}
_COMPRESSION_LEVEL = 3
_MAX_BODY = 2**31
_NOT_STORABLE = re.compile("[\0\ud800-\udfff]")
_ROW_NUMBER = BigInteger().with_variant(Integer, "sqlite")  # SQLite only numbers rows in an INTEGER column


class Body(LargeBinary):
    """Bytes as the driver returns them. By default SQLAlchemy would turn a number into as many zero bytes."""

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        """None for SQLite, whose driver returns bytes."""
        processor: Callable[[Any], Any] | None = super().result_processor(dialect, coltype)  # type: ignore[no-untyped-call]
        return None if dialect.name == "sqlite" else processor


class Tables(DeclarativeBase):
    """Base of all tables."""


def _is_not_postgres(*_arguments: object, dialect: Dialect, **_named: object) -> bool:
    return dialect.name != "postgresql"


def _one_row_a_url() -> ExcludeConstraint:
    """Constraint for Postgres, whose other indexes refuse a URL of more than 2,700 bytes."""
    return ExcludeConstraint(("url", "="), using="hash").ddl_if(dialect="postgresql")


class PageRow(Tables):
    """One URL with its answer, its text and its duplicate cluster.

    Rows are numbered in crawl order. The body is the last column, so that reading other columns never touches it.
    """

    __tablename__ = "pages"
    __table_args__ = (UniqueConstraint("url").ddl_if(callable_=_is_not_postgres), _one_row_a_url())

    id: Mapped[int] = mapped_column(_ROW_NUMBER, primary_key=True)
    url: Mapped[str] = mapped_column(Text)
    referrer: Mapped[str | None] = mapped_column(Text)
    status: Mapped[int]
    redirect_to: Mapped[str | None] = mapped_column(Text)
    content_type: Mapped[str | None] = mapped_column(Text)
    title: Mapped[str | None] = mapped_column(Text)
    canonical_link: Mapped[str | None] = mapped_column(Text)
    main_text: Mapped[str | None] = mapped_column(Text)
    """NULL until the text is read."""
    simhash: Mapped[int | None] = mapped_column(BigInteger)
    """Signed, because SQL has no unsigned 64-bit integers."""
    cluster: Mapped[int | None] = mapped_column(BigInteger)
    fetched_at: Mapped[float | None]
    content: Mapped[bytes] = mapped_column(Body)
    """One zstd frame; empty for an empty body."""


class DigestRow(Tables):
    """Digest of a body that is not stored, or is not HTML; a table of its own: older databases do not have it."""

    __tablename__ = "digests"
    __table_args__ = (_one_row_a_url(),)

    url: Mapped[str] = mapped_column(Text, primary_key=True)
    digest: Mapped[str] = mapped_column(Text)


DigestRow.metadata.tables[DigestRow.__tablename__].primary_key.ddl_if(callable_=_is_not_postgres)


class ReloadRow(Tables):
    """Text of a page as it was fetched twice; older databases do not have this table."""

    __tablename__ = "reloads"

    id: Mapped[int] = mapped_column(_ROW_NUMBER, primary_key=True)
    url: Mapped[str] = mapped_column(Text)
    first_text: Mapped[str] = mapped_column(Text)
    second_text: Mapped[str] = mapped_column(Text)


class ScoreRow(Tables):
    """Cosine (0-1) of the main texts of two pages."""

    __tablename__ = "scores"

    id: Mapped[int] = mapped_column(_ROW_NUMBER, primary_key=True)
    url1: Mapped[str] = mapped_column(Text)
    url2: Mapped[str] = mapped_column(Text)
    score: Mapped[float]


class ImportRow(Tables):
    """Progress of the import of one file."""

    __tablename__ = "imports"

    source: Mapped[str] = mapped_column(Text, primary_key=True)
    """Digest of the file."""
    n_records: Mapped[int] = mapped_column(BigInteger)


class MetaRow(Tables):
    """Facts about the database itself."""

    __tablename__ = "meta"

    key: Mapped[str] = mapped_column(Text, primary_key=True)
    value: Mapped[str] = mapped_column(Text)


def _columns_of(record: type[Page | LabelledPage]) -> tuple[Any, ...]:
    """Columns in the order of the fields of a record."""
    names = [field.name for field in fields(record)]
    return tuple(DigestRow.digest if name == "digest" else getattr(PageRow, name) for name in names)


PAGE_COLUMNS, LABELLED_COLUMNS = _columns_of(Page), _columns_of(LabelledPage)
FACT_COLUMNS = (PageRow.url, PageRow.referrer, PageRow.status, PageRow.title, PageRow.cluster, PageRow.fetched_at)
BODY_HEAD = func.substr(PageRow.content, 1, 18, type_=Body())
"""First 18 bytes of the body: a zstd frame has its uncompressed size there."""


def page_row(page: Page) -> dict[str, Any]:
    """Columns of a page as it was received; a page from an export without bodies counts as read."""
    is_described = not page.content and (page.digest is not None or page.canonical_link is not None)
    return {
        "url": storable(page.url),
        "referrer": storable(page.referrer),
        "status": page.status,
        "redirect_to": storable(page.redirect_to),
        "content_type": storable(page.content_type),
        "content": zstandard.compress(page.content, _COMPRESSION_LEVEL) if page.content else b"",
        "fetched_at": page.fetched_at,
        "title": "" if is_described else None,
        "main_text": "" if is_described else None,
        "canonical_link": storable(page.canonical_link) if is_described else None,
    }


def row_page(row: AnyRow) -> Page:
    """The page of a row with its id and PAGE_COLUMNS; StoreError if its body cannot be decompressed."""
    page = Page(*row[1:])
    if not page.content:
        return page
    try:
        # a stranger may have written a frame that asks for too much memory
        if zstandard.frame_content_size(page.content) > _MAX_BODY:
            raise zstandard.ZstdError(f"it says that it has more than {_MAX_BODY} bytes")
        content = zstandard.decompress(page.content)
    except zstandard.ZstdError as error:
        raise StoreError(f"the stored body of {page.url} is damaged ({error}): crawl or import it again") from error
    return replace(page, content=content, canonical_link=None)


def text_row(text: PageText) -> dict[str, Any]:
    """Columns of the text of a page, with its URL as ``key``."""
    return {
        "key": storable(text.url),
        "title": storable(text.title),
        "canonical_link": storable(text.canonical_link),
        "main_text": storable(text.main_text),
        "simhash": text.simhash - 2**64 if text.simhash is not None and text.simhash >= 2**63 else text.simhash,
    }


def row_labelled_page(row: AnyRow) -> LabelledPage:
    """The labelled page of a row with its id and LABELLED_COLUMNS."""
    # unpacking is faster than access by name
    _, url, referrer, status, redirect_to, title, main_text, fingerprint, cluster, digest = row
    simhash = None if fingerprint is None else fingerprint % 2**64
    return LabelledPage(url, referrer, status, redirect_to, title or "", main_text or "", simhash, cluster, digest)


def row_facts(row: AnyRow) -> PageFacts:
    """The facts of a row with its id, FACT_COLUMNS, and optionally BODY_HEAD."""
    _, url, referrer, status, title, cluster, fetched_at, *head = row
    return PageFacts(url, referrer, status, title or "", cluster, fetched_at, _body_size(head[0]) if head else None)


def _body_size(head: bytes | None) -> int | None:
    """Uncompressed size of a body in bytes, from its first bytes; None if they do not say it."""
    if not head:
        return 0
    try:
        size: int = zstandard.frame_content_size(head)
    except zstandard.ZstdError:
        return None
    return size if size >= 0 else None


@overload
def storable(text: str) -> str: ...
@overload
def storable(text: str | None) -> str | None: ...
def storable(text: str | None) -> str | None:
    """Replace NUL characters and lone surrogates by U+FFFD."""
    return None if text is None else _NOT_STORABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def checked(rows: Sequence[AnyRow], query: Query, name: str) -> Sequence[AnyRow]:
    """Check the *rows* of a query; StoreError, with the *name* of the database, for a value of a wrong type.

    The query selects our columns, or functions of them with a type.
    """
    columns = [_column(column) for column in query.selected_columns]
    for row in rows:
        for value, (column, kinds) in zip(row, columns, strict=True):
            if type(value) not in kinds:
                raise StoreError(
                    f"{name}: a row has {repr(value)[:40]} as its {column}, which has to be {_NAMES[kinds[0]]}: "
                    "the database is damaged; crawl or import it again into a new file"
                )
    return rows


def _column(column: Any) -> tuple[str, tuple[type, ...]]:
    """Name of a column and the types of its values."""
    kind = column.type.python_type
    kinds = (float, int) if kind is float else (kind,)
    # an outer join may add NULL
    is_optional = getattr(column, "nullable", True) or column.table.name == "digests"
    return column.name, (*kinds, type(None)) if is_optional else kinds
