"""``python -m dedup_crawler`` is the command ``dedup-crawler``."""

from dedup_crawler.cli import main

main(prog_name="dedup-crawler")
