"""Cost of the filter in whole crawls of recorded sites over HTTP on loopback, in pages per second.

    python benchmarks/crawl_speed.py SITES WORK [SITE...]      default: forum

There are five rounds; each runs all filters once, in random order, and is compared separately. The difference between
"Scrapy, once more" and Scrapy shows the noise. *Ours, without a rule* fetches the same pages as Scrapy; *ours* is
trained as in replay.py, and drops duplicates.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from replay import ADDON, Crawled, crawl, served
from usage import arguments

from dedup_crawler.methods import make_method

N_TURNS = 5


def rows(name: str, sites: Path, work: Path, order: random.Random) -> Iterator[str]:
    """Yield the lines of one site."""
    with served(name, sites, work) as replayed:
        no_rule = make_method("keep-all").fit([f"{replayed.site.address}/"], [0]).save(replayed.folder / "no rule")
        kinds: dict[str, dict[str, Any]] = {
            "Scrapy": {},
            "Scrapy, once more": {},
            "ours, without a rule": {"ADDONS": ADDON, "DEDUP_MODEL": no_rule},
            "ours": {"ADDONS": ADDON, "DEDUP_MODEL": replayed.model},
        }
        done: dict[str, list[Crawled]] = {kind: [] for kind in kinds}
        for _ in range(N_TURNS):
            for kind in order.sample([*kinds], len(kinds)):
                done[kind].append(crawl(replayed, kinds[kind]))
        for kind, crawls in done.items():
            speeds = [each.pages_per_second for each in crawls]
            ratios = [plain.pages_per_second / speed for plain, speed in zip(done["Scrapy"], speeds, strict=True)]
            yield (
                f"| {name} | {kind} | {median(each.n_fetched for each in crawls):,.0f} | {median(speeds):.0f} | "
                f"{min(speeds):.0f}-{max(speeds):.0f} | {median(ratios):.2f} | {min(ratios):.2f}-{max(ratios):.2f} | "
                f"{median(each.seconds for each in crawls):.0f} |"
            )


def main(sites: Path, work: Path, names: Sequence[str]) -> None:
    """Print the table."""
    print("| site | filter | fetched | pages/s | least-most | us a page, of Scrapy's | least-most | s a crawl |")
    print("|---|---|---|---|---|---|---|---|")
    order = random.Random(6)
    for name in names:
        for row in rows(name, sites, work, order):
            print(row, flush=True)


if __name__ == "__main__":
    given = arguments(__doc__, 2)
    main(Path(given[0]), Path(given[1]), given[2:] or ["forum"])
