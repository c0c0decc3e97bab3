"""The command that finds out which pages are the same."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, DATABASE, print_json, progress, say, warn

_SHOWN_SINKS = 10


@main.command()
@DATABASE
@click.option("--truth", type=click.Path(path_type=Path), help="CSV (url,cluster) to judge the labels by.")
@click.option("--workers", type=int, default=None, help="Processes that read pages; default: one per core.")
@click.option("--language", default="English", show_default=True, help="Language of pages that do not declare theirs.")
@click.option("--labeller", default="default", show_default=True, help="default, or cosine or simhash as published.")
@click.option("--explain", "pair", nargs=2, metavar="URL URL", help="Say why two pages are labelled the same, or not.")
@AS_JSON
def label(
    db: str,
    truth: Path | None,
    workers: int | None,
    language: str,
    labeller: str,
    pair: tuple[str, str] | None,
    as_json: bool,
) -> None:
    """Find the pages that are the same: main text, cosine scores, simhash, duplicate clusters.

    Reads only pages that no run has read before; Ctrl-C keeps finished pages. With --explain nothing is written.

    Example: dedup-crawler label --db crawl.db --truth truth.csv.gz
    """
    from dedup_crawler.evaluation.truth import label_quality, read_truth
    from dedup_crawler.labels.labelling import explain_pair, label_store
    from dedup_crawler.pages.store import PageStore

    if pair is not None:
        with PageStore(db, create=False) as store:
            steps = explain_pair(store, *pair, labeller=labeller)
        if as_json:
            print_json(same=bool(steps) or pair[0] == pair[1], steps=[asdict(step) for step in steps])
            return
        for step in steps:
            say(f"{step.url}\n  = {step.other}\n  {step.reason}")
        say("labelled as the same page" if steps or pair[0] == pair[1] else "labelled as different pages")
        return
    known = read_truth(truth) if truth is not None else None
    with PageStore(db, create=False) as store, progress("label") as advance:
        report = label_store(
            store,
            n_workers=workers,
            language=language,
            labeller=labeller,
            progress=lambda step, done: advance(step, done, len(store)),
        )
        quality = None
        if known is not None:
            found_clusters = {page.url: page.cluster for page in store.labelled_pages() if page.cluster is not None}
            quality = label_quality(found_clusters, known)
    for url, reason in report.skipped:
        warn(f"{url}: {reason}; counted as a page without text")
    found = {
        "pages": report.n_pages,
        "clusters": report.n_clusters,
        "duplicates": report.n_duplicates,
        "without_text": report.n_without_text,
        "scores": report.n_scores,
        "skipped": report.n_skipped,
        "sort_orders": {"decided_by": "content", "joined": report.n_reordered},
        "sinks": [asdict(sink) for sink in report.sinks],
    }
    measured = {} if quality is None else asdict(quality)
    if as_json:
        print_json(**found, **({"quality": measured} if measured else {}))
        return
    say(
        f"{report.n_pages} pages, {report.n_clusters} duplicate clusters, {report.n_duplicates} duplicates, "
        f"{report.n_without_text} pages without text, {report.n_scores} scores"
    )
    if labeller == "default":
        say(
            "Sort orders are decided by content: a list that shows the same in another order is the same page "
            f"({report.n_reordered} joined so)."
        )
    for sink in report.sinks[:_SHOWN_SINKS]:
        say(f"{sink.n_urls} URLs show one page without content: {sink.title or 'no title'} ({sink.url})")
    if len(report.sinks) > _SHOWN_SINKS:
        say(f"and {len(report.sinks) - _SHOWN_SINKS} more such pages (--json lists all)")
    for name, value in measured.items():
        say(f"{name.replace('_', ' ')}: {value:.4f}" if isinstance(value, float) else f"{name}: {value}")
