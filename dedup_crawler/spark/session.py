"""Spark: starting it, its failures as one line, frames over many inputs, and records as batches of Arrow."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from dedup_crawler.errors import BadInputError, DedupError
from dedup_crawler.spark.inputs import Input

BATCH_ROWS = 256
"""Largest number of rows of a batch."""
TASKS_A_CORE = 32
"""Most tasks of a stage for each core, so that large and small ones even out."""
_TRIES = 4  # of a task whose worker process died; a local master has one try unless it says otherwise
_LOCAL = re.compile(r"local(?:\[([0-9]+|\*)\])?")
_SHOWN = 300
# Java only moves compressed texts: compiling more, and collecting garbage in parallel, costs more than it saves
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


Row = dict[str, Any]


@contextmanager
def spark_session(master: str | None = None, *, with_progress: bool = False) -> Iterator[SparkSession]:
    """Start Spark, and stop it at the end; use one that runs, in a notebook, or what spark-submit has started.

    *master* is a URL of Spark, such as ``local[2]`` or ``spark://HOST:7077``; by default all cores of this computer, or
    what spark-submit was given. *with_progress* draws Spark's bar on stderr.

    BadInputError if there is no Java. DedupError if Spark cannot be started, or ends a job.
    """
    running = SparkSession.getActiveSession()
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if master is None and not is_submitted:
        master = "local[*]"
    if not is_submitted and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise BadInputError(
            "Spark needs Java 17, and there is no java: install openjdk-17-jre-headless, or set JAVA_HOME"
        )
    builder = SparkSession.builder.appName("dedup-crawler").config("spark.ui.showConsoleProgress", with_progress)
    # 256 texts of at most 5 MB: a column of Arrow holds 2 GiB
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", BATCH_ROWS)
    if master is not None and (local := _LOCAL.fullmatch(master)):
        master = f"local[{local[1] or 1},{_TRIES}]"
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
        builder = builder.config("spark.ui.enabled", False).config("spark.log.level", "OFF")
        builder = builder.config("spark.driver.extraJavaOptions", _JAVA)
    with _told(f"Spark cannot be started at {master or 'the submitted master'}"):
        session = (builder.master(master) if master is not None else builder).getOrCreate()
    try:
        with _told("Spark ended the job; hosts that were done are kept, and the same command goes on"):
            yield session
    finally:
        if running is None:
            session.stop()


@contextmanager
def _told(what: str) -> Iterator[None]:
    try:
        yield
    except (PySparkException, Py4JError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        # of a failure in a worker, the last line of its traceback says more than the first of Java's
        reason = next(
            (line for line in lines if re.match(r"[A-Za-z.]+(?:Error|Exception): ", line)), "".join(lines[:1])
        )
        raise DedupError(f"{what}: {reason[:_SHOWN] or type(error).__name__}") from error


def inputs_frame(
    spark: SparkSession, inputs: Sequence[Input], rows_of: Callable[[int, Input], Iterable[Row]], schema: pa.Schema
) -> DataFrame:
    """A frame of the rows that *rows_of* makes of each input and its number."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        return batched((row for number in numbers for row in rows_of(number, inputs[number])), schema)

    n_tasks = min(len(inputs), TASKS_A_CORE * spark.sparkContext.defaultParallelism)
    return spark.range(0, len(inputs), 1, n_tasks).mapInArrow(read, from_arrow_schema(schema))


def records(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """The rows of batches."""
    for batch in batches:
        yield from batch.to_pylist()


def batched(rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Rows as batches of at most 256 rows."""
    rows = iter(rows)
    while found := list(islice(rows, BATCH_ROWS)):
        yield pa.RecordBatch.from_pylist(found, schema)
