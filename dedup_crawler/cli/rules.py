"""Commands that learn rules from logs, import rules into a model, and export them."""

from __future__ import annotations

from pathlib import Path

import click

from dedup_crawler.cli.group import (
    AS_JSON,
    MAX_LINES,
    MODEL,
    NEW_MODEL,
    PATH,
    fail,
    main,
    print_first,
    print_json,
    progress,
    warn,
)
from dedup_crawler.methods import load_model
from dedup_crawler.methods.model.folder import check_place, write_whole
from dedup_crawler.methods.wrapped import StaticFront, with_static_files

FORMATS = ("duplicate-url-discarder", "table")
_SHOWN = 5


@main.command("mine-log")
@click.argument("logs", nargs=-1, required=True, type=PATH)
@NEW_MODEL
@click.option("--host", help="Host of the logged paths; default: that of --site, or of most referrers.")
@click.option("--min-support", default=5, show_default=True, help="Least number of URL pairs with overlapping sizes.")
@click.option("--validate", "n_samples", type=click.IntRange(1), help="Fetch N pairs of pages per rule; 20 are enough.")
@click.option("--site", help="Live site to fetch from, such as https://forum.example.")
@click.option("--delay", type=click.FloatRange(0), default=1.0, show_default=True, help="Seconds between two fetches.")
@click.option(
    "--max-fetches", type=click.IntRange(1), default=1000, show_default=True, help="Largest number of fetches."
)
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
            folder = miner.save(model)  # also after Ctrl-C: the rules that held so far
    damages = [f"{record.path}, {record.reason}" for record in report.damages.records]
    print_first(warn, damages, _SHOWN, lambda n: f"and {n} more lines that could not be read", report.damages.n)
    if report.is_guessed:
        warn(f"the rules are for {report.host}, a guess from the log; give --host if it is another one")
    lines = miner.method.learnt()
    if as_json:
        print_json(model=str(folder), **miner.numbers(report), learnt=lines)
        return
    for name, value in miner.numbers(report).items():
        click.echo(f"{name.replace('_', ' ')}: {value}")
    said = [f"  {line}" for line in lines or ["no rules were found"]]
    print_first(click.echo, said, MAX_LINES, lambda n: f"  ... and {n} more in {folder}")


@main.command("import-rules")
@click.argument("files", nargs=-1, type=PATH)
@click.option("--model", type=PATH, required=True, help="Model folder that takes the rules.")
@click.option("--remove", is_flag=True, help="Take static rules out of the model again.")
@AS_JSON
def import_rules(files: tuple[Path, ...], model: Path, remove: bool, as_json: bool) -> None:
    """Put rules that people wrote in front of a model: ClearURLs (data.min.json), duplicate-url-discarder JSON.

    They are applied first, on the hosts that the model knows, and replace those imported before. Patterns that cannot
    be matched in linear time are refused and counted. Training writes a model without them: import them again.

    \b
    Example: dedup-crawler import-rules data.min.json --model models/forum
    Example: dedup-crawler import-rules --remove --model models/forum
    """  # noqa: D301 - click reads the control character
    if bool(files) == remove:
        raise click.UsageError("give FILES, or --remove.")
    loaded = load_model(model)
    bare = loaded.model if isinstance(loaded, StaticFront) else loaded
    front = with_static_files(bare, files)
    front.save(model)
    rule_files = front.layer.files if isinstance(front, StaticFront) else ()
    refused = [reason for file in rule_files for reason in file.refused]
    told = [f"refused: {reason}" for reason in refused]
    print_first(warn, told, _SHOWN, lambda n: f"and {n} more rules that were refused")
    if as_json:
        counts = [{"file": file.file, "format": file.kind, "rules": len(file.sentences)} for file in rule_files]
        print_json(model=str(model), files=counts, refused=refused)
        return
    for file in rule_files:
        click.echo(f"{file.file}: {len(file.sentences)} rules ({file.kind}), {len(file.refused)} refused; {model}")
    if remove:
        click.echo(f"no static rules; {model}")


@main.command()
@MODEL
@click.option("--format", "target", type=click.Choice(FORMATS), required=True, help="Format of the file.")
@click.option("--output", "-o", type=PATH, help="File to write; default: stdout.")
@click.option(
    "--without-guards",
    is_flag=True,
    help="Write rules even if the format cannot express which URLs the model leaves unchanged.",
)
def export(model: Path, target: str, output: Path | None, without_guards: bool) -> None:
    """Write the rules of a model as a table, or those that duplicate-url-discarder can express.

    duplicate-url-discarder is the JSON of that package, which drops parameters; table has one line per rule, with its
    counts. Rules that are left out go to stderr, with the reason.

    Example: dedup-crawler export --model models/forum --format table --output rules.tsv
    """
    from dedup_crawler.live.models.model_diff import export_model

    found = export_model(model, target, with_guards=not without_guards)
    if output is None:
        click.echo(found.text, nl=False)
    else:
        try:
            write_whole(output, found.text.encode())
        except OSError as error:
            fail(f"{output} cannot be written ({error.strerror}): give a file in a folder that you can write to.", 1)
    click.echo(f"{found.n_said} rules written, {len(found.left_out)} left out", err=True)
    for left in found.left_out:
        click.echo(f"left out ({left.reason}): {left.sentence}", err=True)
    for note in found.notes:
        warn(note)
