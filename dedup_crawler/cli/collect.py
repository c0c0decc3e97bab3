"""Commands that deal with what was crawled."""

from __future__ import annotations

import signal
from contextlib import closing, suppress
from pathlib import Path

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, DATABASE, print_json, progress, say, warn


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--port", default=8000, show_default=True, help="Port on 127.0.0.1; 0 takes any free one.")
@click.option("--host", default=None, help="Which recorded host to serve; default: the one with most URLs.")
def serve(paths: tuple[Path, ...], port: int, host: str | None) -> None:
    """Serve a recorded crawl as a live site on loopback, until Ctrl-C or `kill`.

    Example: dedup-crawler serve examples/forum.warc.zst --port 8000
    """
    from dedup_crawler.pages.serve import RecordedSite

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
@AS_JSON
def import_(paths: tuple[Path, ...], db: str, as_json: bool) -> None:
    """Import recorded pages: WARC (.warc, .gz, .zst) or JSON lines (.jsonl, .gz, .zst; url, content, referrer, ...).

    Importing a file again changes nothing; an interrupted import goes on where it stopped.

    Example: dedup-crawler import crawl.warc.gz --db crawl.db
    """
    from dedup_crawler.pages.importing import import_files
    from dedup_crawler.pages.store import PageStore

    with PageStore(db) as store, progress("import") as advance:
        report = import_files(paths, store, lambda name, done, total: advance(name, done, total))
    for record in report.damaged:
        warn(f"{record.path}, offset {record.offset}: {record.reason}; skipped")
    if as_json:
        print_json(
            records=report.n_records, new=report.n_new_pages, known=report.n_known, damaged=report.n_damaged, db=db
        )
    else:
        say(
            f"{report.n_records} records: {report.n_new_pages} new pages, {report.n_known} known, "
            f"{report.n_damaged} damaged and skipped; {db}"
        )
