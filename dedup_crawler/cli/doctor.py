"""The command for bug reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, print_json, say


@main.command()
@click.option("--db", default=None, help="Look at this crawl database, too.")
@click.option("--model", type=click.Path(path_type=Path), help="Look at this model folder, or folder of them, too.")
@AS_JSON
@click.pass_context
def doctor(context: click.Context, db: str | None, model: Path | None, as_json: bool) -> None:
    """Print what a bug report needs: versions, extras, torch, a crawl database, a model; passwords are left out.

    The exit status is 1 if it finds a problem.

    Example: dedup-crawler doctor --db crawl.db --model models/forum
    """
    from dedup_crawler.doctor import Checkup

    checkup = Checkup()
    checkup.look_at_packages()
    checkup.look_at_torch()
    if db is not None:
        checkup.look_at_database(db)
    if model is not None:
        checkup.look_at_models(model)
    if as_json:
        print_json(**asdict(checkup))
    else:
        for name, text in _lines(asdict(checkup)):
            say(f"{name:<23} {text}")
    context.exit(1 if checkup.problems else 0)


def _lines(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "dedup-crawler", found["version"]
    yield "python", found["python"]
    yield "platform", f"{found['platform']}, {found['cores']} cores"
    yield from found["packages"].items()
    for extra, missing in found["extras"].items():
        way_out = f"lacks {', '.join(missing)}: pip install 'dedup-crawler[{extra}]'"
        yield f"extra {extra}", way_out if missing else "complete"
    yield "torch", _said(found["torch"]) if isinstance(found["torch"], dict) else found["torch"] or "not installed"
    for name, facts in (("database", found["database"]), *(("model", model) for model in found["models"])):
        if facts is not None:
            yield name, _said(facts)
    for problem in found["problems"]:
        yield "problem", problem


def _said(facts: Mapping[str, Any]) -> str:
    """The first fact, which is a name, and the others behind it."""
    first, *rest = facts.items()
    said = ", ".join(
        f"{name.removeprefix('n_')} {' '.join(map(str, value)) or 'none' if isinstance(value, list) else value}"
        for name, value in rest
    )
    return f"{first[1]}: {said}" if said else str(first[1])
