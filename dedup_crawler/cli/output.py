"""What all commands share: their common options, and how they print."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

DATABASE = click.option("--db", default="crawl.db", show_default=True, help="Crawl database: a file or SQLAlchemy URL.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for a program to read.")
STATIC_RULES = click.option(
    "--static-rules",
    "static_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Rules of ClearURLs or duplicate-url-discarder to put in front of the model.",
)
MAX_LINES = 20
"""Lines of what was learnt that are printed."""


def read_pairs(texts: tuple[str, ...], flag: str) -> dict[str, str]:
    """What a flag says that was given as ``NAME=VALUE``, as often as wanted."""
    pairs = [text.partition("=") for text in texts]
    if missing := [name for name, equals, _ in pairs if not equals]:
        raise click.BadParameter(f"{missing[0]!r} has no value; write {flag} {missing[0]}=VALUE.")
    return {name: value for name, _, value in pairs}


def say(text: str) -> None:
    """Print a result."""
    click.echo(text)


def warn(text: str) -> None:
    """Print what the user should know beside the result."""
    click.echo(f"warning: {text}", err=True)


def fail(text: str, status: int) -> None:
    """Print why it cannot be done, as one line, and end."""
    click.echo(f"dedup-crawler: {' '.join(text.split())}", err=True)
    sys.exit(status)


def print_json(**values: Any) -> None:
    """Print a result as one JSON object."""
    click.echo(json.dumps(values, indent=1, default=str))


@contextmanager
def progress(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(title, total=None)

        def advance(note: str, done: int, total: int) -> None:
            progress.update(task, description=f"{title}: {note}", completed=done, total=total)

        yield advance
