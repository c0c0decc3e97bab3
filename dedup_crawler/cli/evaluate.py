"""Commands that judge methods and models, and the demo."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from dedup_crawler.cli.group import AS_JSON, PATH, main, print_json, print_table, progress, tell
from dedup_crawler.errors import BadInputError
from dedup_crawler.methods import METHODS, method_from_spec


def _methods(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in METHODS if name.startswith(incomplete)]


@main.command()
@click.option("--db", "databases", multiple=True, default=["crawl.db"], show_default=True, help="One or more crawls.")
@click.option("--truth", "truths", multiple=True, type=PATH, help="CSV (url,cluster), one per --db.")
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
    from dedup_crawler.evaluation.comparison import LEGEND, judged_crawl, mean_table, site_table, worst_table
    from dedup_crawler.evaluation.comparison import evaluate as evaluate_method
    from dedup_crawler.evaluation.quality import read_truth
    from dedup_crawler.labels.main_text import stored_links
    from dedup_crawler.pages.database import shown_location
    from dedup_crawler.pages.store import PageStore

    if truths and len(truths) != len(databases):
        raise BadInputError(f"{len(databases)} databases and {len(truths)} truths; give one --truth for each --db.")
    specs = specs or tuple(METHODS)
    for spec in specs:
        method_from_spec(spec)  # report a wrong name before an hour of training
    rows_of_sites = {}
    stems = [Path(db).stem for db in databases]
    for i, db in enumerate(databases):
        site = stems[i] if stems.count(stems[i]) == 1 else shown_location(db)
        truth = read_truth(truths[i]) if truths else None
        rows = []
        with PageStore(db, create=False) as store:
            pages = list(store.labelled_pages())
            crawl = judged_crawl(site, pages, truth, train_fraction, stored_links(store))
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
    click.echo(LEGEND)


@main.command()
@click.option("--folder", type=PATH, help="Folder to work in; default: a temporary one.")
@click.option("--first-pages", default=2000, show_default=True, help="Pages to crawl before learning.")
@click.option("--method", default="verified", show_default=True, shell_complete=_methods, help="Method to train.")
@AS_JSON
def demo(folder: Path | None, first_pages: int, method: str, as_json: bool) -> None:
    """Do the whole job on the recorded example site: serve, crawl, label, train, crawl on, count savings and losses.

    Example: dedup-crawler demo
    """
    from dedup_crawler.demo import demo_tables, run_demo

    method_from_spec(method)  # report a wrong name before the first crawl
    outcome, seconds = run_demo(folder, first_pages=first_pages, method=method, say=tell if as_json else click.echo)
    if as_json:
        print_json(
            n_needed=outcome.n_needed,
            n_fetched_without=outcome.n_urls,
            n_fetched_with=outcome.n_fetched,
            n_lost=outcome.n_lost,
            n_saved=outcome.n_urls - outcome.n_fetched,
            n_avoidable=outcome.n_avoidable,
            seconds=seconds,
        )
        return
    print_table(*demo_tables(outcome, seconds), width=100)


@main.command()
@click.option("--db", help="Crawl database: a file or SQLAlchemy URL; default: crawl.db if it exists.")
@click.option("--model", "models", multiple=True, type=PATH, help="Model folder; may be given several times.")
@click.option("--dropped", type=PATH, help="Drops of a live crawl: the file that DEDUP_DROPPED named.")
@click.option("--truth", type=PATH, help="CSV (url,cluster) to judge by, instead of our own labels.")
@click.option("--comparison", type=PATH, help="Output of `dedup-crawler evaluate --json`.")
@click.option("--output", "-o", type=PATH, default=Path("report.html"), show_default=True, help="HTML file to write.")
@AS_JSON
def report(
    db: str | None,
    models: tuple[Path, ...],
    dropped: Path | None,
    truth: Path | None,
    comparison: Path | None,
    output: Path,
    as_json: bool,
) -> None:
    """Write one HTML file about a crawl and its models: the waste, the rules with their evidence, the losses.

    It opens without a network and on a phone, and can be printed. A section without data says what would fill it.

    Example: dedup-crawler report --db crawl.db --model models/forum --dropped drops.jsonl
    """
    from dedup_crawler.report.making import make_report

    others = (*models, *filter(None, (dropped, truth, comparison)))
    if db is None and (not others or Path("crawl.db").exists()):
        db = "crawl.db"
    with progress("report") as advance:
        facts = make_report(
            output, db=db, models=models, dropped=dropped, truth=truth, comparison=comparison, progress=advance
        )
    n_bytes = output.stat().st_size
    if as_json:
        counts = {} if facts is None else {"urls": facts.n_urls, "pages": facts.n_pages, "repeats": facts.n_repeats}
        print_json(report=str(output), bytes=n_bytes, **counts, models=len(models))
    else:
        click.echo(f"{output}: {n_bytes / 1000:,.0f} kB")


@main.command()
@click.option("--db", help="Look at this crawl database, too.")
@click.option("--model", type=PATH, help="Look at this model folder, or folder of them, too.")
@AS_JSON
@click.pass_context
def doctor(context: click.Context, db: str | None, model: Path | None, as_json: bool) -> None:
    """Print what a bug report needs: versions, extras, torch, a crawl database, a model; passwords are left out.

    The exit status is 1 if it finds a problem.

    Example: dedup-crawler doctor --db crawl.db --model models/forum
    """
    from dedup_crawler.doctor import look_around

    checkup = look_around(db, model)
    if as_json:
        print_json(**asdict(checkup))
    else:
        for name, text in checkup.lines():
            click.echo(f"{name:<23} {text}")
    context.exit(1 if checkup.problems else 0)
