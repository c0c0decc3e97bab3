"""The command that learns from web-server logs."""

from __future__ import annotations

from pathlib import Path

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, MAX_LINES, print_json, progress, say, warn
from dedup_crawler.methods.model.folder import check_place

_SHOWN_DAMAGES = 5


@main.command("mine-log")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--model", type=click.Path(path_type=Path), help="Folder to write; default: models/<host>.")
@click.option("--host", default=None, help="Host of the logged paths; default: that of --site, or of most referrers.")
@click.option("--min-support", default=5, show_default=True, help="Pairs of URLs with overlapping sizes, at least.")
@click.option("--validate", "n_samples", type=click.IntRange(1), help="Fetch N pairs of pages per rule; 20 are enough.")
@click.option("--site", default=None, help="Live site to fetch from, such as https://forum.example.")
@click.option("--delay", default=1.0, show_default=True, help="Seconds between two fetches.")
@click.option("--max-fetches", default=1000, show_default=True, help="Fetches in all.")
@AS_JSON
def mine_log(
    logs: tuple[Path, ...],
    model: Path | None,
    host: str | None,
    min_support: int,
    n_samples: int | None,
    site: str | None,
    delay: float,
    max_fetches: int,
    as_json: bool,
) -> None:
    """Learn rules from web-server logs: which URLs differ in a substring or parameter and have pages of one size.

    Logs are in the common or combined format, or tab-separated columns. With --validate likely rules are tried on
    the live site: as robots.txt allows, one fetch at a time, on this site alone.

    Example: dedup-crawler mine-log access.log.gz --host forum.example --model models/forum
    """
    from dedup_crawler.evaluation.log_mining import LogMiner

    if model is not None:
        check_place(model)
    miner = LogMiner(host=host, min_support=min_support, n_samples=n_samples, site=site)
    with progress("mine-log") as advance:
        try:
            report = miner.mine(logs, delay_s=delay, max_fetches=max_fetches, progress=advance)
        finally:
            folder = miner.save(model)  # also after Ctrl-C: the rules that held until then
    for record in report.damages.records[:_SHOWN_DAMAGES]:
        warn(f"{record.path}, {record.reason}")
    if report.damages.n > _SHOWN_DAMAGES:
        warn(f"and {report.damages.n - _SHOWN_DAMAGES} more lines that are no access")
    if report.is_guessed:
        warn(f"the rules are for {report.host}, as far as the log says; --host says it for certain")
    lines = miner.method.learnt()
    if as_json:
        print_json(model=str(folder), **miner.numbers(report), learnt=lines)
        return
    for name, value in miner.numbers(report).items():
        say(f"{name.replace('_', ' ')}: {value}")
    for line in lines[:MAX_LINES] or ["no rules were found"]:
        say(f"  {line}")
    if len(lines) > MAX_LINES:
        say(f"  ... and {len(lines) - MAX_LINES} more in {folder}")
