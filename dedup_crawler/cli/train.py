"""Commands that train: one for each method, built from its options, and one for many hosts on Apache Spark."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dedup_crawler.cli.group import (
    AS_JSON,
    DATABASE,
    MAX_LINES,
    NEW_MODEL,
    PATH,
    Commands,
    main,
    print_first,
    print_json,
    progress,
    verbosity,
    warn,
)
from dedup_crawler.errors import MissingExtraError
from dedup_crawler.methods import METHODS, Canonicalizer
from dedup_crawler.methods.model.folder import MIN_PAGES, check_place
from dedup_crawler.methods.model.method_options import options_of
from dedup_crawler.methods.pairs.classifier import PairClassifier
from dedup_crawler.methods.pairs.url_pairs import read_pairs
from dedup_crawler.spark import MAX_PAGES

if TYPE_CHECKING:
    from dedup_crawler.spark.hosts import HostRow


class _Learners(Commands):
    """Imports a method, and makes its command, only when it is asked for: most need numpy."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the methods, in alphabetical order as click lists commands."""
        return sorted(METHODS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a method; None if there is no such method."""
        if cmd_name in METHODS and cmd_name not in self.commands:
            self.add_command(_learner(METHODS[cmd_name]))
        return super().get_command(ctx, cmd_name)


@main.group(cls=_Learners)
def train() -> None:
    """Fit one method on a labelled crawl and write its model folder.

    Example: dedup-crawler train verified --db crawl.db --model models/forum
    """


def _learner(method: type[Canonicalizer]) -> click.Command:
    def command(db: str, model: Path | None, as_json: bool, pairs: Path | None = None, **values: Any) -> None:
        from dedup_crawler.methods.model.training_data import default_model_folder, training_data
        from dedup_crawler.pages.store import PageStore

        learner = method(**values)
        if model is not None:
            check_place(model)
        with ExitStack() as stack, progress(f"train {method.name}") as advance:
            learner.progress = lambda step, steps, fit: advance(f"exact {fit:.1%}", step, steps)
            if pairs is not None and isinstance(learner, PairClassifier):
                labelled = read_pairs(pairs)
                urls = list(dict.fromkeys(url for pair in labelled for url in (pair.left, pair.right)))
                learner.fit_pairs(labelled)
            else:
                data = training_data(stack.enter_context(PageStore(db, create=False)))
                urls = data.urls
                learner.fit(*data)
        folder = learner.save(model or default_model_folder(urls))
        if as_json:
            print_json(model=str(folder), method=method.name, **learner.quality_)
            return
        click.echo(f"{method.name}: learnt from {len(urls)} URLs of {', '.join(sorted(learner.hosts))}; {folder}")
        for name, value in learner.quality_.items():
            click.echo(f"  {name.replace('_', ' ')}: {value}")
        if learner.n_learnt() == 0:
            click.echo(f"  no rules were learnt: {learner.n_urls_} URLs show {learner.n_clusters_} pages")
        print_first(click.echo, [f"  {line}" for line in learner.learnt()], MAX_LINES, _more)

    for option in reversed(options_of(method)):
        flag = option.name.replace("_", "-")
        names = f"--{flag}/--no-{flag}" if option.kind is bool else f"--{flag}"
        command = click.option(
            names, option.name, type=option.kind, default=option.default, show_default=True, help=option.help
        )(command)
    command = NEW_MODEL(AS_JSON(command))
    if issubclass(method, PairClassifier):
        command = click.option("--pairs", type=PATH, help="Learn from a CSV (url1,url2,score) instead of --db.")(
            command
        )
    summary = (method.__doc__ or "").partition("\n")[0]
    command.__doc__ = f"{summary}\n\nExample: dedup-crawler train {method.name} --db crawl.db"
    return click.command(method.name)(DATABASE(command))


@main.command("spark-train")
@click.argument("paths", nargs=-1, required=True)
@click.option("--models", type=PATH, required=True, help="Folder of models, shared by all workers.")
@click.option("--master", help="URL of Spark; default: all cores of this computer.")
@click.option("--min-pages", default=MIN_PAGES, show_default=True, help="A host with fewer pages is refused.")
@click.option(
    "--max-pages", default=MAX_PAGES, show_default=True, help="A host with more pages is sampled by template."
)
@AS_JSON
def spark_train(
    paths: tuple[str, ...], models: Path, master: str | None, min_pages: int, max_pages: int, as_json: bool
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
        report = learn_hosts(spark, inputs, models, min_pages=min_pages, max_pages=max_pages)
    damages = [*problems, *report.damages]
    refused = [row for row in report.rows if row.refused]
    learnt = [row for row in report.rows if not row.refused]
    print_first(warn, damages, MAX_LINES, lambda n: f"and {n} more files that could not be read whole")
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
    click.echo(
        f"{len(learnt)} hosts learnt, {report.n_known} of them by an earlier run; {len(refused)} refused; "
        f"{len(damages)} files with damage; {report.catalogue}"
    )
    print_first(click.echo, [f"  {row.host}: {_said(row)}" for row in learnt], MAX_LINES, _more)
    print_first(click.echo, [f"  {row.host or 'no host'}: refused: {row.refused}" for row in refused], MAX_LINES, _more)


def _said(row: HostRow) -> str:
    pages = f"{row.n_pages} of {row.n_found} pages, sampled" if row.is_sampled else f"{row.n_pages} pages"
    return (
        f"{pages}: {row.n_rules} rules, {row.n_groups} groups, {row.n_contradictions} contradictions, "
        f"{row.n_merged} URLs merged, {row.seconds:.1f} s"
    )


def _more(n: int) -> str:
    return f"  ... and {n} more"
