"""``dedup-crawler``: one function a sub-command, which parses, calls and prints; no logic.

Results go to stdout, progress and errors to stderr. A user's mistake is one line and exit status 1, a wrong call 2,
Ctrl-C 130.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dedup_crawler.errors import BadInputError, DedupError
from dedup_crawler.methods import METHODS, Canonicalizer, Referrer, load_model, method_from_spec
from dedup_crawler.methods.labelled_pairs import read_pairs, stream_pairs
from dedup_crawler.methods.options import Option, options_of
from dedup_crawler.methods.pair_classifier import PairClassifier

_DATABASE = click.option(
    "--db", default="crawl.db", show_default=True, help="Crawl database: a file or SQLAlchemy URL."
)
_SHOWN_SINKS = 10
_AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for a program to read.")


_MAX_LINES = 20  # of what was learnt
_SHOWN_DAMAGES = 5
_PAIRS_AT_ONCE = 1000


class _Commands(click.Group):
    """Turns what a user can act on into one line, and suggests the command that was probably meant."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DedupError as error:
            _fail(str(error), 1)
        except KeyboardInterrupt:
            _fail("interrupted; what was finished is kept, run the command again to go on.", 130)
        except BrokenPipeError:
            sys.stderr.close()  # the reader of our output has gone: nothing is wrong, and nobody is left to tell
            ctx.exit(0)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="dedup-crawler")
def main() -> None:
    """Learn which URLs of a site lead to the same page, and drop the duplicates of a crawl before they are fetched.

    \b
    scrapy crawl content -a url=https://forum.example     collect pages into crawl.db
    dedup-crawler label                                   find out which are the same
    dedup-crawler train verified                          learn which URLs lead to the same page
    dedup-crawler evaluate                                what it would save and lose
    """  # noqa: D301 - click reads the control character
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")


@main.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--port", default=8000, show_default=True, help="Port on 127.0.0.1; 0 takes any free one.")
@click.option("--host", default=None, help="Which recorded host to serve; default: the one with most URLs.")
def serve(paths: tuple[Path, ...], port: int, host: str | None) -> None:
    """Serve a recorded crawl as a live site on loopback, until Ctrl-C.

    Example: dedup-crawler serve examples/forum.warc.zst --port 8000
    """
    from dedup_crawler.pages.serve import RecordedSite

    with closing(RecordedSite(paths, port=port, host=host)) as site:
        _say(f"{site.n_urls} URLs of {site.origin} at {site.address}/ (Ctrl-C to stop)")
        site.serve_forever()


@main.command("import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_DATABASE
@_AS_JSON
def import_(paths: tuple[Path, ...], db: str, as_json: bool) -> None:
    """Import recorded pages: WARC (.warc, .gz, .zst) or JSON lines (.jsonl, .gz, .zst; url, content, referrer, ...).

    Importing a file again changes nothing; an interrupted import goes on where it stopped.

    Example: dedup-crawler import crawl.warc.gz --db crawl.db
    """
    from dedup_crawler.pages.importing import import_files
    from dedup_crawler.pages.store import PageStore

    with PageStore(db) as store, _progress("import") as advance:
        report = import_files(paths, store, lambda name, done, total: advance(name, done, total))
    for record in report.damaged:
        _warn(f"{record.path}, offset {record.offset}: {record.reason}; skipped")
    if as_json:
        _print_json(
            records=report.n_records, new=report.n_new_pages, known=report.n_known, damaged=report.n_damaged, db=db
        )
    else:
        _say(
            f"{report.n_records} records: {report.n_new_pages} new pages, {report.n_known} known, "
            f"{report.n_damaged} damaged and skipped; {db}"
        )


@main.command()
@_DATABASE
@click.option("--truth", type=click.Path(path_type=Path), help="CSV (url,cluster) to judge the labels by.")
@click.option("--workers", type=int, default=None, help="Processes that read pages; default: one per core.")
@click.option("--language", default="English", show_default=True, help="Of pages that do not declare theirs.")
@click.option("--labeller", default="default", show_default=True, help="default, or cosine or simhash as published.")
@click.option("--explain", "pair", nargs=2, metavar="URL URL", help="Say why two pages are labelled the same, or not.")
@_AS_JSON
def label(
    db: str,
    truth: Path | None,
    workers: int | None,
    language: str,
    labeller: str,
    pair: tuple[str, str] | None,
    as_json: bool,
) -> None:
    """Find out which pages are the same: main text, cosine scores, simhash, duplicate clusters.

    Only pages that have no text yet are read; Ctrl-C keeps those that were. With --explain nothing is written.

    Example: dedup-crawler label --db crawl.db --truth truth.csv.gz
    """
    from dedup_crawler.labels.labelling import explain_pair, label_store
    from dedup_crawler.labels.truth import label_quality, read_truth
    from dedup_crawler.pages.store import PageStore

    if pair is not None:
        with PageStore(db, create=False) as store:
            steps = explain_pair(store, *pair, labeller=labeller)
        if as_json:
            _print_json(same=bool(steps) or pair[0] == pair[1], steps=[asdict(step) for step in steps])
            return
        for step in steps:
            _say(f"{step.url}\n  = {step.other}\n  {step.reason}")
        _say("labelled as the same page" if steps or pair[0] == pair[1] else "labelled as different pages")
        return
    known = read_truth(truth) if truth is not None else None
    with PageStore(db, create=False) as store, _progress("label") as advance:
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
        _warn(f"{url}: {reason}; counted as a page without text")
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
        _print_json(**found, **({"quality": measured} if measured else {}))
        return
    _say(
        f"{report.n_pages} pages, {report.n_clusters} duplicate clusters, {report.n_duplicates} duplicates, "
        f"{report.n_without_text} pages without text, {report.n_scores} scores"
    )
    if labeller == "default":
        _say(
            "Sort orders are decided by content: a list that shows the same in another order is the same page "
            f"({report.n_reordered} joined so)."
        )
    for sink in report.sinks[:_SHOWN_SINKS]:
        _say(f"{sink.n_urls} URLs show one page without content: {sink.title or 'no title'} ({sink.url})")
    if len(report.sinks) > _SHOWN_SINKS:
        _say(f"and {len(report.sinks) - _SHOWN_SINKS} more such pages (--json lists all)")
    for name, value in measured.items():
        _say(f"{name.replace('_', ' ')}: {value:.4f}" if isinstance(value, float) else f"{name}: {value}")


@main.group()
def train() -> None:
    """Fit one method on a labelled crawl and write its model folder.

    Example: dedup-crawler train verified --db crawl.db --model models/forum
    """


def _add_train_command(method: type[Canonicalizer]) -> None:
    known = options_of(method)

    def command(db: str, model: Path | None, as_json: bool, pairs: Path | None = None, **values: Any) -> None:
        from dedup_crawler.methods.training_data import default_model_folder, training_data
        from dedup_crawler.pages.store import PageStore

        learner = method(**values)
        if pairs is not None and isinstance(learner, PairClassifier):
            labelled = read_pairs(pairs)
            urls = list(dict.fromkeys(url for pair in labelled for url in (pair.left, pair.right)))
        else:
            with PageStore(db, create=False) as store:
                data = training_data(store)
            urls = data.urls
        with _progress(f"train {method.name}") as advance:
            learner.progress = lambda step, steps, fit: advance(f"exact {fit:.1%}", step, steps)
            if pairs is not None and isinstance(learner, PairClassifier):
                learner.fit_pairs(labelled)
            else:
                learner.fit(data.urls, data.clusters, data.referrers, data.redirects)
        folder = learner.save(model or default_model_folder(urls))
        if as_json:
            _print_json(model=str(folder), method=method.name, **learner.quality_)
            return
        _say(f"{method.name}: learnt from {len(urls)} URLs of {', '.join(sorted(learner.hosts))}; {folder}")
        for name, value in learner.quality_.items():
            _say(f"  {name.replace('_', ' ')}: {value}")
        if learner.n_learnt() == 0:
            _say(f"  no rules were learnt: {learner.n_urls_} URLs show {learner.n_clusters_} pages")
        lines = learner.learnt()
        for line in lines[:_MAX_LINES]:
            _say(f"  {line}")
        if len(lines) > _MAX_LINES:
            _say(f"  ... and {len(lines) - _MAX_LINES} more")

    for option in reversed(known):
        command = _as_flag(option)(command)
    command = _AS_JSON(command)
    command = click.option("--model", type=click.Path(path_type=Path), help="Folder to write; default: models/<host>.")(
        command
    )
    if issubclass(method, PairClassifier):
        command = click.option(
            "--pairs", type=click.Path(path_type=Path), help="Learn from a CSV (url1,url2,score) instead of --db."
        )(command)
    summary = (method.__doc__ or "").partition("\n")[0]
    command.__doc__ = f"{summary}\n\nExample: dedup-crawler train {method.name} --db crawl.db"
    train.command(method.name)(_DATABASE(command))


def _as_flag(option: Option) -> Callable[[Any], Any]:
    flag = option.name.replace("_", "-")
    names = f"--{flag}/--no-{flag}" if option.kind is bool else f"--{flag}"
    return click.option(
        names, option.name, type=option.kind, default=option.default, show_default=True, help=option.help
    )


for _method in METHODS.values():
    _add_train_command(_method)


@main.command("mine-log")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--model", type=click.Path(path_type=Path), help="Folder to write; default: models/<host>.")
@click.option("--host", default=None, help="Of the logged paths; default: that of --site, or of most referrers.")
@click.option("--min-support", default=5, show_default=True, help="Pairs of URLs with overlapping sizes, at least.")
@click.option("--validate", "n_samples", type=click.IntRange(1), help="Fetch N pairs of pages for each rule; 20 do.")
@click.option("--site", default=None, help="Live site to fetch from, such as https://forum.example.")
@click.option("--delay", default=1.0, show_default=True, help="Seconds between two fetches.")
@click.option("--max-fetches", default=1000, show_default=True, help="Fetches in all.")
@_AS_JSON
def mine_log(
    logs: tuple[Path, ...],
    model: Path | None,
    host: str | None,
    min_support: int,
    n_samples: int | None,
    site: str | None,
    delay: float,
    max_fetches: int,
    as_json: bool,
) -> None:
    """Learn rules from web-server logs: which URLs differ in a substring or parameter and have pages of one size.

    Logs are in the common or combined format, or tab-separated columns. With --validate what is likely is tried on
    the live site: as robots.txt allows, a fetch at a time, on this site alone.

    Example: dedup-crawler mine-log access.log.gz --host forum.example --model models/forum
    """
    from dedup_crawler.evaluation.log_mining import LogMiner

    miner = LogMiner(host=host, min_support=min_support, n_samples=n_samples, site=site)
    with _progress("mine-log") as advance:
        try:
            report = miner.mine(logs, delay_s=delay, max_fetches=max_fetches, progress=advance)
        finally:
            folder = miner.save(model)  # also after Ctrl-C: the rules that held until then
    for record in report.damaged[:_SHOWN_DAMAGES]:
        _warn(f"{record.path}, {record.reason}")
    if report.n_damaged > _SHOWN_DAMAGES:
        _warn(f"and {report.n_damaged - _SHOWN_DAMAGES} more lines that are no access")
    if report.is_guessed:
        _warn(f"the rules are for {report.host}, as far as the log says; --host says it for certain")
    lines = miner.method.learnt()
    if as_json:
        _print_json(model=str(folder), **miner.numbers(report), learnt=lines)
        return
    for name, value in miner.numbers(report).items():
        _say(f"{name.replace('_', ' ')}: {value}")
    for line in lines[:_MAX_LINES] or ["no rules were found"]:
        _say(f"  {line}")
    if len(lines) > _MAX_LINES:
        _say(f"  ... and {len(lines) - _MAX_LINES} more in {folder}")


@main.command()
@click.option("--model", type=click.Path(path_type=Path), required=True, help="Model folder.")
@click.argument("urls", nargs=-1)
def canonicalize(model: Path, urls: tuple[str, ...]) -> None:
    """Print the canonical form of each URL, from the arguments or from stdin (`url` or `url<TAB>referrer` a line).

    Lines with a referrer are taken as a crawl in order: the form of a referrer is the one that it was given itself.

    Example: dedup-crawler canonicalize --model models/forum < urls.txt
    """
    loaded = load_model(model)
    told: dict[str, str] = {}  # forms that only the referrer explains
    for line in urls or sys.stdin:
        url, _, referrer = line.rstrip("\n").partition("\t")
        known = Referrer(referrer, told.get(referrer) or loaded.canonicalize(referrer)) if referrer else None
        form = loaded.canonicalize(url, known)
        if known is not None and form == known.form:
            told[url] = form
        click.echo(form)


@main.command()
@click.option("--model", type=click.Path(path_type=Path), required=True, help="Model folder.")
@click.argument("url")
@click.argument("other", required=False)
@click.option("--referrer", default=None, help="The page that holds the link.")
@_AS_JSON
def explain(model: Path, url: str, other: str | None, referrer: str | None, as_json: bool) -> None:
    """Say why a URL has its form, or whether and why two URLs are believed to be the same page.

    Example: dedup-crawler explain --model models/forum http://forum.example/topic/7-title http://forum.example/topic/7
    """
    loaded = load_model(model)
    known = Referrer(referrer, loaded.canonicalize(referrer)) if referrer is not None else None
    explained = [loaded.explain(each, known) for each in (url, other) if each is not None]
    same = len({each.form for each in explained}) == 1
    if as_json:
        entries = [
            {"url": each.url, "form": each.form, "reason": each.reason, "evidence": dict(each.evidence)}
            for each in explained
        ]
        _print_json(explanations=entries, **({"same": same} if other is not None else {}))
        return
    for each in explained:
        _say(f"{each.url}\n  form: {each.form}\n  {each.reason}")
    if other is not None:
        _say("believed to be the same page" if same else "believed to be different pages")


@main.command()
@click.option("--model", type=click.Path(path_type=Path), required=True, help="Model folder of a pair classifier.")
@click.option("--pairs", type=click.Path(path_type=Path), required=True, help="CSV with url1,url2 and maybe score.")
@_AS_JSON
def compare(model: Path, pairs: Path, as_json: bool) -> None:
    """Print how probably each pair of URLs is one page (url1, url2, probability); with scores, how right that is.

    A score of 0.99 or more is a duplicate. What the answers are worth goes to stderr.

    Example: dedup-crawler compare --model models/forum --pairs pairs.csv
    """
    from dedup_crawler.evaluation.pair_quality import pair_quality

    loaded = load_model(model)
    if not isinstance(loaded, PairClassifier):
        raise BadInputError(
            f"{model} holds a {loaded.name} model, which gives no probabilities: train siamese or random-forest, "
            f"or ask `dedup-crawler explain --model {model} URL URL`."
        )
    answers: list[tuple[str, str, float]] = []
    labels: list[bool] = []
    lines = stream_pairs(pairs)
    while batch := list(islice(lines, _PAIRS_AT_ONCE)):
        probabilities = loaded.duplicate_probabilities([(pair.left, pair.right) for pair in batch])
        labels += [pair.is_duplicate for pair in batch if pair.is_duplicate is not None]
        found = [(pair.left, pair.right, p) for pair, p in zip(batch, probabilities, strict=True)]
        answers += found
        if not as_json:
            click.echo("\n".join(f"{left}\t{right}\t{probability:.4f}" for left, right, probability in found))
    threshold = 1.0 if loaded.threshold_ is None else loaded.threshold_
    quality = pair_quality([p for _, _, p in answers], labels, threshold).as_dict() if labels else {}
    if as_json:
        rows = [{"url1": left, "url2": right, "probability": p} for left, right, p in answers]
        _print_json(threshold=threshold, pairs=rows, **({"quality": quality} if quality else {}))
        return
    for line in _quality_lines(quality, threshold):
        click.echo(line, err=True)


@main.command()
@click.option("--db", "databases", multiple=True, default=["crawl.db"], show_default=True, help="One or more crawls.")
@click.option(
    "--truth", "truths", multiple=True, type=click.Path(path_type=Path), help="CSV (url,cluster), one per --db."
)
@click.option(
    "--method", "specs", multiple=True, help="Name, or name:option=value,...; default: all methods as they are."
)
@click.option("--train-fraction", default=0.75, show_default=True, help="Share of the pages (first in order) to learn.")
@_AS_JSON
def evaluate(
    databases: tuple[str, ...], truths: tuple[Path, ...], specs: tuple[str, ...], train_fraction: float, as_json: bool
) -> None:
    """Print the papers' tables: simulated crawls, cold and warm, and the metrics of WWW'10.

    Training sees our own labels of the first part alone; without --truth our labels judge as well.

    Example: dedup-crawler evaluate --db forum.db --truth truth.csv.gz --method keep-all --method verified
    """
    from dedup_crawler.evaluation.comparison import evaluate as evaluate_method
    from dedup_crawler.evaluation.comparison import judged_crawl
    from dedup_crawler.evaluation.tables import LEGEND, mean_table, site_table, worst_table
    from dedup_crawler.labels.truth import read_truth
    from dedup_crawler.pages.store import PageStore

    if truths and len(truths) != len(databases):
        raise BadInputError(f"{len(databases)} databases and {len(truths)} truths; give one --truth for each --db.")
    specs = specs or tuple(METHODS)
    for spec in specs:
        method_from_spec(spec)  # a wrong name is said before an hour of training, not after
    rows_of_sites = {}
    for i, db in enumerate(databases):
        with PageStore(db, create=False) as store:
            pages = list(store.labelled_pages())
        truth = read_truth(truths[i]) if truths else None
        crawl = judged_crawl(Path(db).stem, pages, truth, train_fraction)
        rows = []
        for spec in specs:
            with _progress(f"{crawl.site}: {spec}") as advance:
                method = method_from_spec(spec)
                method.progress = lambda step, steps, fit: advance(f"exact {fit:.1%}", step, steps)
                rows.append(evaluate_method(method, spec, crawl))
        rows_of_sites[crawl.site] = rows
        if not as_json:
            Console(width=200).print(site_table(crawl, rows))
    if as_json:
        _print_json(**{site: [row.as_dict() for row in rows] for site, rows in rows_of_sites.items()})
        return
    if len(databases) > 1:
        Console(width=200).print(mean_table(rows_of_sites), worst_table(rows_of_sites), sep="\n")
    _say(LEGEND)


@main.command()
@click.option(
    "--folder", type=click.Path(path_type=Path), default=None, help="Where to work; default: a temporary one."
)
@click.option("--first-pages", default=2000, show_default=True, help="Pages to crawl before learning.")
@click.option("--method", default="verified", show_default=True, help="Method to train.")
def demo(folder: Path | None, first_pages: int, method: str) -> None:
    """Do the whole job on the recorded example site: serve, crawl, label, train, crawl on, say what was saved and lost.

    Example: dedup-crawler demo
    """
    from dedup_crawler.demo import run_demo

    run_demo(folder, first_pages=first_pages, method=method, say=_say)


def _quality_lines(quality: Mapping[str, Any], threshold: float) -> Iterator[str]:
    """Rates of a pair classifier, a line each, then its confusion matrix with both axes named."""
    if not quality:
        return
    yield f"{quality['pairs']} pairs with a score, the same page from probability {threshold} on"
    for name in ("accuracy", "precision", "recall", "f1", "auc"):
        yield f"{name}: " + ("-" if quality[name] is None else f"{quality[name]:.4f}")
    columns = ("answer different", "answer same")
    yield " " * 16 + "".join(f"{column:>18}" for column in columns)
    for row, counts in quality["confusion"].items():
        yield f"{row:<16}" + "".join(f"{counts[column]:>18}" for column in columns)


def _say(text: str) -> None:
    click.echo(text)


def _warn(text: str) -> None:
    click.echo(f"warning: {text}", err=True)


def _fail(text: str, status: int) -> None:
    click.echo(f"dedup-crawler: {' '.join(text.split())}", err=True)
    sys.exit(status)


def _print_json(**values: Any) -> None:
    click.echo(json.dumps(values, indent=1, default=str))


@contextmanager
def _progress(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(title, total=None)

        def advance(note: str, done: int, total: int) -> None:
            progress.update(task, description=f"{title}: {note}", completed=done, total=total)

        yield advance
