"""Frames over many inputs, and iterators of records as batches of Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from dedup_crawler.spark.inputs import Input

BATCH_ROWS = 256
"""Largest number of rows of a batch."""
TASKS_A_CORE = 32
"""Most tasks of a stage for each core, so that large and small ones even out."""

Row = dict[str, Any]


def inputs_frame(
    spark: SparkSession, inputs: Sequence[Input], rows_of: Callable[[int, Input], Iterable[Row]], schema: pa.Schema
) -> DataFrame:
    """A frame of the rows that *rows_of* makes of each input and its number."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        return batched((row for number in numbers for row in rows_of(number, inputs[number])), schema)

    n_tasks = min(len(inputs), TASKS_A_CORE * spark.sparkContext.defaultParallelism)
    return mapped(spark.range(0, len(inputs), 1, n_tasks), read, schema)


def mapped(frame: DataFrame, function: Any, schema: pa.Schema) -> DataFrame:
    """Apply a function from batches to batches."""
    return frame.mapInArrow(function, from_arrow_schema(schema))


def records(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """The rows of batches."""
    for batch in batches:
        yield from batch.to_pylist()


def batched(rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows as batches of at most 256 rows."""
    found: list[Row] = []
    for row in rows:
        found.append(row)
        if len(found) >= BATCH_ROWS:
            yield pa.RecordBatch.from_pylist(found, schema)
            found = []
    if found:
        yield pa.RecordBatch.from_pylist(found, schema)
