"""Commands that deal with what was crawled."""

from __future__ import annotations

import signal
from contextlib import closing, suppress
from pathlib import Path

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, DATABASE, print_json, progress, read_pairs, say, warn

_SHOWN_DAMAGES = 10


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--port", default=8000, show_default=True, help="Port on 127.0.0.1; 0 takes any free one.")
@click.option("--host", default=None, help="Recorded host to serve; default: the one with most URLs.")
def serve(paths: tuple[Path, ...], port: int, host: str | None) -> None:
    """Serve a recorded crawl as a live site on loopback, until Ctrl-C or `kill`.

    Example: dedup-crawler serve examples/forum.warc.zst --port 8000
    """
    from dedup_crawler.pages.serving import RecordedSite

    # a shell keeps Ctrl-C from what it runs in the background: there `kill` is the way to end it
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with closing(RecordedSite(paths, port=port, host=host)) as site:
        with suppress(KeyboardInterrupt):
            say(f"{site.n_urls} URLs of {site.origin} at {site.address}/ (Ctrl-C to stop)")
            site.serve_forever()
        for again in (signal.SIGINT, signal.SIGTERM):
            signal.signal(again, signal.SIG_IGN)  # who is impatient must not leave the temporary store behind


@main.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@DATABASE
@click.option("--field", "fields", multiple=True, metavar="FIELD=NAME", help="Name of a field, as url=link.")
@click.option("--host", default=None, help="Host of the paths in an access log, such as https://forum.example.")
@AS_JSON
def import_(paths: tuple[Path, ...], db: str, fields: tuple[str, ...], host: str | None, as_json: bool) -> None:
    """Import recorded pages, plain, gzip or zstd; the content of a file tells its format.

    WARC and WACZ; CSV and JSON lines (Scrapy feeds, other crawlers' exports) with a url and a content, html, body or
    text; access logs (URLs only: mine-log learns from those). Pages without a body are labelled by its digest, where a
    file gives that.

    Importing a file again changes nothing; an interrupted import goes on where it stopped.

    \b
    Example: dedup-crawler import crawl.warc.gz --db crawl.db
    Example: dedup-crawler import items.csv --field url=link --field content=page_html --db crawl.db
    """  # noqa: D301 - click reads the control character
    from dedup_crawler.pages.imports import import_files
    from dedup_crawler.pages.store import PageStore

    with PageStore(db) as store, progress("import") as advance:
        report = import_files(paths, store, advance, fields=read_pairs(fields, "--field"), host=host)
    for record in report.damages.records[:_SHOWN_DAMAGES]:
        warn(f"{record.path}, offset {record.offset}: {record.reason}")
    if report.damages.n > _SHOWN_DAMAGES:
        warn(f"and {report.damages.n - _SHOWN_DAMAGES} more places that could not be read")
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
        say(
            f"{report.n_records} records: {report.n_new_pages} new pages, {report.n_known} known, "
            f"{report.damages.n} damaged and skipped; {db}"
        )
        if report.n_by_digest:
            say(f"{report.n_by_digest} pages have a digest and no body: they are labelled by equal digests")
        if report.n_without_body:
            say(f"{report.n_without_body} pages have neither: no label will join them with others")
