"""Crawls in which a key begins to matter: pages dropped until that is noticed, and pages lost in the end.

    python benchmarks/mid_crawl.py [N_SEEDS]      default: 100 seeds for each share

A made site links every page under two URLs, with and without the key ``v``. A trained model drops the key. From a page
on, drawn for each seed, the key leads to a page of its own: always, or for one page in ten, or one in forty.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from usage import arguments

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

from dedup_crawler.methods import make_method  # noqa: E402
from live_site import Answer, Site, walk  # noqa: E402

N_PAGES = 600
PER_LIST = 20
N_TRAINED = 60
SHARES = (1.0, 0.1, 0.025)
"""Shares (0-1) of the later pages for which the key matters."""
QUANTILES = (0.0, 0.5, 0.9, 1.0)
WORDS = [f"{first}{second}" for first in ("ba", "de", "ki", "lo", "mu", "na", "re") for second in ("ran", "sel", "tok")]


@dataclass(frozen=True)
class Outcome:
    """One crawl."""

    n_differing: int
    """Pages that only a URL with the key shows."""
    n_dropped: int
    """Such pages whose URL was dropped, also if it was sent later."""
    n_lost: int
    """Such pages that the crawl never fetched."""
    bound: int
    """Upper end of the interval in the summary of the crawl."""


def article(draw_from: object) -> Answer:
    """Return a page with a text of its own."""
    words = random.Random(str(draw_from)).choices(WORDS, k=120)
    return Answer(
        body=f"<html><head><title>{words[0]}</title></head><body><p>{' '.join(words)}</p></body></html>".encode()
    )


def build(site: Site, first: int, share: float, draw: random.Random) -> list[str]:
    """Serve the site; return the URLs with the key that show pages of their own."""
    site.robots()
    lists = [f"/list?n={n}" for n in range(N_PAGES // PER_LIST)]
    site.page("/", lists[0])
    differing = []
    for place, (path, onward) in enumerate(pairwise([*lists, ""])):
        links = [onward] if onward else []
        for n in range(PER_LIST * place, PER_LIST * (place + 1)):
            plain, keyed = f"/page?id={n}", f"/page?id={n}&v={draw.getrandbits(32):x}"
            links += [plain, keyed.replace("&", "&amp;")]
            is_differing = n >= first and draw.random() < share
            site.answers[plain], site.answers[keyed] = article(n), article(keyed if is_differing else n)
            differing += [keyed] * is_differing
        site.page(path, *links)
    return differing


def model_for(host: str, folder: Path) -> Path:
    """Train a model that drops the key."""
    urls = [f"http://{host}/page?id={n}{end}" for n in range(N_TRAINED) for end in ("", f"&v={n * 7919:x}")]
    return Path(make_method("verified").fit(urls, [n for n in range(N_TRAINED) for _ in "12"]).save(folder))


def crawl(seed: int, share: float) -> Outcome:
    """Crawl one site."""
    draw = random.Random(f"{seed} {share}")
    with tempfile.TemporaryDirectory() as name, Site() as site:
        folder = Path(name)
        differing = build(site, draw.randrange(N_PAGES // 6, 5 * N_PAGES // 6), share, draw)
        done = walk(
            site,
            folder,
            DEDUP_MODEL=model_for(site.host, folder / "model"),
            DEDUP_EXPLORATION="0.02",
            DEDUP_DROPPED=folder / "drops.jsonl",
            LOG_LEVEL="INFO",
            DEPTH_PRIORITY=1,
        )
        lines = (folder / "drops.jsonl").read_text().splitlines()
        dropped = {json.loads(line)["url"].removeprefix(site.url) for line in lines}
        assert done.status == 0, done.log[-2000:]
        n_lost = len({*differing} - {*site.asked})
        bound = re.search(r"'dedup/lost/high': ([\d.]+)", done.log)
        assert bound is not None, done.log[-2000:]
        return Outcome(len(differing), len(dropped.intersection(differing)), n_lost, round(float(bound[1])))


def quantiles(values: Sequence[int]) -> str:
    """Return the cells of some quantiles."""
    ordered = sorted(values)
    return " | ".join(str(ordered[round(share * (len(ordered) - 1))]) for share in QUANTILES)


def main(n_seeds: int = 100) -> None:
    """Print the table."""
    print(
        f"A made site links {N_PAGES} pages under two URLs each, and a trained model drops the key of the second URL."
    )
    print("From a page on, drawn for each seed, the key leads to a page of its own. Least, quantiles and most of")
    print(f"{n_seeds} seeds a row; the summary is the line with which the crawl ends.\n")
    print("| it matters for | count of pages | least | half at most | nine tenths at most | most |")
    print("|---|---|---:|---:|---:|---:|")
    broken = 0
    for share in SHARES:
        told = []
        for seed in range(n_seeds):
            told.append(crawl(seed, share))
            print(f"share {share}: {seed + 1} of {n_seeds} seeds", file=sys.stderr, flush=True)
        broken += sum(each.n_lost > each.bound for each in told)
        who = "every later page" if share == 1 else f"one later page in {1 / share:.0f}"
        print(f"| {who} | that the key alone shows | {quantiles([each.n_differing for each in told])} |")
        print(f"| {who} | dropped | {quantiles([each.n_dropped for each in told])} |")
        print(f"| {who} | lost in the end | {quantiles([each.n_lost for each in told])} |")
        print(f"| {who} | lost at most, by the summary | {quantiles([each.bound for each in told])} |", flush=True)
    print(f"\nSeeds that lost more than the summary says: {broken} of {n_seeds * len(SHARES)}.")


if __name__ == "__main__":
    main(*map(int, arguments(__doc__)))
