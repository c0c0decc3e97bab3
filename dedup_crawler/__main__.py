"""``python -m dedup_crawler`` is the command ``dedup-crawler``."""

from __future__ import annotations

import sys


def run() -> None:
    """Run the command line; Ctrl-C while it is still being loaded is no traceback either."""
    try:
        from dedup_crawler.cli import main

        main(prog_name="dedup-crawler")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    run()
