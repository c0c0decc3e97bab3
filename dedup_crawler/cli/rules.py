"""Commands that bring rules into a model, and out of it."""

from __future__ import annotations

from pathlib import Path

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, fail, print_json, say, warn
from dedup_crawler.methods import load_model
from dedup_crawler.methods.static_front import StaticFront, with_static_files
from dedup_crawler.whole_file import write_whole

FORMATS = ("duplicate-url-discarder", "table")
_SHOWN_REFUSALS = 5


@main.command("import-rules")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--model", type=click.Path(path_type=Path), required=True, help="Model folder to put them into.")
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
    for reason in refused[:_SHOWN_REFUSALS]:
        warn(f"refused: {reason}")
    if len(refused) > _SHOWN_REFUSALS:
        warn(f"and {len(refused) - _SHOWN_REFUSALS} more rules that were refused")
    if as_json:
        counts = [{"file": file.file, "format": file.kind, "rules": len(file.sentences)} for file in rule_files]
        print_json(model=str(model), files=counts, refused=refused)
        return
    for file in rule_files:
        say(f"{file.file}: {len(file.sentences)} rules ({file.kind}), {len(file.refused)} refused; {model}")
    if remove:
        say(f"no static rules; {model}")


@main.command()
@click.option("--model", type=click.Path(path_type=Path), required=True, help="Model folder.")
@click.option("--format", "target", type=click.Choice(FORMATS), required=True, help="Format of the file.")
@click.option("--output", "-o", type=click.Path(path_type=Path), help="File to write; default: stdout.")
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
    from dedup_crawler.live.models.model_export import export_model

    found = export_model(model, target, with_guards=not without_guards)
    if output is None:
        click.echo(found.text, nl=False)
    else:
        try:
            write_whole(output, found.text.encode())
        except OSError as error:
            fail(f"{output} cannot be written ({error.strerror}): give a file in a folder that you can write to.", 1)
    click.echo(f"{found.n_said} rules said, {len(found.left_out)} not", err=True)
    for left in found.left_out:
        click.echo(f"not said ({left.reason}): {left.sentence}", err=True)
    for note in found.notes:
        warn(note)
