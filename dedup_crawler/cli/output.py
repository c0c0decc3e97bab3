"""Shared options of the commands, and their output.

Results go to stdout, all else to stderr. A terminal gets colours, boxes and progress bars; piped output
is plain.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

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
"""Maximum of printed lines of learnt rules."""

Advance = Callable[[str, int, int], None]
"""Takes a note, the number of finished steps, and the total."""

_KEY = "dedup_crawler.verbosity"
_TOLD_EVERY_S = 10.0


def set_manners(context: click.Context, verbosity: int, *, is_colourless: bool) -> None:
    """Apply the options before the command to all later output."""
    context.meta[_KEY] = verbosity
    if is_colourless or os.environ.get("NO_COLOR"):
        context.color = False


def verbosity() -> int:
    """Return how much the running command prints besides its result; 0 outside a command.

    -1: neither progress nor warnings; 1: steps with their times; 2: also the log of libraries, and the traceback of an
    error.
    """
    context = click.get_current_context(silent=True)
    return int(context.meta.get(_KEY, 0)) if context is not None else 0


def read_names(texts: tuple[str, ...], flag: str) -> dict[str, str]:
    """Read the values of a repeated flag ``NAME=VALUE``."""
    pairs = [text.partition("=") for text in texts]
    if missing := [name for name, equals, _ in pairs if not equals]:
        raise click.BadParameter(f"{missing[0]!r} has no value; write {flag} {missing[0]}=VALUE.")
    return {name: value for name, _, value in pairs}


def say(text: str) -> None:
    """Print a result."""
    click.echo(text)


def warn(text: str) -> None:
    """Print a warning."""
    if verbosity() >= 0:
        click.echo(f"{click.style('warning:', fg='yellow')} {text}", err=True)


def tell(text: str) -> None:
    """Print a step, with ``--verbose`` only."""
    if verbosity() > 0:
        click.echo(click.style(text, dim=True), err=True)


def fail(text: str, status: int) -> None:
    """Print an error as one line, and exit."""
    click.echo(f"{click.style('dedup-crawler:', fg='red')} {' '.join(text.split())}", err=True)
    sys.exit(status)


def print_json(**values: Any) -> None:
    """Print a result as one JSON object."""
    click.echo(json.dumps(values, indent=1, default=str))


def print_json_line(**values: Any) -> None:
    """Print one of many results as a JSON object on its own line."""
    click.echo(json.dumps(values, default=str))


def print_table(*tables: Table, width: int = 200) -> None:
    """Print tables: Markdown if piped, boxes on a terminal, never cut."""
    console = _console()
    if not console.is_terminal:
        plain = _console(width=width)
        with plain.capture() as captured:
            plain.print(*tables, sep="\n")
        click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
        return
    for table in tables:
        table.box, table.title_style, table.header_style = box.SIMPLE_HEAD, "bold", "bold"
        needed = Measurement.get(console, console.options.update(max_width=10_000), table).maximum
        _console(width=max(console.width, needed)).print(table)


def _console(*, stderr: bool = False, width: int | None = None) -> Console:
    context = click.get_current_context(silent=True)
    is_colourless = context is not None and context.color is False
    return Console(stderr=stderr, width=width, no_color=True if is_colourless else None)


@contextmanager
def progress(title: str) -> Iterator[Advance]:
    """Show a bar on a terminal; elsewhere nothing, or with ``--verbose`` occasional lines."""
    console = _console(stderr=True)
    if not console.is_terminal and verbosity() > 0:
        yield _lines(title)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    is_silent = verbosity() < 0 or not console.is_terminal
    with Progress(*columns, console=console, disable=is_silent, transient=True) as progress:
        task = progress.add_task(title, total=None)

        def advance(note: str, done: int, total: int) -> None:
            progress.update(task, description=f"{title}: {note}", completed=done, total=total)

        yield advance


def _lines(title: str) -> Advance:
    """Print progress lines: the first one, then one every few seconds."""
    told_at: float | None = None

    def advance(note: str, done: int, total: int) -> None:
        nonlocal told_at
        if told_at is None or time.monotonic() - told_at >= _TOLD_EVERY_S:
            told_at = time.monotonic()
            tell(f"{title}: {note}: {done} of {total}")

    return advance
