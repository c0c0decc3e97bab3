"""The tables of a crawl database, and which program and version wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, Integer, LargeBinary, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Dialect

APPLICATION = "dedup-crawler"
"""Value of ``meta.application``; any other database is left alone."""

SCHEMA_VERSION = 1
"""Counts up when a table changes in a way that an older version of this program cannot read."""

_ROW_NUMBER = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only in an INTEGER column


class Body(LargeBinary):
    """Bytes as the driver gives them: by default a number would become as many zero bytes, and a text a TypeError."""

    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        """None for SQLite, whose driver gives bytes."""
        processor: Callable[[Any], Any] | None = super().result_processor(dialect, coltype)  # type: ignore[no-untyped-call]
        return None if dialect.name == "sqlite" else processor


class Tables(DeclarativeBase):
    """Base of all tables."""


class PageRow(Tables):
    """One URL with its answer, what the labeller read off it, and its duplicate cluster.

    Rows are numbered in crawl order. The body comes last, so that reading the other columns never touches it.
    """

    __tablename__ = "pages"

    id: Mapped[int] = mapped_column(_ROW_NUMBER, primary_key=True)
    url: Mapped[str] = mapped_column(Text, unique=True)
    referrer: Mapped[str | None] = mapped_column(Text)
    status: Mapped[int]
    redirect_to: Mapped[str | None] = mapped_column(Text)
    content_type: Mapped[str | None] = mapped_column(Text)
    title: Mapped[str | None] = mapped_column(Text)
    canonical_link: Mapped[str | None] = mapped_column(Text)
    main_text: Mapped[str | None] = mapped_column(Text)
    """NULL until the page is cleaned."""
    simhash: Mapped[int | None] = mapped_column(BigInteger)
    """Signed: SQL knows no unsigned 64-bit integer."""
    cluster: Mapped[int | None] = mapped_column(BigInteger)
    fetched_at: Mapped[float | None]
    content: Mapped[bytes] = mapped_column(Body)
    """One zstd frame; no bytes at all for an empty body."""


class DigestRow(Tables):
    """Digest of a body that is not stored itself.

    A table of its own: databases without it only lack these rows, and a crawl that has its bodies never writes one.
    """

    __tablename__ = "digests"

    url: Mapped[str] = mapped_column(Text, primary_key=True)
    digest: Mapped[str] = mapped_column(Text)


class ScoreRow(Tables):
    """Cosine of two pages' main texts, 0-1."""

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
