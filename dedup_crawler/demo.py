"""``dedup-crawler demo``: the whole job on the recorded example site, step by step.

Serve the recording, crawl its first part, label, train, then continue the crawl twice from the same point: without and
with the filter. Both are real Scrapy crawls over HTTP on loopback; the recorded truth tells which pages were needed and
which were lost.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rich import box
from rich.table import Table

from dedup_crawler.errors import BadInputError, DedupError
from dedup_crawler.evaluation.quality import read_truth
from dedup_crawler.evaluation.simulated_crawl import CrawlOutcome
from dedup_crawler.evidence.labelling import label_store
from dedup_crawler.methods import method_from_spec
from dedup_crawler.methods.model.training_data import training_data
from dedup_crawler.pages.serving import RecordedSite
from dedup_crawler.pages.store import PageStore

_PROJECT = Path(__file__).resolve().parent.parent
_RECORDING = _PROJECT / "examples" / "forum.warc.zst"
_TRUTH = _PROJECT / "examples" / "forum.truth.csv.gz"
_DROPPED = "drops.jsonl"

Say = Callable[[str], None]


def run_demo(folder: Path | None, *, first_pages: int, method: str, say: Say) -> tuple[CrawlOutcome, dict[str, float]]:
    """Run the demo in *folder* (None: a temporary one); return the outcome and the seconds of each step.

    The outcome counts the crawl after learning, over recorded URLs. Links to other URLs get status 404 with and without
    the filter. Needed is a page that the unfiltered crawl found and the first part had not shown.

    BadInputError if the example site is missing: it is part of the repository, not of the wheel. DedupError if
    one of the crawls fails.
    """
    for path in (_RECORDING, _TRUTH):
        if not path.is_file():
            raise BadInputError(f"the demo needs {path}: run it in a clone of the repository.")
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="dedup-demo-") as temporary:
            return run_demo(Path(temporary), first_pages=first_pages, method=method, say=say)
    folder.mkdir(parents=True, exist_ok=True)
    seconds: dict[str, float] = {}

    @contextmanager
    def step(title: str) -> Iterator[None]:
        """Print a step and its time."""
        say(f"{title} ...")
        start = time.perf_counter()
        yield
        seconds[title] = time.perf_counter() - start
        say(f"  {seconds[title]:.1f} s")

    first, without, with_filter, model = (folder / name for name in ("first.db", "without.db", "with.db", "model"))
    for path in (*folder.glob("*.db*"), *folder.glob(_DROPPED)):
        path.unlink()
    for path in folder.glob("job*"):
        shutil.rmtree(path)
    with step("read the recorded forum"):
        site = RecordedSite([_RECORDING])
    with site:
        say(f"  {site.urls.n_urls} URLs of {site.urls.origin}, served at {site.address}/")
        with step(f"crawl the first {first_pages} pages: scrapy crawl content -a pages={first_pages}"):
            _crawl(site, first, folder / "job", pages=first_pages)
        with step("label the pages"), PageStore(first) as store:
            report = label_store(store)
            say(f"  {report.n_pages} pages, {report.n_clusters} duplicate clusters, {report.n_duplicates} duplicates")
        with step(f"train {method}"):
            learner = method_from_spec(method)
            with PageStore(first) as store:
                data = training_data(store)
                learner.fit(*data).save(model)
            for line in learner.learnt():
                say(f"  {line}")
        for database, job in ((without, "job-without"), (with_filter, "job-with")):
            shutil.copyfile(first, database)
            shutil.copytree(folder / "job", folder / job)
        with step("crawl on without the filter"):
            _crawl(site, without, folder / "job-without")
        with step("crawl on with DuplicateFilterMiddleware"):
            _crawl(site, with_filter, folder / "job-with", model=model)
        return _outcome(site, first, without, with_filter), seconds


def _crawl(
    site: RecordedSite, database: Path, job: Path, *, pages: int | None = None, model: Path | None = None
) -> None:
    settings = {"JOBDIR": job, "AUTOTHROTTLE_ENABLED": False, "LOG_LEVEL": "WARNING"}
    if model is not None:
        settings |= {"DEDUP_MODEL": model, "DEDUP_DROPPED": model.with_name(_DROPPED)}
    arguments = {"url": f"{site.address}/", "db": database} | ({"pages": pages} if pages is not None else {})
    command = [sys.executable, "-m", "scrapy", "crawl", "content"]
    command += [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
    command += [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    # all arguments are our own: paths of this run and a loopback address
    done = subprocess.run(command, cwd=_PROJECT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise DedupError(f"scrapy ended with status {done.returncode}: {done.stderr.strip()[-500:]}")


def _outcome(site: RecordedSite, first: Path, without: Path, with_filter: Path) -> CrawlOutcome:
    truth = read_truth(_TRUTH)

    def shown(database: Path) -> list[str]:
        """Return the page that each recorded URL of a crawl showed."""
        with PageStore(database) as store:
            return [truth[url] for url in map(site.urls.recorded, store.urls()) if url in truth]

    before, without_pages, with_pages = shown(first), shown(without), shown(with_filter)
    needed = set(without_pages) - set(before)
    return CrawlOutcome(
        n_urls=len(without_pages) - len(before),
        n_fetched=len(with_pages) - len(before),
        n_needed=len(needed),
        n_covered=len(needed.intersection(with_pages)),
    )


def demo_tables(outcome: CrawlOutcome, seconds: Mapping[str, float]) -> tuple[Table, Table]:
    """Return the pages needed, fetched and lost, and the seconds of each step."""
    counts = {
        "pages needed (not shown by the first part)": outcome.n_needed,
        "fetched without the filter": outcome.n_urls,
        "fetched with the filter": outcome.n_fetched,
        "saved": f"{outcome.n_urls - outcome.n_fetched} of {outcome.n_avoidable} avoidable",
        "pages lost, by the recorded truth": outcome.n_lost,
    }
    times = {title: f"{taken:.1f}" for title, taken in seconds.items()}
    return (
        _table("the crawl after learning", ("what", "count"), counts),
        _table("time", ("step", "seconds"), times),
    )


def _table(title: str, columns: tuple[str, str], rows: Mapping[str, object]) -> Table:
    table = Table(columns[0], title=title, title_justify="left", box=box.MARKDOWN)
    table.add_column(columns[1], justify="right")
    for name, value in rows.items():
        table.add_row(name, str(value))
    return table
