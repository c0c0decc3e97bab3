"""The job in order: count the pages of each host, plan, read texts, learn host by host, write the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as columns
from pyspark.sql.pandas.types import from_arrow_schema

from dedup_crawler.errors import BadInputError, ModelError
from dedup_crawler.methods.model.folder import MIN_PAGES, folder_name, is_plain_host
from dedup_crawler.pages.tables import storable
from dedup_crawler.spark import MAX_PAGES
from dedup_crawler.spark.hosts import HostRow, learn_host, row_of, write_catalogue, write_row
from dedup_crawler.spark.inputs import Input, Shares, read_pages, shares_of, sort_of
from dedup_crawler.spark.session import TASKS_A_CORE, Row, inputs_frame, records
from dedup_crawler.spark.texts import TEXTS, texts_of

_MAX_NAME = 200  # letters of a host: names of files are not longer than 255
_COUNTS = pa.schema([("host", pa.string()), ("template", pa.int64()), ("n", pa.int64()), ("damage", pa.string())])
_LEARNT = pa.schema([("host", pa.string())])


@dataclass(frozen=True, slots=True)
class JobReport:
    """Results of a job."""

    rows: list[HostRow]
    """All hosts, in the order of their names."""
    n_known: int
    """Hosts that an earlier run had done."""
    damages: list[str]
    """A line for each file of which something could not be read."""
    catalogue: Path


def learn_hosts(
    spark: SparkSession,
    inputs: Sequence[Input],
    folder: Path,
    *,
    min_pages: int = MIN_PAGES,
    max_pages: int = MAX_PAGES,
) -> JobReport:
    """Learn a model for each host of the pages of *inputs*.

    Model folders and the catalogue are written to *folder*, which all workers must share. A host with a model and a row
    there is not learnt again.

    BadInputError if a bound is wrong, or there are no pages. ModelError if models are missing in *folder* at the end,
    because workers do not share it.
    """
    if not 2 <= min_pages <= max_pages:
        raise BadInputError(
            f"--min-pages is {min_pages} and --max-pages {max_pages}: give 2 or more, and the larger last"
        )
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    counted = inputs_frame(spark, inputs, _counted, _COUNTS)
    counts = counted.groupBy("host", "template", "damage").agg(columns.sum("n").alias("n"))
    counts = counts.coalesce(spark.sparkContext.defaultParallelism).persist()
    try:
        of_host = counts.where("damage is null").groupBy("host").agg(columns.sum("n").alias("n"))
        n_found = {row.host: row.n for row in of_host.collect()}
        damages = [row.damage for row in counts.where("damage is not null").sort("damage").collect()]
        if not n_found:
            raise BadInputError(damages[0] if damages else "there are no pages to learn from")
        n_named = Counter(map(folder_name, n_found))
        rows = {
            host: _refused(host, n, min_pages, n_named[folder_name(host)]) or _done(folder, host)
            for host, n in n_found.items()
        }
        to_learn = {host: n_found[host] for host, row in rows.items() if row is None}
        plan = _plan(counts, to_learn, max_pages)
    finally:
        counts.unpersist()
    n_known = sum(row is not None and not row.refused for row in rows.values())
    if plan:
        _learn(spark, inputs, plan, to_learn, folder)
    for host in to_learn:
        rows[host] = row_of(folder, host)
        if rows[host] is None:
            raise ModelError(f"{folder} has no model of {host}: give a folder that all workers share")
    done = [row for _, row in sorted(rows.items()) if row is not None]
    return JobReport(done, n_known, damages, write_catalogue(folder, done))


def _refused(host: str, n_found: int, min_pages: int, n_named: int) -> HostRow | None:
    """The row of a host that is not learnt, by its name or its number of pages."""
    if not is_plain_host(host) or len(host) > _MAX_NAME:
        return HostRow(host, n_found, refused="this is no name of a host")
    if n_found < min_pages:
        return HostRow(
            host, n_found, refused=f"{n_found} {'page' if n_found == 1 else 'pages'}, fewer than {min_pages}"
        )
    if n_named > 1:  # a port is written as _8000, and a name may have that too
        return HostRow(host, n_found, refused=f"another host has the same folder, {folder_name(host)}")
    return None


def _done(folder: Path, host: str) -> HostRow | None:
    """The row of a host with a model; a host that failed is tried again."""
    row = row_of(folder, host)
    return None if row is None or row.refused else row


def _plan(counts: DataFrame, to_learn: Mapping[str, int], max_pages: int) -> dict[str, Shares]:
    """Pages that are learnt from, by host: all, or of a large host a share of each template."""
    plan: dict[str, Shares] = {host: {} for host in to_learn}
    large = [host for host, n in to_learn.items() if n > max_pages]
    if large:
        n_of: dict[str, dict[int, int]] = {}
        for row in counts.where(columns.col("host").isin(large)).collect():
            n_of.setdefault(row.host, {})[row.template] = row.n
        plan.update({host: shares_of(n_of[host], max_pages) for host in large})
    return plan


def _learn(
    spark: SparkSession,
    inputs: Sequence[Input],
    plan: Mapping[str, Shares],
    n_found: Mapping[str, int],
    folder: Path,
) -> None:
    """Read the texts, bring those of a host together, and have each host learnt where its texts are."""

    def learn(key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        host = key[0].as_py()
        if _done(folder, host) is None:  # else a worker that died had done it
            row = learn_host(host, records(batches), n_found[host], folder)
            write_row(folder, replace(row, is_sampled=bool(plan[host])))
        yield pa.RecordBatch.from_pylist([{"host": host}], _LEARNT)

    n_tasks = min(len(plan), TASKS_A_CORE * spark.sparkContext.defaultParallelism)
    at_home = inputs_frame(spark, inputs, partial(texts_of, plan=plan), TEXTS).repartition(n_tasks, "host")
    at_home.groupBy("host").applyInArrow(learn, from_arrow_schema(_LEARNT)).collect()


def _counted(number: int, source: Input) -> Iterator[Row]:
    """Numbers of pages of each host and template of an input, and its damage."""
    n_of: Counter[tuple[str, int]] = Counter()
    for page in read_pages(source):
        if isinstance(page, str):
            yield {"damage": storable(page), "n": 1}
        else:
            n_of[sort_of(page.url, None)[:2]] += 1
    yield from ({"host": host, "template": template, "n": n} for (host, template), n in n_of.items())
