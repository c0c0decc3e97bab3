"""Time of the rule miners by number of URLs, and time of the pattern tree compared with its paper.

    python benchmarks/growth.py ../shared/corpora/sites build/results > benchmarks/results/growth.md

The synthetic site is made by :func:`synthetic_site`; the recorded ones are read from their labelled databases (the
second folder). Networks are left out, because their training has a fixed number of steps. It takes some minutes.
"""

from __future__ import annotations

import itertools
import math
import os
import random
import resource
import time
from collections.abc import Sequence
from pathlib import Path

from usage import arguments

from dedup_crawler.evaluation.comparison import judged_crawl
from dedup_crawler.evaluation.quality import read_truth
from dedup_crawler.methods import METHODS, make_method
from dedup_crawler.methods.rule_based import RuleBased
from dedup_crawler.pages.store import PageStore

HOST = "http://forum.example"
SIZES = (1_000, 10_000, 100_000)
N_TRAP = 300_000
N_APPLIED = 20_000
PAPER_US = 37_000_000 / 70_000  # WWW'10: 37 s a site of 70,000 URLs
RECORDED = ("dokuwiki", "ftp")


def synthetic_site(n_urls: int, seed: int = 0) -> tuple[list[str], list[int]]:
    """Return URLs and their pages: topics with slugs, session ids, archive mirrors, members without duplicates."""
    draw = random.Random(seed)
    words = ["".join(draw.choices("bcdfghklmnprstvwz", k=6)) for _ in range(2000)]
    visits: list[tuple[int, str]] = []
    page = 0
    while len(visits) < n_urls:
        page += 1
        kind = page % 10
        if kind < 4:
            slug = "-".join(draw.sample(words, 3))
            visits += [
                (page, f"/topic/{page}-{slug}"),
                (page, f"/topic/{page}-{slug}?page=1"),
                (page, f"/topic/{page}"),
            ]
            if kind == 0:
                visits.append((-page, f"/topic/{page}-{slug}?page=2"))
        elif kind < 6:
            visits.append((page, f"/view.php?t={page}"))
            visits += [(page, f"/view.php?t={page}&sid={draw.getrandbits(64):016x}") for _ in range(2)]
        elif kind < 8:
            visits += [(page, f"/archive{m}/display.php?pageid={page}") for m in draw.sample(range(5), 2)]
        else:
            visits.append((page, f"/member/{page}?tab={draw.choice(['posts', 'friends'])}"))
    draw.shuffle(visits)
    return [HOST + rest for _, rest in visits[:n_urls]], [page for page, _ in visits[:n_urls]]


def trap(n_urls: int = N_TRAP) -> tuple[list[str], list[int]]:
    """Return one page under very many URLs."""
    return [f"{HOST}/trap/{i % 50}?a={i}&b={i * 7}" for i in range(n_urls)], [0] * n_urls


def timed(name: str, urls: Sequence[str], clusters: Sequence[int]) -> tuple[float, float, int]:
    """Return seconds of training, microseconds per applied URL, and the number of rules."""
    method = make_method(name)
    start = time.process_time()
    method.fit(urls, clusters)
    fit_s = time.process_time() - start
    passes = []
    for _ in range(3):
        start = time.process_time()
        method.canonicalize_many(urls[:N_APPLIED])
        passes.append(time.process_time() - start)
    return fit_s, min(passes) / min(N_APPLIED, len(urls)) * 1e6, method.n_learnt() or 0


def main(sites: Path, databases: Path) -> None:
    """Print the tables as Markdown."""
    load = os.getloadavg()[0]
    miners = [name for name, method in METHODS.items() if issubclass(method, RuleBased)]
    print(f"CPU seconds; load {load:.1f} before this run.\n")
    print("## A synthetic site\n")
    print(
        "*Growth* is that of the learning time to the row above; n log n would give "
        + ", ".join(f"{_n_log_n(a, b):.1f}" for a, b in itertools.pairwise(SIZES))
        + ". *Of n log n*: the time, in what it would be by n log n from the first row on.\n"
    )
    print("| miner | URLs | rules | learn s | growth | of n log n | us/URL |\n|---|---|---|---|---|---|---|")
    for name in miners:
        times: list[float] = []
        for size in SIZES:
            fit_s, us, n_rules = timed(name, *synthetic_site(size))
            times.append(fit_s)
            growth = f"{fit_s / times[-2]:.1f}" if len(times) > 1 else "-"
            whole = fit_s / times[0] / _n_log_n(SIZES[0], size)
            print(f"| {name} | {size} | {n_rules} | {fit_s:.2f} | {growth} | {whole:.2f} | {us:.1f} |", flush=True)
    print(f"\n## One page under {N_TRAP:,} URLs\n")
    print("| miner | URLs | rules | learn s | us/URL | MB at most so far |\n|---|---|---|---|---|---|")
    for name in miners:
        fit_s, us, n_rules = timed(name, *trap())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"| {name} | {N_TRAP} | {n_rules} | {fit_s:.2f} | {us:.1f} | {peak} |", flush=True)
    print("\n## The pattern tree beside its paper\n")
    print(f"WWW 2010 reports 37 s for a site of 70,000 URLs: {PAPER_US:.0f} us per URL, on a computer of its time.\n")
    print("| site | URLs | learn s | us per URL learnt from | times the paper |\n|---|---|---|---|---|")
    crawls = [("synthetic", *synthetic_site(70_000))]
    for site in RECORDED:
        with PageStore(databases / f"{site}.db", create=False) as store:
            pages = list(store.labelled_pages())
        crawl = judged_crawl(site, pages, read_truth(sites / site / "truth.csv.gz"), 0.75)
        crawls.append((site, crawl.training.urls, crawl.training.clusters))
    for site, urls, clusters in crawls:
        fit_s, _, _ = timed("pattern-tree", urls, clusters)
        us = fit_s / len(urls) * 1e6
        print(f"| {site} | {len(urls)} | {fit_s:.2f} | {us:.0f} | {PAPER_US / us:.1f} |", flush=True)


def _n_log_n(small: int, large: int) -> float:
    return large * math.log(large) / (small * math.log(small))


if __name__ == "__main__":
    main(*map(Path, arguments(__doc__, 2)))
