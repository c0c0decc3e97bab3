"""Pages as a data frame, and iterators of records as batches of Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store.rows import storable
from dedup_crawler.spark.inputs import Input, read_pages

PAGES = pa.schema(
    [
        ("source", pa.int64()),  # source and position: the order of the crawl
        ("position", pa.int64()),
        ("url", pa.string()),
        ("status", pa.int64()),
        ("referrer", pa.string()),
        ("redirect_to", pa.string()),
        ("content_type", pa.string()),
        ("content", pa.binary()),
        ("digest", pa.string()),
        ("damage", pa.string()),  # a line about what could not be read, in a row without a page
    ]
)
"""Columns of a data frame of pages."""

BATCH_ROWS = 256
"""Largest number of rows of a batch."""
_BATCH_BYTES = 2**24

Row = dict[str, Any]


def pages_frame(spark: SparkSession, inputs: Sequence[Input]) -> DataFrame:
    """The pages of all inputs as a data frame with the columns of :data:`PAGES`; one task an input."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        return batched((row for number in numbers for row in _rows(number, inputs[number])), PAGES)

    return mapped(spark.range(0, len(inputs), 1, len(inputs)), read, PAGES)


def mapped(frame: DataFrame, function: Any, schema: pa.Schema) -> DataFrame:
    """Apply a function from batches to batches."""
    return frame.mapInArrow(function, from_arrow_schema(schema))


def records(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """The rows of batches."""
    for batch in batches:
        yield from batch.to_pylist()


def batched(rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows as batches of at most 256 rows, or 16 MiB of bodies and one more."""
    found: list[Row] = []
    n_bytes = 0
    for row in rows:
        found.append(row)
        n_bytes += len(row.get("content") or b"") + len(row.get("main_text") or "")
        if len(found) >= BATCH_ROWS or n_bytes >= _BATCH_BYTES:
            yield pa.RecordBatch.from_pylist(found, schema)
            found, n_bytes = [], 0
    if found:
        yield pa.RecordBatch.from_pylist(found, schema)


def _rows(number: int, source: Input) -> Iterator[Row]:
    for position, page in enumerate(read_pages(source)):
        row = {"source": number, "position": position}
        yield {**row, "damage": storable(page)} if isinstance(page, str) else {**row, **_columns(page)}


def _columns(page: Page) -> Row:
    """Columns of a page, with the characters that a store refuses replaced as the store does."""
    return {
        "url": storable(page.url),
        "status": page.status,
        "referrer": storable(page.referrer),
        "redirect_to": storable(page.redirect_to),
        "content_type": storable(page.content_type),
        "content": page.content,
        "digest": storable(page.digest) if not page.content else None,
    }
