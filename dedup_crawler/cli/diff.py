"""The command that compares two models."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, print_json, say
from dedup_crawler.methods import load_model


@main.command()
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@click.argument("urls", nargs=-1)
@click.option("--db", default=None, help="Take the URLs and referrers of a crawl database, in crawl order.")
@click.option("--examples", default=3, show_default=True, help="URLs shown for each rule.")
@AS_JSON
def diff(old: Path, new: Path, urls: tuple[str, ...], db: str | None, examples: int, as_json: bool) -> None:
    """List the URLs that only one of the models OLD and NEW would drop, rule by rule.

    The URLs come from the arguments, from --db, or from stdin (`url` or `url<TAB>referrer` a line), and are read as a
    crawl in order: the first URL of each form is fetched, the others are dropped.

    \b
    Example: dedup-crawler diff models/forum models/forum-new --db forum.db
    Example: dedup-crawler diff models/forum models/forum-new < urls.txt
    """  # noqa: D301 - click reads the control character
    from dedup_crawler.live.models.model_diff import RuleDrops, diff_models

    if urls and db is not None:
        raise click.UsageError("give URLs or --db, not both.")
    found = diff_models(load_model(old), load_model(new), _links(urls, db), n_examples=examples)
    if as_json:
        print_json(
            urls=found.n_urls,
            both=found.n_both,
            only_new=[asdict(drops) for drops in found.only_new],
            only_old=[asdict(drops) for drops in found.only_old],
        )
        return

    def say_drops(rules: Sequence[RuleDrops]) -> None:
        for drops in rules:
            say(f"  {drops.n_urls}: {drops.sentence}")
            for link in drops.examples:
                say(f"      {link.url} = {link.form}" + (f" on {link.referrer}" if link.referrer else ""))

    say(f"{found.n_urls} URLs, {found.n_both} dropped by both models")
    say(f"{found.n_only_new} dropped by {new} alone")
    say_drops(found.only_new)
    say(f"{found.n_only_old} dropped by {old} alone")
    say_drops(found.only_old)


def _links(urls: tuple[str, ...], db: str | None) -> Iterator[tuple[str, str | None]]:
    """URLs with their referrers, as they come."""
    if db is not None:
        from dedup_crawler.pages.store import PageStore

        with PageStore(db, create=False) as store:
            for page in store.labelled_pages():
                yield page.url, page.referrer
        return
    for line in urls or sys.stdin:
        url, _, referrer = line.rstrip("\n").partition("\t")
        if url:
            yield url, referrer or None
