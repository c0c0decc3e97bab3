"""``python -m dedup_crawler`` is the command ``dedup-crawler``."""

from __future__ import annotations

from dedup_crawler.errors import end_at_once


def run() -> None:
    """Run the command line; Ctrl-C shows no traceback, even while the command is being loaded."""
    end_at_once()
    from dedup_crawler.cli import main

    main(prog_name="dedup-crawler")


if __name__ == "__main__":
    run()
