"""The command that learns the models of many hosts on Apache Spark."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, MAX_LINES, print_json, say, verbosity, warn
from dedup_crawler.errors import MissingExtraError
from dedup_crawler.methods.model.folder import MIN_PAGES
from dedup_crawler.spark.sampling import MAX_PAGES


@main.command("spark-train")
@click.argument("paths", nargs=-1, required=True)
@click.option(
    "--models", type=click.Path(path_type=Path), required=True, help="Folder of models, shared by all workers."
)
@click.option("--master", default=None, help="URL of Spark; default: all cores of this computer.")
@click.option("--min-pages", default=MIN_PAGES, show_default=True, help="A host with fewer pages is refused.")
@click.option(
    "--max-pages", default=MAX_PAGES, show_default=True, help="A host with more pages is sampled by template."
)
@click.option("--language", default="English", show_default=True, help="Language of pages that do not declare theirs.")
@AS_JSON
def spark_train(
    paths: tuple[str, ...],
    models: Path,
    master: str | None,
    min_pages: int,
    max_pages: int,
    language: str,
    as_json: bool,
) -> None:
    """Learn a model for each host of many recordings on Apache Spark.

    Reads files and folders of files that `import` reads, Parquet with the same columns, and crawl databases. Labels the
    pages and trains `verified` as on one computer. The catalogue, a Parquet file beside the models, has a row for each
    host. A host that is done is not done again: run the command again after a stop.

    \b
    Example: dedup-crawler spark-train recordings/ more.parquet --models models
    Example: dedup-crawler spark-train /mnt/warcs --models /mnt/models --master spark://HOST:7077
    """  # noqa: D301 - click reads the control character
    try:
        from dedup_crawler.spark.inputs import find_inputs
        from dedup_crawler.spark.job import learn_hosts
        from dedup_crawler.spark.session import spark_session
    except ModuleNotFoundError as error:
        raise MissingExtraError("learning on Spark", error.name or "pyspark", "spark") from None
    inputs, problems = find_inputs(paths)
    with_progress = verbosity() >= 0 and sys.stderr.isatty()
    with spark_session(master, with_progress=with_progress) as spark:
        report = learn_hosts(spark, inputs, models, min_pages=min_pages, max_pages=max_pages, language=language)
    damages = [*problems, *report.damages]
    refused = [row for row in report.rows if row.refused]
    learnt = [row for row in report.rows if not row.refused]
    for line in damages[:MAX_LINES]:
        warn(line)
    if len(damages) > MAX_LINES:
        warn(f"and {len(damages) - MAX_LINES} more files that could not be read whole")
    if as_json:
        print_json(
            models=str(models),
            catalogue=str(report.catalogue),
            known=report.n_known,
            hosts=[asdict(row) for row in learnt],
            refused={row.host: row.refused for row in refused},
            damages=damages,
        )
        return
    say(
        f"{len(learnt)} hosts learnt, {report.n_known} of them by an earlier run; {len(refused)} refused; "
        f"{len(damages)} files with damage; {report.catalogue}"
    )
    for row in learnt[:MAX_LINES]:
        pages_said = f"{row.n_pages} of {row.n_found} pages, sampled" if row.is_sampled else f"{row.n_pages} pages"
        say(
            f"  {row.host}: {pages_said}: {row.n_rules} rules, {row.n_groups} groups, "
            f"{row.n_contradictions} contradictions, {row.n_merged} URLs merged, {row.seconds:.1f} s"
        )
    if len(learnt) > MAX_LINES:
        say(f"  ... and {len(learnt) - MAX_LINES} more")
    for row in refused[:MAX_LINES]:
        say(f"  {row.host or 'no host'}: refused: {row.refused}")
    if len(refused) > MAX_LINES:
        say(f"  ... and {len(refused) - MAX_LINES} more")
