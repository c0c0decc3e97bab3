"""Crawls that are killed at random moments and resumed until they end; counts lost and repeated pages.

    python benchmarks/soak.py [N_KILLS] [SEED]      default: 100 kills of each kind of crawl

Each crawl is killed up to ten times. It has a JOBDIR, or only a file of seen forms. In the third kind 10,000 dropped
links wait for 100 pages whose first URLs fail.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from usage import arguments

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from killing import CONCURRENCY, Ended, build, crawl_with_kills  # noqa: E402
from live_site import Site, strip_query_model  # noqa: E402

N_PAGES = 150
N_AWAITED = 100
PER_PAGE = 100
"""Links that wait for each awaited page."""
PER_CRAWL = 10
PER_RUN = 30
"""A crawl is killed after at most this many requests."""


def build_waiting(site: Site, n_pages: int) -> None:
    """Pages with many URLs, linked together; the first URL of each fails after a while."""
    site.robots()
    site.page("/", *(f"/list{n}" for n in range(0, n_pages, 10)))
    for first in range(0, n_pages, 10):
        pages = range(first, first + 10)
        site.page(f"/list{first}", *(f"/page{n}?v={v}" for v in range(PER_PAGE + 1) for n in pages))
        for n in pages:
            site.page(f"/page{n}?v=0", status=404, delay_s=0.3)
            for v in range(1, PER_PAGE + 1):
                site.page(f"/page{n}?v={v}", html=f"<p>{chr(ord('a') + n % 26) * (1 + n // 26)}</p>")


def crawl(draw: random.Random, n_kills: int, kind: str) -> Ended:
    """Run one crawl with its kills."""
    make, n_pages, with_job = KINDS[kind]
    with tempfile.TemporaryDirectory() as name, Site() as site:
        folder = Path(name)
        site.delay_s = 0.02
        make(site, n_pages)
        model = strip_query_model(folder / "model", site.host)
        kept: dict[str, object] = {"JOBDIR": folder / "job"} if with_job else {"DEDUP_SEEN": folder / "forms.seen"}
        return crawl_with_kills(
            site, folder, draw, n_kills=n_kills, n_pages=n_pages, per_run=PER_RUN, DEDUP_MODEL=model, **kept
        )


KINDS: dict[str, tuple[Callable[[Site, int], None], int, bool]] = {
    "JOBDIR": (build, N_PAGES, True),
    "DEDUP_SEEN alone": (build, N_PAGES, False),
    f"JOBDIR, {N_AWAITED * PER_PAGE:,} links wait": (build_waiting, N_AWAITED, True),
}
"""Kind of crawl -> builds its site; number of pages; True with a JOBDIR."""


def row(kind: str, crawls: list[Ended]) -> str:
    """Return one line of the table."""
    n_kills = sum(each.n_kills for each in crawls)
    n_lost = sum(len(each.lost) for each in crawls)
    n_again = sum(each.n_again for each in crawls)
    n_failed = sum("Traceback" in log for each in crawls for log in each.logs)
    most = max(each.most_again for each in crawls)
    n_pages = len(crawls) * (KINDS[kind][1] + 1)
    per_kill = n_again / max(n_kills, 1)
    return f"| {kind} | {len(crawls)} | {n_kills} | {n_pages} | {n_lost} | {per_kill:.1f} | {most} | {n_failed} |"


def main(n_kills: int = 100, seed: int = 0) -> None:
    """Print the table."""
    print(
        f"SIGKILL after 1 to {PER_RUN} requests, {CONCURRENCY} at once. A page may be fetched again because it was in"
    )
    print("flight, or its answer not processed, when the crawl was killed.\n")
    print("| Kept in | Crawls | Kills | Pages | Lost | Fetched again per kill | Most after one | Runs that failed |")
    print("|---|---|---|---|---|---|---|---|")
    draw = random.Random(seed)
    for kind in KINDS:
        crawls: list[Ended] = []
        while (left := n_kills - sum(each.n_kills for each in crawls)) > 0:
            crawls.append(crawl(draw, min(left, PER_CRAWL), kind))
            print(f"{kind}: {left} kills to go; lost in this crawl: {crawls[-1].lost}", file=sys.stderr, flush=True)
        print(row(kind, crawls), flush=True)


if __name__ == "__main__":
    main(*map(int, arguments(__doc__)))
