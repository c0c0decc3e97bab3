"""``dedup-crawler``: the group that all commands belong to, and how it ends.

Results go to stdout, progress and errors to stderr. A user's mistake is one line and exit status 1, a wrong call 2,
Ctrl-C 130.
"""

from __future__ import annotations

import logging
import sys
from typing import Any

import click

from dedup_crawler.cli.output import fail
from dedup_crawler.errors import DedupError


class _Commands(click.Group):
    """Turns what a user can act on into one line, and suggests the command that was probably meant."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DedupError as error:
            fail(str(error), 1)
        except KeyboardInterrupt:
            fail("interrupted; what was finished is kept, run the command again to go on.", 130)
        except BrokenPipeError:
            sys.stderr.close()  # the reader of our output has gone: nothing is wrong, and nobody is left to tell
            ctx.exit(0)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dedup-crawler")
def main() -> None:
    """Learn which URLs of a site lead to the same page, and drop the duplicates of a crawl before they are fetched.

    \b
    scrapy crawl content -a url=https://forum.example     collect pages into crawl.db
    dedup-crawler label                                   find out which are the same
    dedup-crawler train verified                          learn which URLs lead to the same page
    dedup-crawler evaluate                                what it would save and lose
    """  # noqa: D301 - click reads the control character
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
