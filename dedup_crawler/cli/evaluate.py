"""Commands that judge methods, and that show the whole job."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, print_json, print_table, progress, say, tell
from dedup_crawler.errors import BadInputError
from dedup_crawler.methods import METHODS, method_from_spec


def _methods(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in METHODS if name.startswith(incomplete)]


@main.command()
@click.option("--db", "databases", multiple=True, default=["crawl.db"], show_default=True, help="One or more crawls.")
@click.option(
    "--truth", "truths", multiple=True, type=click.Path(path_type=Path), help="CSV (url,cluster), one per --db."
)
@click.option(
    "--method",
    "specs",
    multiple=True,
    shell_complete=_methods,
    help="Name, or name:option=value,...; default: all methods as they are.",
)
@click.option("--train-fraction", default=0.75, show_default=True, help="Share of the pages to learn from.")
@AS_JSON
def evaluate(
    databases: tuple[str, ...], truths: tuple[Path, ...], specs: tuple[str, ...], train_fraction: float, as_json: bool
) -> None:
    """Print the papers' tables: simulated crawls, cold and warm, and the metrics of WWW'10.

    Methods learn from our own labels of the first part only. Without --truth our labels judge as well.

    Example: dedup-crawler evaluate --db forum.db --truth truth.csv.gz --method keep-all --method verified
    """
    from dedup_crawler.evaluation.comparison import evaluate as evaluate_method
    from dedup_crawler.evaluation.comparison import judged_crawl
    from dedup_crawler.evaluation.tables import LEGEND, mean_table, site_table, worst_table
    from dedup_crawler.evaluation.truth import read_truth
    from dedup_crawler.pages.store import PageStore

    if truths and len(truths) != len(databases):
        raise BadInputError(f"{len(databases)} databases and {len(truths)} truths; give one --truth for each --db.")
    specs = specs or tuple(METHODS)
    for spec in specs:
        method_from_spec(spec)  # a wrong name is said before an hour of training, not after
    rows_of_sites = {}
    for i, db in enumerate(databases):
        with PageStore(db, create=False) as store:
            pages = list(store.labelled_pages())
        truth = read_truth(truths[i]) if truths else None
        crawl = judged_crawl(Path(db).stem, pages, truth, train_fraction)
        rows = []
        for spec in specs:
            with progress(f"{crawl.site}: {spec}") as advance:
                method = method_from_spec(spec)
                method.progress = lambda step, steps, fit: advance(f"exact {fit:.1%}", step, steps)
                rows.append(evaluate_method(method, spec, crawl))
        rows_of_sites[crawl.site] = rows
        if not as_json:
            print_table(site_table(crawl, rows))
    if as_json:
        print_json(**{site: [row.as_dict() for row in rows] for site, rows in rows_of_sites.items()})
        return
    if len(databases) > 1:
        print_table(mean_table(rows_of_sites), worst_table(rows_of_sites))
    say(LEGEND)


@main.command()
@click.option(
    "--folder", type=click.Path(path_type=Path), default=None, help="Folder to work in; default: a temporary one."
)
@click.option("--first-pages", default=2000, show_default=True, help="Pages to crawl before learning.")
@click.option("--method", default="verified", show_default=True, shell_complete=_methods, help="Method to train.")
@AS_JSON
def demo(folder: Path | None, first_pages: int, method: str, as_json: bool) -> None:
    """Do the whole job on the recorded example site: serve, crawl, label, train, crawl on, count savings and losses.

    Example: dedup-crawler demo
    """
    from dedup_crawler.demo import outcome_table, run_demo, time_table

    method_from_spec(method)  # a wrong name is said before the first crawl, not after
    outcome, seconds = run_demo(folder, first_pages=first_pages, method=method, say=tell if as_json else say)
    if as_json:
        print_json(**asdict(outcome), n_saved=outcome.n_saved, n_avoidable=outcome.n_avoidable, seconds=seconds)
        return
    print_table(outcome_table(outcome), time_table(seconds), width=100)
