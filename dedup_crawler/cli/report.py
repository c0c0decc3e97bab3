"""The command that writes the report."""

from __future__ import annotations

from pathlib import Path

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, print_json, progress, say

_PATH = click.Path(path_type=Path)


@main.command()
@click.option("--db", default=None, help="Crawl database: a file or SQLAlchemy URL; default: crawl.db where it is.")
@click.option("--model", "models", multiple=True, type=_PATH, help="Model folder; may be given several times.")
@click.option("--dropped", type=_PATH, help="Drops of a live crawl: the file that DEDUP_DROPPED named.")
@click.option("--truth", type=_PATH, help="CSV (url,cluster) to judge by, instead of our own labels.")
@click.option("--comparison", type=_PATH, help="Output of `dedup-crawler evaluate --json`.")
@click.option("--output", "-o", type=_PATH, default=Path("report.html"), show_default=True, help="HTML file to write.")
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
    from dedup_crawler.report.making import ReportInput, make_report

    others = (*models, *filter(None, (dropped, truth, comparison)))
    if db is None and (not others or Path("crawl.db").exists()):
        db = "crawl.db"
    with progress("report") as advance:
        facts = make_report(ReportInput(db, models, dropped, truth, comparison), output, advance)
    n_bytes = output.stat().st_size
    if as_json:
        counts = {} if facts is None else {"urls": facts.n_urls, "pages": facts.n_pages, "repeats": facts.n_repeats}
        print_json(report=str(output), bytes=n_bytes, **counts, models=len(models))
    else:
        say(f"{output}: {n_bytes / 1000:,.0f} kB")
