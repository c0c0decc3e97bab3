"""Writes what the documentation says of settings, stats, meta keys and commands, out of the code.

    python docs/reference.py

A page holds such a part between ``<!-- NAME: written by make reference -->`` and ``<!-- end -->``; a test compares.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from dedup_crawler.cli import main as dedup_crawler
from dedup_crawler.live.options import META_KEYS, STATS, known_settings
from dedup_crawler.methods import METHODS

DOCS = Path(__file__).resolve().parent
PROJECT = DOCS.parent / "dedup_crawler" / "settings.py"
PAGES = ("settings.md", "commands.md")
_PART = re.compile(r"(<!-- ([a-z-]+): written by make reference -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def table(heads: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def settings() -> str:
    return table(("setting", "default", "meaning"), ((f"`{name}`", *rest) for name, *rest in known_settings()))


def meta_keys() -> str:
    return table(("meta key", "meaning"), ((f"`{key}`", meaning) for key, meaning in META_KEYS.items()))


def stats() -> str:
    return table(("stat", "counts"), ((f"`dedup/{name}`", meaning) for name, meaning in STATS.items()))


def project() -> str:
    """The settings of our Scrapy project, with the comment above or behind each."""
    source = PROJECT.read_text(encoding="utf-8")
    lines = source.splitlines()

    def rows() -> Iterator[Sequence[str]]:
        for node in ast.parse(source).body:
            if not isinstance(node, ast.Assign):
                continue
            above, number = [], node.lineno - 2
            while number >= 0 and lines[number].startswith("# "):
                above.insert(0, lines[number][2:])
                number -= 1
            behind = lines[node.end_lineno - 1][node.end_col_offset :].partition("# ")[2]
            yield (
                f"`{ast.unparse(node.targets[0])}`",
                f"`{ast.unparse(node.value)}`",
                " ".join([*above, behind]).strip(),
            )

    return table(("setting", "value", "why"), rows())


def commands() -> str:
    """Every command with its arguments and options; the methods of ``train`` below what they share."""
    parts = ["### dedup-crawler\n\nBefore the command:\n\n", options(dedup_crawler.params)]
    for name, command in sorted(dedup_crawler.commands.items()):
        parts.append(section(f"dedup-crawler {name}", command))
        if isinstance(command, click.Group):
            learners = learners_of(command)
            shared = shared_options(list(learners.values()))
            parts.append(f"Every method has\n\n{options(shared)}\n")
            for method, learner in learners.items():
                own = [each for each in learner.params if each.name not in {option.name for option in shared}]
                summary = prose(learner)
                parts.append(f"#### dedup-crawler {name} {method}\n\n{summary}\n\n{options(own) if own else ''}\n")
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def learners_of(group: click.Group) -> dict[str, click.Command]:
    """The commands of ``train``, in the order of the tables."""
    found = ((method, group.get_command(click.Context(group), method)) for method in METHODS)
    return {method: command for method, command in found if command is not None}


def shared_options(learners: Sequence[click.Command]) -> list[click.Parameter]:
    """The options that all of these commands have."""
    names = set.intersection(*({each.name for each in learner.params} for learner in learners))
    return [each for each in learners[0].params if each.name in names and each.name != "seed"]


def section(title: str, command: click.Command) -> str:
    context = click.Context(command)
    arguments = [each.make_metavar(context) for each in command.params if isinstance(each, click.Argument)]
    usage = " ".join([title, "[OPTIONS]", *arguments])
    listed = [each for each in command.params if isinstance(each, click.Option)]
    return f"### {title}\n\n{prose(command)}\n\n`{usage}`\n\n{options(listed) if listed else ''}"


def prose(command: click.Command) -> str:
    """Its help as paragraphs, the example as code."""
    # a paragraph marked by \b keeps its lines
    parts = [text.splitlines() if "\b" in text else [text] for text in (command.help or "").split("\n\n")]
    paragraphs = [" ".join(line.split()) for lines in parts for line in lines if line.strip("\b ")]
    return "\n\n".join(re.sub(r"^Example: (.*)$", r"Example: `\1`", text) for text in paragraphs)


def options(parameters: Sequence[click.Parameter]) -> str:
    def rows() -> Iterator[Sequence[str]]:
        for each in parameters:
            if isinstance(each, click.Option):
                flags = ", ".join(f"`{flag}`" for flag in [*each.opts, *each.secondary_opts])
                yield flags, default_of(each), (each.help or "").replace("*", r"\*")

    return table(("option", "default", "meaning"), rows())


def default_of(option: click.Option) -> str:
    if option.count or (option.is_flag and not option.secondary_opts):
        return "off"
    if option.required:
        return "needed"
    # what was not given is None, or a mark of click's own
    value = option.default
    if option.multiple and isinstance(value, list):
        value = " ".join(map(str, value))
    return f"`{value}`" if isinstance(value, str | int | float) and value != "" else "not set"


PARTS = {"settings": settings, "meta-keys": meta_keys, "stats": stats, "project": project, "commands": commands}


def rewritten(page: str) -> str:
    """The text of a page with its generated parts made anew."""
    return _PART.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]()}\n{part[4]}", page)


if __name__ == "__main__":
    for name in PAGES:
        path = DOCS / name
        path.write_text(rewritten(path.read_text(encoding="utf-8")), encoding="utf-8")
