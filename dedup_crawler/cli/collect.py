"""Commands that import, serve and label pages."""

from __future__ import annotations

import signal
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dedup_crawler.cli.group import AS_JSON, DATABASE, PATH, main, print_first, print_json, progress, warn

if TYPE_CHECKING:
    from dedup_crawler.pages.compression import Damages

_SHOWN = 10


@main.command()
@click.argument("paths", nargs=-1, required=True, type=PATH)
@click.option("--port", default=8000, show_default=True, help="Port on 127.0.0.1; 0 takes any free one.")
@click.option("--host", help="Recorded host to serve; default: the one with most URLs.")
def serve(paths: tuple[Path, ...], port: int, host: str | None) -> None:
    """Serve a recorded crawl as a live site on loopback, until Ctrl-C or `kill`.

    Example: dedup-crawler serve examples/forum.warc.zst --port 8000
    """
    from dedup_crawler.pages.serving import RecordedSite

    # a shell ignores Ctrl-C in background jobs, so `kill` must end them
    for number in (signal.SIGINT, signal.SIGTERM):
        if number == signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt_once)
    with closing(RecordedSite(paths, port=port, host=host)) as site, suppress(KeyboardInterrupt):
        _warn_of(site.report.damages)
        click.echo(f"{site.urls.n_urls} URLs of {site.urls.origin} at {site.address}/ (Ctrl-C to stop)")
        site.serve_forever()


def _warn_of(damages: Damages) -> None:
    """Name the first places of the files that could not be read."""
    places = [f"{record.path}, offset {record.offset}: {record.reason}" for record in damages.records]
    print_first(warn, places, _SHOWN, lambda n: f"and {n} more places that could not be read", damages.n)


def _interrupt_once(*_: object) -> None:
    """Raise KeyboardInterrupt, and ignore what follows: a second signal must not leave the temporary store behind."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


@main.command("import")
@click.argument("paths", nargs=-1, required=True, type=PATH)
@DATABASE
@click.option("--field", "fields", multiple=True, metavar="FIELD=NAME", help="Name of a field, as url=link.")
@click.option("--host", help="Host of the paths in an access log, such as https://forum.example.")
@AS_JSON
def import_(paths: tuple[Path, ...], db: str, fields: tuple[str, ...], host: str | None, as_json: bool) -> None:
    """Import recorded pages, plain, gzip or zstd; the content of a file tells its format.

    WARC and WACZ; CSV and JSON lines (Scrapy feeds, other crawlers' exports) with a url and a content, html, body or
    text; access logs (URLs only: mine-log learns from those). Pages without a body are labelled by their digest, if the
    file has it.

    Importing a file again changes nothing; an interrupted import resumes.

    \b
    Example: dedup-crawler import crawl.warc.gz --db crawl.db
    Example: dedup-crawler import items.csv --field url=link --field content=page_html --db crawl.db
    """  # noqa: D301 - click reads the control character
    from dedup_crawler.pages.imports import import_sources, sources_of
    from dedup_crawler.pages.store import PageStore

    for each in fields:
        if "=" not in each:
            raise click.BadParameter(f"{each!r} has no value; write --field {each}=VALUE.")
    names = dict(each.split("=", 1) for each in fields)
    sources = sources_of(paths, names, host)  # a wrong file leaves no empty database behind
    with PageStore(db) as store, progress("import") as advance:
        report = import_sources(sources, store, advance)
    _warn_of(report.damages)
    if as_json:
        print_json(
            records=report.n_records,
            new=report.n_new_pages,
            known=report.n_known,
            damaged=report.damages.n,
            by_digest=report.n_by_digest,
            without_body=report.n_without_body,
            db=db,
        )
    else:
        click.echo(
            f"{report.n_records} records: {report.n_new_pages} new pages, {report.n_known} known, "
            f"{report.damages.n} damaged and skipped; {db}"
        )
        if report.n_by_digest:
            click.echo(f"{report.n_by_digest} pages have a digest and no body: they are labelled by equal digests")
        if report.n_without_body:
            click.echo(f"{report.n_without_body} pages have neither: no label will join them with others")


@main.command()
@DATABASE
@click.option("--truth", type=PATH, help="CSV (url,cluster) to judge the labels by.")
@click.option("--workers", type=click.IntRange(1), help="Processes that read pages; default: one per core.")
@click.option("--labeller", default="default", show_default=True, help="default, or cosine or simhash as published.")
@click.option("--explain", "pair", nargs=2, metavar="URL URL", help="Say why two pages are labelled the same, or not.")
@AS_JSON
def label(
    db: str, truth: Path | None, workers: int | None, labeller: str, pair: tuple[str, str] | None, as_json: bool
) -> None:
    """Find the pages that are the same: main text, cosine scores, simhash, duplicate clusters.

    Reads only pages that no run has read before; Ctrl-C keeps finished pages. With --explain nothing is written.

    Example: dedup-crawler label --db crawl.db --truth truth.csv.gz
    """
    from dedup_crawler.evaluation.quality import label_quality, read_truth
    from dedup_crawler.evidence.labelling import explain_pair, label_store
    from dedup_crawler.pages.store import PageStore

    if pair is not None:
        with PageStore(db, create=False) as store:
            steps = explain_pair(store, *pair, labeller=labeller)
        if as_json:
            print_json(same=bool(steps) or pair[0] == pair[1], steps=[asdict(step) for step in steps])
            return
        for step in steps:
            click.echo(f"{step.url}\n  = {step.other}\n  {step.reason}")
        click.echo("labelled as the same page" if steps or pair[0] == pair[1] else "labelled as different pages")
        return
    known = read_truth(truth) if truth is not None else None
    with PageStore(db, create=False) as store, progress("label") as advance:
        report = label_store(
            store, n_workers=workers, labeller=labeller, progress=lambda step, done: advance(step, done, len(store))
        )
        measured = {}
        if known is not None:
            found_clusters = {page.url: page.cluster for page in store.labelled_pages() if page.cluster is not None}
            measured = asdict(label_quality(found_clusters, known))
    for url, reason in report.skipped:
        warn(f"{url}: {reason}; counted as a page without text")
    if as_json:
        print_json(
            pages=report.n_pages,
            clusters=report.n_clusters,
            duplicates=report.n_duplicates,
            without_text=report.n_without_text,
            scores=report.n_scores,
            skipped=report.n_skipped,
            sort_orders={"decided_by": "content", "joined": report.n_reordered},
            sinks=[asdict(sink) for sink in report.sinks],
            **({"quality": measured} if measured else {}),
        )
        return
    click.echo(
        f"{report.n_pages} pages, {report.n_clusters} duplicate clusters, {report.n_duplicates} duplicates, "
        f"{report.n_without_text} pages without text, {report.n_scores} scores"
    )
    if labeller == "default":
        click.echo(
            "Sort orders are decided by content: a list that shows the same in another order is the same page "
            f"({report.n_reordered} joined so)."
        )
    sinks = [
        f"{sink.n_urls} URLs show one page without content: {sink.title or 'no title'} ({sink.url})"
        for sink in report.sinks
    ]
    print_first(click.echo, sinks, _SHOWN, lambda n: f"and {n} more such pages (--json lists all)")
    for name, value in measured.items():
        click.echo(f"{name.replace('_', ' ')}: {value:.4f}" if isinstance(value, float) else f"{name}: {value}")
