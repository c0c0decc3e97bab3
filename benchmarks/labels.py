"""Quality and speed of the labels: B-cubed and pairwise precision and recall by truth, and time by number of pages.

    python benchmarks/labels.py ../shared/corpora/sites > benchmarks/results/labels.md      # on Linux

The folder has one folder per site with ``crawl.warc.zst`` and ``truth.csv.gz``. It takes a quarter of an hour on two
cores. Constants are judged as in ``generalization.py``: each site by the value that the others choose.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

import justext
from usage import arguments

from dedup_crawler.evaluation.quality import LabelQuality, label_quality, read_truth
from dedup_crawler.evidence import comparing, labelling
from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.evidence.labelling import LABELLERS, compared_clusters, label_store
from dedup_crawler.labels.published import score_pairs
from dedup_crawler.pages.imports import import_files
from dedup_crawler.pages.records import LabelledPage, Page
from dedup_crawler.pages.store import PageStore
from dedup_crawler.urls.normal import normal_form

T = TypeVar("T")

SIZES = 1_500, 3_000, 6_000
BUSY = 0.3
"""With this load before the run, the machine counts as shared."""
CONSTANTS = (
    (labelling, "MIN_RIGHT", (0.3, 0.5, 0.7)),
    (comparing, "MIN_SURE", (0, 25, 100)),
)
"""Module of a constant, its name, and other values; larger ones are stricter."""
MIN_PRECISION, MIN_RECALL = 0.995, 0.93
"""A value must reach this B-cubed precision and recall on each site that chooses it."""
GROWTH = (25_000, 50_000, 100_000)
"""Numbers of made-up pages."""
TIMED = {"dokuwiki": SIZES, "ftp": SIZES[-1:]}
"""Site -> numbers of pages that are labelled and timed."""


def main(folder: Path) -> None:
    """Print the tables as Markdown."""
    load = os.getloadavg()[0]  # before our own load
    sites = sorted(path.parent for path in folder.glob("*/crawl.warc.zst"))
    print(f"# Labels\n\n`python benchmarks/labels.py {folder}`, {os.cpu_count()} cores\n")
    print("## Quality\n\nPrecision / recall by truth. *Inside*: without redirects to URLs that were not crawled.")
    print()
    print("| site | labeller | URLs | B-cubed | pairs | s |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        for site in sites:
            with PageStore(Path(work) / f"{site.name}.db") as store:
                import_files([site / "crawl.warc.zst"], store)
                label_store(store)
                print_quality(site.name, store, read_truth(site / "truth.csv.gz"))
        print_constants(Path(work), sites)
        print_speed(Path(work), load)
    print_growth()


def print_quality(site: str, store: PageStore, truth: dict[str, str]) -> None:
    """Print one row per labeller, and a second one for the default without redirects out of the crawl."""
    pages = list(store.labelled_pages())
    leads_out = leading_out(pages)
    for name, cluster in LABELLERS.items():
        numbers, seconds = timed(lambda cluster=cluster: cluster(lambda: pages).numbers())
        clusters = {page.url: number for page, number in zip(pages, numbers, strict=True)}
        print(row(site, name, label_quality(clusters, truth), seconds))
        inside = {url: number for url, number in clusters.items() if url not in leads_out}
        if name == "default" and len(inside) < len(clusters):
            print(row(site, "default, inside", label_quality(inside, truth), seconds), flush=True)


def leading_out(pages: Sequence[LabelledPage]) -> set[str]:
    """Return the URLs that redirect to URLs that were not crawled."""
    known = {normal_form(page.url) for page in pages}
    return {page.url for page in pages if page.redirect_to and normal_form(page.redirect_to) not in known}


def row(site: str, name: str, quality: LabelQuality, seconds: float) -> str:
    """Return a line of the quality table."""
    bcubed = f"{quality.bcubed_precision:.4f} / {quality.bcubed_recall:.4f}"
    pairs = f"{quality.pair_precision:.4f} / {quality.pair_recall:.4f}"
    return f"| {site} | {name} | {quality.n_urls} | {bcubed} | {pairs} | {seconds:.1f} |"


Cell = tuple[float, float]
"""B-cubed precision and recall."""


def print_constants(work: Path, sites: Sequence[Path]) -> None:
    """Print labels with other values of each constant, and those that the other sites choose for each site."""
    print("\n## Constants, leaving one software out\n\nB-cubed precision / recall. In the rows")
    print("*as the other sites choose* each site gets the strictest value that keeps a precision of")
    print(f"{MIN_PRECISION} and a recall of {MIN_RECALL} on each of the others.\n")
    print("| | " + " | ".join(site.name for site in sites), "|\n|---|" + "---|" * len(sites))
    crawls = []
    for site in sites:
        with PageStore(work / f"{site.name}.db") as store:
            pages = list(store.labelled_pages())
        crawls.append((pages, PageEvidence.of_pages(pages), read_truth(site / "truth.csv.gz")))
    whole = [cell(*crawl) for crawl in crawls]
    print_cells("as it is", whole)
    with patch.object(labelling, "redirected_to", lambda outside, columns: ()):
        print_cells("redirects out of the crawl stay apart", [cell(*crawl) for crawl in crawls])
    with patch.object(PageEvidence, "alike", lambda self, clusters: clusters):
        print_cells("clusters alone are proposed from", [cell(*crawl) for crawl in crawls])
    for place, name, values in CONSTANTS:
        of_value = {getattr(place, name): whole}
        for value in values:
            with patch.object(place, name, value):
                of_value[value] = [cell(*crawl) for crawl in crawls]
            print_cells(f"`{name}` = {value}", of_value[value])
        chosen = []
        for left in range(len(crawls)):
            good = [value for value, cells in of_value.items() if all(map(is_good, without(cells, left)))]
            chosen.append(of_value[max(good)][left])
        print_cells(f"`{name}` as the other sites choose", chosen)


def cell(pages: Sequence[LabelledPage], evidence: PageEvidence, truth: dict[str, str]) -> Cell:
    """Label the pages of a site."""
    numbers = compared_clusters(lambda: pages, evidence).numbers()
    clusters = {page.url: number for page, number in zip(pages, numbers, strict=True)}
    quality = label_quality(clusters, truth)
    return quality.bcubed_precision, quality.bcubed_recall


def is_good(quality: Cell) -> bool:
    """Return True if labels are as good as they should be."""
    return quality[0] >= MIN_PRECISION and quality[1] >= MIN_RECALL


def without(cells: Sequence[Cell], left: int) -> list[Cell]:
    """Return all cells but one."""
    return [each for place, each in enumerate(cells) if place != left]


def print_cells(name: str, cells: Sequence[Cell]) -> None:
    """Print one row at once."""
    print(f"| {name} |", " | ".join(f"{precision:.4f} / {recall:.4f}" for precision, recall in cells), "|", flush=True)


def print_speed(work: Path, load: float) -> None:
    """Print the seconds of each labelling step, and of jusText alone; *load* is the other load, in cores."""
    shared = f" Shared machine, load {load:.1f} before this run." if load > BUSY else ""
    print(f"\n## Speed\n\nFirst pages of a site, all cores, in seconds.{shared} *After*: the share of all that is not")
    print("reading the main text. The last column is `justext.justext` alone.\n")
    print("| site | pages | main text | scores | clusters | in all | after | again, nothing new | jusText alone |")
    print("|---|---|---|---|---|---|---|---|---|")
    for site, sizes in TIMED.items():
        with PageStore(work / f"{site}.db") as store:
            pages = list(store.pages())
        for n_pages in sizes:
            with PageStore(work / f"{site}-{n_pages}.db") as store:
                store.add_many(pages[:n_pages])
                print(f"| {site} | {n_pages} |", speed_cells(store, pages[:n_pages]), "|", flush=True)


def speed_cells(store: PageStore, pages: list[Page]) -> str:
    """Label a store with these pages twice; return the cells."""
    ends: dict[str, float] = {}
    started = time.perf_counter()
    label_store(store, progress=lambda step, _: ends.__setitem__(step, time.perf_counter()))
    whole = time.perf_counter() - started
    _, again = timed(lambda: label_store(store))
    _, alone = timed(lambda: justext_alone(pages))
    read = ends["main text"] - started
    steps = read, ends["scores"] - ends["main text"], ends["clusters"] - ends["scores"], whole
    return " | ".join([*(f"{s:.1f}" for s in steps), f"{1 - read / whole:.0%}", f"{again:.1f}", f"{alone:.1f}"])


def justext_alone(pages: list[Page]) -> None:
    """Run plain jusText over the bodies on all cores."""
    with ProcessPoolExecutor() as pool:
        list(pool.map(plain_justext, (page.content for page in pages if page.content), chunksize=50))


def plain_justext(body: bytes) -> int:
    """Return the number of paragraphs that jusText finds; 0 if it cannot parse the body."""
    try:
        return len(justext.justext(body, justext.get_stoplist("English")))
    except Exception:  # noqa: BLE001 - not all bodies of a crawl are HTML
        return 0


def print_growth() -> None:
    """Print time and memory of scores and clusters for growing numbers of made-up pages, each in its own process."""
    print("\n## Growth\n\nMade pages (40 lines, one in three new, three quarters of the lines on every page), texts")
    print("read already. Memory is the peak of a process that does nothing else, the program itself included.\n")
    print("| pages | clusters s | MB | scores s | MB |\n|---|---|---|---|---|")
    for n_pages in GROWTH:
        commands = ([sys.executable, __file__, "--made", str(n_pages), step] for step in MADE)
        cells = [subprocess.run(each, capture_output=True, text=True, check=True).stdout.strip() for each in commands]
        print(f"| {n_pages} |", " | ".join(cells), "|", flush=True)


def made_pages(n_pages: int) -> Iterator[LabelledPage]:
    """Yield pages of a made-up site: each text under three session ids, in a frame of 30 lines."""
    frame = "\n".join(f"\tentry {line} of the frame" for line in range(30))
    for n in range(n_pages):
        text = "\n".join(f"line {line} of text {n // 3} which says something" for line in range(10))
        url = f"http://site.example/topic?t={n // 3}&sid={n * 7919 % 10**6:06}"
        referrer = f"http://site.example/topic?t={n // 90}&sid=0"
        yield LabelledPage(url, referrer, 200, None, f"Topic {n // 3}", f"{frame}\n{text}", None, None)


def made_clusters(n_pages: int) -> int:
    """Cluster made-up pages; return the number of clusters."""
    return len(set(LABELLERS["default"](lambda: made_pages(n_pages)).numbers()))


def made_scores(n_pages: int) -> int:
    """Score made-up pages; return the number of scores."""
    return sum(1 for _ in score_pairs(made_pages(n_pages)))


MADE = {"clusters": made_clusters, "scores": made_scores}


def print_made(n_pages: int, step: str) -> None:
    """Print seconds and megabytes of one step for *n_pages* made-up pages."""
    n_found, seconds = timed(lambda: MADE[step](n_pages))
    assert step != "clusters" or n_found == -(-n_pages // 3)
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    print(f"{seconds:.1f} | {int(peak.split()[1]) / 1024:.0f}")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return the result of *work*, and its seconds."""
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


if __name__ == "__main__":
    given = arguments(__doc__, 1)
    if given[0] == "--made":
        print_made(int(given[1]), given[2])
    else:
        main(Path(given[0]))
