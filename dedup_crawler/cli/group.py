"""``dedup-crawler``: the group of all commands, what they share, their output and their exit status.

Results go to stdout, progress and errors to stderr. A terminal gets colours, boxes and progress bars; piped output is
plain. A user's mistake gives one line and exit status 1, a wrong call 2, Ctrl-C 130.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from dedup_crawler.errors import INTERRUPTED, DedupError, did_you_mean, interrupt_again

PATH = click.Path(path_type=Path)
DATABASE = click.option("--db", default="crawl.db", show_default=True, help="Crawl database: a file or SQLAlchemy URL.")
MODEL = click.option("--model", type=PATH, required=True, help="Model folder.")
NEW_MODEL = click.option("--model", type=PATH, help="Folder to write; default: models/<host>.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for a program to read.")
STATIC_RULES = click.option(
    "--static-rules",
    "static_files",
    multiple=True,
    type=PATH,
    help="Rules of ClearURLs or duplicate-url-discarder to put in front of the model.",
)
MAX_LINES = 20
"""Maximum of printed lines of learnt rules."""

Advance = Callable[[str, int, int], None]
"""Takes a note, the number of finished steps, and the total."""

_KEY = "dedup_crawler.verbosity"
_TOLD_EVERY_S = 10.0
_NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENAMETOOLONG, errno.EROFS)
"""Errors of a full disk, or of a too long name, of a result or a temporary file."""


class Commands(click.Group):
    """Turns errors that a user can fix into one line, and suggests similar names."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; suggest a similar one for an unknown name, which click does only since 8.4."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"No such command {args[0]!r}.{did_you_mean(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and turn errors into messages and exit statuses."""
        try:
            interrupt_again()
            done = super().invoke(ctx)
            sys.stdout.flush()  # report a full disk here, not in a traceback at exit
            return done
        except DedupError as error:
            if verbosity() > 1:
                traceback.print_exception(error)
            fail(str(error), 1)
        except KeyboardInterrupt:
            fail("interrupted; what was finished is kept, run the command again to go on.", INTERRUPTED)
        except BrokenPipeError:
            sys.stderr.close()  # the reader of our output has ended: no error
            ctx.exit(0)
        except OSError as error:
            if error.errno not in _NO_PLACE:
                raise
            if error.filename is None:
                sys.stdout = None  # no second try at exit
            place = error.filename or "the output"
            fail(f"{place}: {error.strerror}; free some space, or use another place.", 1)
        except click.NoSuchOption as error:
            if not any(error.option_name in parameter.opts for parameter in self.params):
                raise
            message = f"{error.option_name} stands before the command: {ctx.info_name} {error.option_name} COMMAND."
            raise click.NoSuchOption(error.option_name, message, ctx=error.ctx) from None


Commands.group_class = Commands


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dedup-crawler")
@click.option("--quiet", "-q", is_flag=True, help="No progress and no warnings; results and errors only.")
@click.option("--verbose", "-v", count=True, help="Steps and times; -vv also tracebacks and the log of libraries.")
@click.option("--no-color", is_flag=True, help="No colours; the environment variable NO_COLOR does the same.")
@click.pass_context
def main(context: click.Context, quiet: bool, verbose: int, no_color: bool) -> None:
    """Learn which URLs of a site lead to the same page, and drop the duplicates of a crawl before they are fetched.

    \b
    scrapy crawl content -a url=https://forum.example     collect pages into crawl.db
    dedup-crawler label                                   find the pages that are the same
    dedup-crawler train verified                          learn which URLs lead to the same page
    dedup-crawler evaluate                                measure savings and losses

    Exit status: 0 done, 1 an error that you can act on (one line says what), 2 a wrong call, 130 Ctrl-C.
    """  # noqa: D301 - click reads the control character
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose contradict each other.")
    context.meta[_KEY] = -1 if quiet else verbose
    if no_color or os.environ.get("NO_COLOR"):
        context.color = False
    level = logging.ERROR if quiet else {0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG)
    logging.basicConfig(level=level, format="%(levelname)s: %(message)s")
    start = time.perf_counter()
    context.call_on_close(lambda: tell(f"{context.invoked_subcommand}: {time.perf_counter() - start:.1f} s"))


def verbosity() -> int:
    """Return how much the running command prints besides its result; 0 outside a command.

    -1: neither progress nor warnings; 1: steps with their times; 2: also the log of libraries, and the traceback of an
    error.
    """
    context = click.get_current_context(silent=True)
    return int(context.meta.get(_KEY, 0)) if context is not None else 0


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


def print_first(
    echo: Callable[[str], None], lines: Sequence[str], n_shown: int, more: Callable[[int], str], n: int | None = None
) -> None:
    """Print the first of *n* lines (default: as many as there are), and with *more* how many are left out."""
    n = len(lines) if n is None else n
    for line in lines[:n_shown]:
        echo(line)
    if n > n_shown:
        echo(more(n - n_shown))


def print_json(**values: Any) -> None:
    """Print a result as one JSON object."""
    click.echo(json.dumps(values, indent=1, default=str))


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
