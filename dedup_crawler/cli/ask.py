"""Commands that ask a model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, STATIC_RULES, print_json, print_json_line, say
from dedup_crawler.methods import Referrer, load_model
from dedup_crawler.methods.static_front import with_static_files


@main.command()
@click.option("--model", type=click.Path(path_type=Path), required=True, help="Model folder.")
@click.argument("urls", nargs=-1)
@STATIC_RULES
@AS_JSON
def canonicalize(model: Path, urls: tuple[str, ...], static_files: tuple[Path, ...], as_json: bool) -> None:
    """Print the canonical form of each URL, from the arguments or from stdin (`url` or `url<TAB>referrer` a line).

    Lines with a referrer are read as a crawl in order: a referrer has the form that an earlier line gave it. With
    --json each line also gives the reason.

    Example: dedup-crawler canonicalize --model models/forum < urls.txt
    """
    loaded = with_static_files(load_model(model), static_files)
    for asked in loaded.forms_in_order(map(_visit, urls or sys.stdin)):
        if as_json:
            print_json_line(**loaded.record_of(asked))
        else:
            click.echo(asked.form)


def _visit(line: str) -> tuple[str, str | None]:
    url, _, referrer = line.rstrip("\n").partition("\t")
    return url, referrer or None


@main.command()
@click.option("--model", type=click.Path(path_type=Path), required=True, help="Model folder.")
@click.argument("url")
@click.argument("other", required=False)
@click.option("--referrer", default=None, help="The page that holds the link.")
@STATIC_RULES
@AS_JSON
def explain(
    model: Path, url: str, other: str | None, referrer: str | None, static_files: tuple[Path, ...], as_json: bool
) -> None:
    """Explain the form of a URL; with two URLs, say if and why they are believed to be the same page.

    Example: dedup-crawler explain --model models/forum http://forum.example/topic/7-title http://forum.example/topic/7
    """
    loaded = with_static_files(load_model(model), static_files)
    known = Referrer(referrer, loaded.canonicalize(referrer)) if referrer is not None else None
    explained = [loaded.explain(each, known) for each in (url, other) if each is not None]
    same = len({each.form for each in explained}) == 1
    if as_json:
        entries = [
            {
                "url": each.url,
                "form": each.form,
                "reason": each.reason,
                "evidence": dict(each.evidence),
                "rules": list(loaded.fired(each.url, known)),
            }
            for each in explained
        ]
        print_json(explanations=entries, **({"same": same} if other is not None else {}))
        return
    for each in explained:
        say(f"{each.url}\n  form: {each.form}\n  {each.reason}")
    if other is not None:
        say("believed to be the same page" if same else "believed to be different pages")
