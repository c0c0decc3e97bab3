"""The tables of a crawl database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Integer, LargeBinary, Text, UniqueConstraint
from sqlalchemy.dialects.postgresql import ExcludeConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Dialect

APPLICATION = "dedup-crawler"
"""Value of ``meta.application``; a database with another value is not touched."""

SCHEMA_VERSION = 1
"""Increases when a table changes in a way that older versions of this program cannot read."""

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
