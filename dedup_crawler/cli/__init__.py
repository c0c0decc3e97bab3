"""``dedup-crawler``: one function a sub-command, which parses, calls and prints; no logic.

A module of this folder adds its commands to the group when it is imported.
"""

from dedup_crawler.cli import ask, collect, compare, diff, doctor, evaluate, label, mine_log, report, rules, train
from dedup_crawler.cli.group import main

__all__ = [
    "ask",
    "collect",
    "compare",
    "diff",
    "doctor",
    "evaluate",
    "label",
    "main",
    "mine_log",
    "report",
    "rules",
    "train",
]
