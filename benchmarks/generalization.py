"""What ``verified`` saves on the software that nothing was chosen by: eight recorded sites, each judged by itself.

    python benchmarks/generalization.py ../shared/corpora/sites build/results [SITE...] [--part NAME] [--notes]

The folders hold the recorded sites and their labelled databases, which are made where they are missing. Without
``--part`` the whole method is shown.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from ablation import PARTS, without
from recorded import ALL_NAMES, Crawl, continued, labelled_pages, site

from dedup_crawler.methods import Canonicalizer
from dedup_crawler.methods.verified import Verified


def main() -> None:
    """Print a table, a row a part that is taken out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("databases", type=Path)
    parser.add_argument("names", nargs="*", default=ALL_NAMES)
    parser.add_argument("--part", action="append", choices=PARTS, help="what is taken out; may be repeated")
    parser.add_argument("--risk", default="balanced")
    parser.add_argument("--notes", action="store_true", help="also show rules, lost pages and fetches in vain")
    given = parser.parse_args()
    crawls = {name: recorded(name, given.sites, given.databases) for name in given.names}
    print("| part | " + " | ".join(crawls) + " | mean | lost | s |")
    print("|---|" + "---:|" * (len(crawls) + 3))
    for part in given.part or ["all of it"]:
        started = time.process_time()
        saved, lost = [], []
        with without(part):
            for crawl in crawls.values():
                method = crawl.fit(Verified(risk=given.risk))
                warm = crawl.warm(method)
                saved.append(warm.saved)
                lost.append(warm.n_lost)
                if given.notes:
                    for line in notes(method, crawl):
                        print(line, file=sys.stderr)
        cells = [f"{share:.3f} / {n}" for share, n in zip(saved, lost, strict=True)]
        seconds = time.process_time() - started
        print(f"| {part} | " + " | ".join(cells) + f" | {mean(saved):.3f} | {sum(lost)} | {seconds:.0f} |", flush=True)


def recorded(name: str, sites: Path, databases: Path) -> Crawl:
    """A site with our labels of its first three quarters, which are remembered beside its database."""
    database = databases / f"{name}.db"
    if not database.exists():
        _run("import", sites / name / "crawl.warc.zst", "--db", database)
        _run("label", "--db", database)
    pages, truth = labelled_pages(name, sites, databases)
    known = databases / f"{name}.labels.json"
    labels = json.loads(known.read_text("utf-8")) if known.exists() else None
    crawl = site(name, pages, truth, labels=labels)
    known.write_text(json.dumps(list(crawl.labels)), "utf-8")
    return crawl


def notes(method: Canonicalizer, crawl: Crawl) -> Iterator[str]:
    """What was learnt, what was lost by it, and some of the fetches in vain."""
    yield f"## {crawl.name}"
    yield from method.learnt()
    yield from (f"REFUSED {each.sentence} BECAUSE {each.reason}" for each in method.refused())
    went = continued(method, crawl)
    for drop in went.dropped:
        if crawl.pages[drop.place] in went.lost:
            url = crawl.urls[drop.place]
            yield f"LOST {url} AS {drop.same_form}: {'; '.join(map(method.rule_sentences().get, method.fired(url)))}"
    step = max(1, len(went.useless) // 40)
    for place in went.useless[::step]:
        first = crawl.pages.index(crawl.pages[place])
        yield f"IN VAIN {crawl.urls[place]} SHOWN BY {crawl.urls[first]}"


def _run(*arguments: object) -> None:
    subprocess.run([sys.executable, "-m", "dedup_crawler", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
