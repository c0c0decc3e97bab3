"""``dedup-crawler``: the group of all commands, and its exit status.

Results go to stdout, progress and errors to stderr. A user's mistake gives one line and exit status 1, a wrong call 2,
Ctrl-C 130.
"""

from __future__ import annotations

import errno
import logging
import sys
import time
import traceback
from typing import Any

import click

from dedup_crawler.cli.output import fail, set_manners, tell, verbosity
from dedup_crawler.errors import DedupError, did_you_mean
from dedup_crawler.interrupts import INTERRUPTED, interrupt_again

_NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENAMETOOLONG, errno.EROFS)
"""Errors of a full disk, or of a too long name, of a result or a temporary file."""


class _Commands(click.Group):
    """Turns errors that a user can fix into one line, and suggests similar names."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; suggest a similar one for an unknown name, which click does only since 8.4."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"No such command {args[0]!r}.{did_you_mean(args[0], self.commands)}")
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
            if error.option_name not in _names_of_options(self):
                raise
            message = f"{error.option_name} stands before the command: {ctx.info_name} {error.option_name} COMMAND."
            raise click.NoSuchOption(error.option_name, message, ctx=error.ctx) from None


_Commands.group_class = _Commands


def _names_of_options(command: click.Command) -> set[str]:
    return {name for parameter in command.params if isinstance(parameter, click.Option) for name in parameter.opts}


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
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
    set_manners(context, -1 if quiet else verbose, is_colourless=no_color)
    level = logging.ERROR if quiet else {0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG)
    logging.basicConfig(level=level, format="%(levelname)s: %(message)s")
    start = time.perf_counter()
    context.call_on_close(lambda: tell(f"{context.invoked_subcommand}: {time.perf_counter() - start:.1f} s"))
