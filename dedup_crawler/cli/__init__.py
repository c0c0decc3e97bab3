"""``dedup-crawler``: one function per sub-command, which parses, calls and prints; no logic.

Each module adds its commands to the group when it is imported.
"""

from dedup_crawler.cli import ask, collect, evaluate, rules, train
from dedup_crawler.cli.group import main

__all__ = ["ask", "collect", "evaluate", "main", "rules", "train"]
