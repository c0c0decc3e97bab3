"""Arguments of the scripts here: ``--help``, or too few of them, shows the docstring of the script."""

from __future__ import annotations

import sys


def arguments(usage: str | None, least: int = 0) -> list[str]:
    """Return the words of the command line, at least so many; otherwise exit with the *usage*."""
    given = sys.argv[1:]
    if {"-h", "--help"}.intersection(given):
        print(usage)
        raise SystemExit(0)
    if len(given) < least:
        raise SystemExit(f"{len(given)} of {least} arguments given.\n\n{usage}")
    return given
