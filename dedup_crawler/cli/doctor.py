"""The command for bug reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, print_json, say

if TYPE_CHECKING:
    from dedup_crawler.doctor import Checkup

_WIDTH = 23


@main.command()
@click.option("--db", default=None, help="Look at this crawl database, too.")
@click.option("--model", type=click.Path(path_type=Path), help="Look at this model folder, or folder of them, too.")
@AS_JSON
@click.pass_context
def doctor(context: click.Context, db: str | None, model: Path | None, as_json: bool) -> None:
    """Print what a bug report needs: versions, extras, torch, a crawl database, a model; passwords are left out.

    The exit status is 1 if it finds a problem.

    Example: dedup-crawler doctor --db crawl.db --model models/forum
    """
    from dedup_crawler.doctor import check_up

    checkup = check_up(db, model)
    if as_json:
        print_json(**asdict(checkup))
    else:
        for name, text in _lines(checkup):
            say(f"{name:<{_WIDTH}} {text}")
    context.exit(1 if checkup.problems else 0)


def _lines(checkup: Checkup) -> Iterator[tuple[str, str]]:
    yield "dedup-crawler", checkup.version
    yield "python", checkup.python
    yield "platform", f"{checkup.platform}, {checkup.cores} cores"
    yield from checkup.packages.items()
    for extra, missing in checkup.extras.items():
        way_out = f"lacks {', '.join(missing)}: pip install 'dedup-crawler[{extra}]'"
        yield f"extra {extra}", way_out if missing else "complete"
    yield "torch", _torch(checkup.torch)
    for found in filter(None, [checkup.database]):
        yield "database", _said(found, "name")
    for found in checkup.models:
        yield "model", _said(found, "folder")
    for problem in checkup.problems:
        yield "problem", problem


def _torch(facts: Mapping[str, Any] | str | None) -> str:
    if facts is None:
        return "not installed"
    if isinstance(facts, str):
        return "cannot be imported"
    cuda = f"CUDA {facts['cuda']}" if facts["cuda"] else "no CUDA"
    return f"{facts['version']}, {cuda}, {', '.join(facts['devices']) or 'no card'}, {facts['threads']} threads"


def _said(found: Mapping[str, Any], title: str) -> str:
    rest = [f"{name.removeprefix('n_')} {_value(value)}" for name, value in found.items() if name != title]
    return ": ".join(filter(None, [str(found[title]), ", ".join(rest)]))


def _value(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
