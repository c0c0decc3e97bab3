"""Whole crawls of the recorded sites over real HTTP, from the first recorded URL, following links.

    python benchmarks/replay.py SITES WORK [WORD...]

Words choose sites, kinds of crawls and their order (breadth-first, depth-first, random); default: all sites and kinds,
breadth-first.

SITES has a folder for each site; WORK takes their databases, which are created if missing. A fetch of the unfiltered
crawl is avoidable if another fetch shows the same page, by truth. A page is lost if the unfiltered crawl reached it and
the filtered one did not. A lost page is *not recorded* if the filtered crawl never saw a link to it, and fetched the
page that holds one under another URL, whose links are not all recorded: a directory under another URL has other
relative links. Drops of URLs that show a lost page are printed on stderr.

Our model is trained on the first 75 % of the recorded crawl, with our own labels; *self-driving* starts without a model
and learns from its own first pages, at fifty pages a second; *polite* at one page a second, as new Scrapy projects are
set.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from generalization import recorded
from recorded import links_in
from usage import arguments

from dedup_crawler import load
from dedup_crawler.evaluation.quality import read_truth
from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.methods import Canonicalizer, make_method
from dedup_crawler.pages.serving import RecordedSite
from dedup_crawler.pages.store import PageStore

HERE = Path(__file__).resolve().parent
LEARN_AFTER = 100
UNFILTERED = "no filter"
ORDERS: dict[str, dict[str, Any]] = {
    "breadth-first": {},  # the spider's default
    "depth-first": {
        "DEPTH_PRIORITY": 0,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.LifoMemoryQueue",
    },
    "random": {"DEPTH_PRIORITY": 0},
}
ADDON = json.dumps({"dedup_crawler.Addon": 500})
DROPS = "drops.jsonl"
POLITE = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "DOWNLOAD_DELAY": 1}
"""The template of Scrapy 2.19 for new projects."""


@dataclass(frozen=True)
class Crawled:
    """Results of one crawl."""

    clusters: frozenset[str]
    """Pages that the crawl reached, by truth."""
    n_fetched: int
    n_needed: int
    """Number of different fetched pages, including those without content."""
    linked: frozenset[str | None]
    """Pages that a link on a fetched page leads to, by truth."""
    incomplete: frozenset[str | None]
    """Fetched pages with links that were not recorded, by truth."""
    n_tests: int
    """Wasted fetches that tested a rule."""
    n_early: int
    """Other wasted fetches that the last model would have dropped."""
    seconds: float
    pages_per_second: float
    """Measured from the creation of the spider: loading the model counts, importing Scrapy does not."""


@dataclass(frozen=True)
class Replayed:
    """A served recording, with the data that its crawls need."""

    site: RecordedSite
    folder: Path
    """Folder for files of the crawls; emptied at the end."""
    known: Path
    """File of the recorded URLs."""
    start: str
    """The first recorded URL."""
    model: Path
    truth: Mapping[str, str]
    referrers: Mapping[str, str | None]
    """Recorded URL -> recorded referrer."""


def settings_of(model: Path, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the settings of each kind of crawl."""
    ours = {"ADDONS": ADDON, "DEDUP_DROPPED": folder / DROPS}
    learns = {**ours, "DEDUP_LEARN_AFTER": LEARN_AFTER}
    return {
        UNFILTERED: {"REQUEST_FINGERPRINTER_CLASS": "replay_spider.ExactFingerprinter"},
        "Scrapy": {},
        "duplicate-url-discarder": {"REQUEST_FINGERPRINTER_CLASS": "duplicate_url_discarder.Fingerprinter"},
        "verified": {**ours, "DEDUP_MODEL": model},
        "verified, no exploration": {**ours, "DEDUP_MODEL": model, "DEDUP_EXPLORATION": 0},
        # a crawl at full speed would end before the model is learnt
        "self-driving": {**learns, "DOWNLOAD_DELAY": 0.02, "DEDUP_COLLECT": folder / "fast.db"},
        "self-driving, polite": {**learns, **POLITE, "DEDUP_COLLECT": folder / "polite.db"},
    }


def crawl(replayed: Replayed, settings: Mapping[str, Any], order: str = "breadth-first") -> Crawled:
    """Crawl the served site once, from outside the project, whose settings would always enable the filter."""
    site, out = replayed.site, replayed.folder / "out.json"
    command = [sys.executable, "-m", "scrapy", "runspider", str(HERE / "replay_spider.py")]
    arguments = {"url": replayed.start, "known": replayed.known, "out": out, "order": order}
    command += [word for name, value in arguments.items() for word in ("-a", f"{name}={value}")]
    command += [word for name, value in {**ORDERS[order], **settings}.items() for word in ("-s", f"{name}={value}")]
    path = os.pathsep.join([str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    begun = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=replayed.folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"scrapy ended with status {done.returncode}: {done.stderr[-2000:]}")
    for line in done.stderr.splitlines():
        if "dedup_crawler" in line and (
            "Duplicate filter:" in line or "Learn" in line or "WARNING" in line or "ERROR" in line
        ):
            print(line, file=sys.stderr)
    told = json.loads(out.read_text(encoding="utf-8"))

    def shown(urls: Iterable[str]) -> frozenset[str | None]:
        return frozenset(replayed.truth.get(site.urls.recorded(url)) for url in urls)

    fetched = told["fetched"]
    pages = [replayed.truth.get(url, url) for url in (site.urls.recorded(url) for url, _, _ in fetched)]
    known = known_repeats(last_model(settings), [(url, source) for url, source, _ in fetched])
    told_of = zip(fetched, repeats(pages), known, strict=True)
    wasted = [(is_test, is_known) for (_, _, is_test), is_repeated, is_known in told_of if is_repeated]
    return Crawled(
        frozenset(map(str, shown(chain.from_iterable(told["reached"])) - {None})),
        len(fetched),
        len({*pages}),
        shown(told["linked"]),
        shown(told["incomplete"]),
        sum(is_test for is_test, _ in wasted),
        sum(is_known and not is_test for is_test, is_known in wasted),
        seconds,
        told["stats"]["response_received_count"] / told["seconds"],
    )


def repeats(pages: Iterable[str]) -> Iterator[bool]:
    """Yield for each page whether it stands earlier as well."""
    met: set[str] = set()
    for page in pages:
        yield page in met
        met.add(page)


def last_model(settings: Mapping[str, Any]) -> Canonicalizer | None:
    """Return the model of a crawl, the last one if it learns by itself; None if it has none."""
    folders = [Path(settings["DEDUP_MODEL"])] if "DEDUP_MODEL" in settings else []
    if "DEDUP_COLLECT" in settings:
        folders = [path.parent for path in Path(settings["DEDUP_COLLECT"]).with_suffix(".models").glob("*/model.json")]
    return load(folders[0]) if folders else None


def known_repeats(model: Canonicalizer | None, visits: Sequence[tuple[str, str | None]]) -> Iterator[bool]:
    """Yield for each fetched URL (with the page that holds the link) whether *model* would have dropped it."""
    if model is None:
        yield from [False] * len(visits)
        return
    forms: set[str] = set()
    for asked in model.forms_in_order(visits):
        yield asked.form in forms or model.is_covered(asked.url)
        forms.add(asked.form)


@contextmanager
def served(name: str, sites: Path, work: Path) -> Iterator[Replayed]:
    """Serve a recorded site, and train on the first part of its crawl."""
    labels = recorded(name, sites, work).labels
    with RecordedSite([sites / name / "crawl.warc.zst"]) as site, tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with PageStore(work / f"{name}.db", create=False) as store:
            pages = list(store.labelled_pages())
        links_of = links_in(work / f"{name}.db")
        truth = read_truth(sites / name / "truth.csv.gz")
        urls = [site.urls.served(page.url) for page in pages]
        learnt = [page for page in pages if page.url in truth][: len(labels)]
        known = folder / "known.txt"
        known.write_text("\n".join(urls), encoding="utf-8")
        model = (
            make_method("verified")
            .fit(
                [site.urls.served(page.url) for page in learnt],
                list(labels),
                [page.referrer and site.urls.served(page.referrer) for page in learnt],
                [page.redirect_to and site.urls.served(page.redirect_to) for page in learnt],
                PageEvidence.of_pages(
                    learnt, links_of=lambda url: (site.urls.served(link) for link in links_of(url) if link in truth)
                ),
            )
            .save(folder / "model")
        )
        referrers = {page.url: page.referrer for page in pages}
        yield Replayed(site, folder, known, urls[0], Path(model), truth, referrers)


def rows(name: str, sites: Path, work: Path, kinds: Sequence[str], order: str) -> Iterator[str]:
    """Yield the lines of one site, crawled in one order."""
    with served(name, sites, work) as replayed:
        first: Crawled | None = None
        for kind, settings in settings_of(replayed.model, replayed.folder).items():
            if kinds and kind not in (UNFILTERED, *kinds):
                continue
            for name_of_earlier in ("model.evidence.json", DROPS):
                replayed.model.with_name(name_of_earlier).unlink(missing_ok=True)
            done = crawl(replayed, settings, order)
            first = first or done
            lost = first.clusters - done.clusters
            left = beyond_the_recording(replayed, lost, done)
            for line in drops_of(replayed, lost - left):
                print(line, file=sys.stderr)
            avoidable = first.n_fetched - first.n_needed
            saved = first.n_fetched - done.n_fetched - len(lost)  # what was not reached is not saved
            without_rule = done.n_fetched - done.n_needed - done.n_tests - done.n_early
            yield (
                f"| {name} | {order} | {kind} | {done.n_fetched:,} | {saved / max(1, avoidable):.1%} | "
                f"{done.n_tests:,} | {done.n_early:,} | {without_rule:,} | {len(done.clusters):,} | "
                f"{len(lost - left)} | {len(left)} | {done.seconds:.0f} |"
            )


def drops_of(replayed: Replayed, lost: Set[str]) -> Iterator[str]:
    """Yield each drop of a URL that shows a lost page, with its reason; the file of drops lies in the folder."""
    drops = replayed.folder / DROPS
    for line in drops.read_text("utf-8").splitlines() if drops.exists() else ():
        if replayed.truth.get(replayed.site.urls.recorded(json.loads(line)["url"])) in lost:
            yield f"LOST {line}"


def beyond_the_recording(replayed: Replayed, lost: Set[str], done: Crawled) -> set[str]:
    """Return lost pages that the crawl could not reach, because the recording lacks links of fetched pages."""
    holders: defaultdict[str, set[str | None]] = defaultdict(set)  # lost page -> pages that the recording knows it from
    for url, page in replayed.truth.items():
        if page in lost - done.linked:
            holders[page].add(replayed.truth.get(replayed.referrers.get(url) or ""))
    left: set[str] = set()
    while more := {page for page in holders.keys() - left if holders[page] & (done.incomplete | left)}:
        left |= more
    return left


def main(sites: Path, work: Path, words: Sequence[str]) -> None:
    """Print the table."""
    columns = ["site", "order", "filter", "fetched", "saved of the avoidable", "tests", "too early", "no rule"]
    columns += ["pages reached", "lost", "not recorded", "s"]
    print("|", " | ".join(columns), "|")
    print("|---" * len(columns) + "|")
    names = sorted(path.parent.name for path in sites.glob("*/crawl.warc.zst"))
    orders = [word for word in words if word in ORDERS] or ["breadth-first"]
    kinds = [word for word in words if word not in (*names, *ORDERS)]
    for name in [name for name in names if name in words] or names:
        for order in orders:
            for row in rows(name, sites, work, kinds, order):
                print(row, flush=True)


if __name__ == "__main__":
    given = arguments(__doc__, 2)
    main(Path(given[0]), Path(given[1]), given[2:])
