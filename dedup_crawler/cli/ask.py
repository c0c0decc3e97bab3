"""Commands that use a model, or compare two models."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any

import click

from dedup_crawler.cli.group import AS_JSON, MODEL, PATH, STATIC_RULES, main, print_json
from dedup_crawler.errors import BadInputError
from dedup_crawler.methods import Referrer, load_model
from dedup_crawler.methods.pairs.classifier import PairClassifier
from dedup_crawler.methods.pairs.url_pairs import stream_pairs
from dedup_crawler.methods.wrapped import StaticFront, with_static_files


@main.command()
@MODEL
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
    for asked in loaded.forms_in_order(_visits(urls)):
        click.echo(json.dumps(loaded.record_of(asked)) if as_json else asked.form)


@main.command()
@MODEL
@click.argument("url")
@click.argument("other", required=False)
@click.option("--referrer", help="The page that holds the link.")
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
        click.echo(f"{each.url}\n  form: {each.form}\n  {each.reason}")
    if other is not None:
        click.echo("believed to be the same page" if same else "believed to be different pages")


@main.command()
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@click.argument("urls", nargs=-1)
@click.option("--db", help="Take the URLs and referrers of a crawl database, in crawl order.")
@click.option("--examples", type=click.IntRange(0), default=3, show_default=True, help="URLs shown for each rule.")
@AS_JSON
def diff(old: Path, new: Path, urls: tuple[str, ...], db: str | None, examples: int, as_json: bool) -> None:
    """List the URLs that only one of the models OLD and NEW would drop, rule by rule.

    The URLs come from the arguments, from --db, or from stdin (`url` or `url<TAB>referrer` a line), and are read as a
    crawl in order: the first URL of each form is fetched, the others are dropped.

    \b
    Example: dedup-crawler diff models/forum models/forum-new --db forum.db
    Example: dedup-crawler diff models/forum models/forum-new < urls.txt
    """  # noqa: D301 - click reads the control character
    from dedup_crawler.live.models.model_diff import diff_models

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

    click.echo(f"{found.n_urls} URLs, {found.n_both} dropped by both models")
    for model, n_urls, rules in ((new, found.n_only_new, found.only_new), (old, found.n_only_old, found.only_old)):
        click.echo(f"{n_urls} dropped by {model} alone")
        for drops in rules:
            click.echo(f"  {drops.n_urls}: {drops.sentence}")
            for link in drops.examples:
                click.echo(f"      {link.url} = {link.form}" + (f" on {link.referrer}" if link.referrer else ""))


def _links(urls: tuple[str, ...], db: str | None) -> Iterator[tuple[str, str | None]]:
    """Yield URLs with their referrers, in order."""
    if db is not None:
        from dedup_crawler.pages.store import PageStore

        with PageStore(db, create=False) as store:
            yield from ((page.url, page.referrer) for page in store.labelled_pages())
        return
    yield from (visit for visit in _visits(urls) if visit[0])


def _visits(urls: tuple[str, ...]) -> Iterator[tuple[str, str | None]]:
    r"""Read lines of a URL, or of a URL and its referrer: the arguments, or else stdin.

    A byte that is not UTF-8 becomes a text such as ``\xff``: it must not end the command, nor make two URLs one.
    """
    if not urls and isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="backslashreplace")
    for line in urls or sys.stdin:
        url, _, referrer = line.rstrip("\n").partition("\t")
        yield url, referrer or None


_PAIRS_AT_ONCE = 1000


@main.command()
@click.option("--model", type=PATH, required=True, help="Model folder of a pair classifier.")
@click.option("--pairs", type=PATH, required=True, help="CSV with url1,url2 and maybe score.")
@AS_JSON
def compare(model: Path, pairs: Path, as_json: bool) -> None:
    """Print the probability that two URLs are one page for each pair (url1, url2, probability).

    If the pairs have scores, the quality of the answers goes to stderr; a score of 0.99 or more is a duplicate.

    Example: dedup-crawler compare --model models/forum --pairs pairs.csv
    """
    from dedup_crawler.evaluation.quality import pair_quality

    loaded = load_model(model)
    loaded = loaded.model if isinstance(loaded, StaticFront) else loaded  # probabilities are for the URLs as given
    if not isinstance(loaded, PairClassifier):
        raise BadInputError(
            f"{model} holds a {loaded.name} model, which gives no probabilities: train siamese or random-forest, "
            f"or ask `dedup-crawler explain --model {model} URL URL`."
        )
    answers: list[tuple[str, str, float]] = []
    labels: list[bool] = []
    lines = stream_pairs(pairs)
    while batch := list(islice(lines, _PAIRS_AT_ONCE)):
        probabilities = loaded.duplicate_probabilities([(left, right) for left, right, _ in batch])
        labels += [is_duplicate for *_, is_duplicate in batch if is_duplicate is not None]
        found = [(left, right, p) for (left, right, _), p in zip(batch, probabilities, strict=True)]
        answers += found
        if not as_json:
            click.echo("\n".join(f"{left}\t{right}\t{probability:.4f}" for left, right, probability in found))
    threshold = 1.0 if loaded.threshold_ is None else loaded.threshold_
    quality = pair_quality([p for _, _, p in answers], labels, threshold) if labels else {}
    if as_json:
        rows = [{"url1": left, "url2": right, "probability": p} for left, right, p in answers]
        print_json(threshold=threshold, pairs=rows, **({"quality": quality} if quality else {}))
        return
    for line in _quality_lines(quality, threshold) if quality else ():
        click.echo(line, err=True)


def _quality_lines(quality: Mapping[str, Any], threshold: float) -> Iterator[str]:
    """Yield the rates of a pair classifier, then its confusion matrix with both axes named."""
    yield f"{quality['pairs']} pairs with a score, the same page from probability {threshold} on"
    for name in ("accuracy", "precision", "recall", "f1", "auc"):
        yield f"{name}: " + ("-" if quality[name] is None else f"{quality[name]:.4f}")
    columns = ("answer different", "answer same")
    yield " " * 16 + "".join(f"{column:>18}" for column in columns)
    for row, counts in quality["confusion"].items():
        yield f"{row:<16}" + "".join(f"{counts[column]:>18}" for column in columns)
