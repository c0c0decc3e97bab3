"""Crawls that are killed at random moments and resumed until they end; counts lost and repeated pages.

    python benchmarks/soak.py [N_KILLS] [SEED]      default: 100 kills

Each crawl is killed up to ten times. Every second one has a JOBDIR; the others have only a file of seen forms.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from killing import CONCURRENCY, Ended, build, crawl_with_kills  # noqa: E402
from live_site import Site, strip_query_model  # noqa: E402

N_PAGES = 150
PER_CRAWL = 10
PER_RUN = 30
"""A crawl is killed after at most this many requests."""


def crawl(draw: random.Random, n_kills: int, *, with_job: bool) -> Ended:
    """Run one crawl with its kills."""
    with tempfile.TemporaryDirectory() as name, Site() as site:
        folder = Path(name)
        site.delay_s = 0.02
        build(site, N_PAGES)
        model = strip_query_model(folder / "model", site.host)
        kept: dict[str, object] = {"JOBDIR": folder / "job"} if with_job else {"DEDUP_SEEN": folder / "forms.seen"}
        return crawl_with_kills(
            site, folder, draw, n_kills=n_kills, n_pages=N_PAGES, per_run=PER_RUN, DEDUP_MODEL=model, **kept
        )


def row(name: str, crawls: list[Ended]) -> str:
    """Return one line of the table."""
    n_kills = sum(each.n_kills for each in crawls)
    n_lost = sum(len(each.lost) for each in crawls)
    n_again = sum(each.n_again for each in crawls)
    n_failed = sum("Traceback" in log for each in crawls for log in each.logs)
    most = max(each.most_again for each in crawls)
    n_pages = len(crawls) * (N_PAGES + 1)
    per_kill = n_again / max(n_kills, 1)
    return f"| {name} | {len(crawls)} | {n_kills} | {n_pages} | {n_lost} | {per_kill:.1f} | {most} | {n_failed} |"


def main(n_kills: int = 100, seed: int = 0) -> None:
    """Print the table."""
    draw = random.Random(seed)
    crawls: dict[bool, list[Ended]] = {True: [], False: []}
    with_job = True
    while (left := n_kills - sum(each.n_kills for of_kind in crawls.values() for each in of_kind)) > 0:
        ended = crawl(draw, min(left, PER_CRAWL), with_job=with_job)
        crawls[with_job].append(ended)
        print(f"{left} kills to go; lost in this crawl: {ended.lost}", file=sys.stderr, flush=True)
        with_job = not with_job
    print(
        f"SIGKILL after 1 to {PER_RUN} requests, {CONCURRENCY} at once. A page may be fetched again because it was in"
    )
    print("flight, or its answer not processed, when the crawl was killed.\n")
    print("| Kept in | Crawls | Kills | Pages | Lost | Fetched again per kill | Most after one | Runs that failed |")
    print("|---|---|---|---|---|---|---|---|")
    for kind, name in ((True, "JOBDIR"), (False, "DEDUP_SEEN alone")):
        if crawls[kind]:
            print(row(name, crawls[kind]))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
