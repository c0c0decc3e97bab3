"""Savings of ``verified`` on unseen software: eight recorded sites, each judged separately.

    python benchmarks/generalization.py ../shared/corpora/sites build/results [SITE...] [--part NAME...]
    python benchmarks/generalization.py ../shared/corpora/sites build/results --constants [NAME...]
    python benchmarks/generalization.py ../shared/corpora/sites build/results --network

The folders contain the recorded sites and their labelled databases, which are created if missing. A cell has the share
of avoidable fetches that is saved, and the number of needed pages that are lost. ``--part`` removes a part;
``--constants`` tries other values of each constant and judges each site by the value that is best for the other seven.
``--network`` adds proposals of the Siamese network, two minutes a site: it learns from the first half of the training
part, and rules are made of the pairs that it is sure of in the second half.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from unittest.mock import patch

from ablation import PARTS, without
from recorded import ALL_NAMES, TRAINED, Crawl, continued, labelled_pages, links_in, site

from dedup_crawler.evidence import comparing, line_differences, site_text
from dedup_crawler.evidence.comparing import PageEvidence
from dedup_crawler.methods import Canonicalizer, make_method, verified_learning
from dedup_crawler.methods.verified import Verified
from dedup_crawler.rules.learning import belief, contexts, site_learning, trials
from dedup_crawler.rules.learning.proposers import rules_of_examples
from dedup_crawler.urls.normal import host_of

LOST_COSTS = 0.02
"""Cost of a lost page when choosing a constant, as a share of the site's avoidable fetches."""
CONSTANTS = (
    (belief, "RIGHT", ((1.0, 200.0), (1.0, 800.0))),
    (belief, "SHARE", (0.3, 0.7)),
    (contexts, "FEW_VALUES", (5, 20)),
    (site_text, "SYSTEMATIC_SHARE", (0.15, 0.4)),
    (site_text, "NEW_SHARE", (0.4, 0.8)),
    (comparing, "MAX_NEW", (1, 6)),
    (line_differences, "MAX_SHARED", (0, 6)),
    (site_text, "FRAME_SHARE", (0.04, 0.16)),
    (comparing, "MIN_COMMON", (5.0, 45.0)),
    (comparing, "MAX_EXCUSED", (0.3, 3.0)),
    (trials, "MATTERS_SHARE", (0.0, 0.5)),
    (site_learning, "STRICTER", (1, 2)),
    (comparing, "MAX_MISSING", (1, 10)),
    (contexts, "EXPLAINED", (0.5,)),
    (contexts, "MIN_MIXED", (1, 8)),
    (site_learning, "MAX_LONG", (0.3, 0.8)),
    (site_learning, "MAX_READ_PAGES", (60, 600)),
)
"""Module of a constant, its name, and other values."""


def main() -> None:
    """Print a table with a row for each removed part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path)
    parser.add_argument("databases", type=Path)
    parser.add_argument("names", nargs="*", default=ALL_NAMES)
    parser.add_argument("--part", action="append", choices=PARTS, help="what is taken out; may be repeated")
    parser.add_argument("--risk", default="balanced")
    parser.add_argument(
        "--shuffled", type=int, metavar="SEED", help="crawl in a random order instead of the recorded one"
    )
    names = [name for _, name, _ in CONSTANTS]
    parser.add_argument(
        "--constants", nargs="*", choices=names, help="choose these (all, if none) on seven sites for the eighth"
    )
    parser.add_argument(
        "--learnt",
        type=float,
        default=TRAINED,
        metavar="SHARE",
        help="share of the crawl to learn from (default: %(default)s); a self-driving crawl has little at first",
    )
    parser.add_argument("--network", action="store_true", help="the Siamese network proposes rules, too")
    parser.add_argument("--notes", action="store_true", help="also show rules, lost pages and fetches in vain")
    given = parser.parse_args()
    crawls = {name: recorded(name, given.sites, given.databases, given.shuffled, given.learnt) for name in given.names}
    print("| | " + " | ".join(crawls) + " | mean | lost |")
    print("|---|" + "---:|" * (len(crawls) + 2))
    if given.constants is not None:
        leave_one_out(crawls, given.risk, given.constants or names)
        return
    if given.network:
        row("the Siamese network proposes, too", [with_network(crawl, given.risk) for crawl in crawls.values()])
        return
    for part in given.part or ["all of it"]:
        with without(part):
            row(part, [fitted(crawl, given.risk, notes=given.notes) for crawl in crawls.values()])


Cell = tuple[float, int]
"""Share (0-1) of the avoidable fetches that is saved, and number of lost pages."""


def fitted(crawl: Crawl, risk: str, *, notes: bool = False, proposals: str | None = None) -> Cell:
    """Train on a site and continue its crawl."""
    if crawl.evidence is not None:  # the site's frame was computed with other constants
        crawl = replace(crawl, evidence=PageEvidence(crawl.evidence.digests, links_of=crawl.evidence.links_on))
    method = crawl.fit(Verified(risk=risk, proposals=proposals))
    warm = crawl.warm(method)
    for line in noted(method, crawl) if notes else ():
        print(line, file=sys.stderr)
    return warm.saved, warm.n_lost


def with_network(crawl: Crawl, risk: str) -> Cell:
    """Train with the proposals of a Siamese network, and continue the crawl."""
    half = crawl.cut // 2
    known = slice(half)
    network = make_method("siamese").fit(
        crawl.urls[known], list(crawl.labels[known]), crawl.referrers[known], crawl.redirects[known]
    )
    new = crawl.urls[half : crawl.cut]
    examples: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for url, form in zip(new, network.canonicalize_many(new), strict=True):
        if form != url:
            examples[host_of(url)].append((url, form))
    proposed = {host: list(rules_of_examples(host, pairs, "siamese")) for host, pairs in examples.items()}
    with patch.object(verified_learning, "read_proposals", lambda folder, urls: proposed):
        return fitted(crawl, risk, proposals="siamese")


def row(name: str, cells: Sequence[Cell]) -> None:
    """Print one row at once."""
    shown = " | ".join(f"{saved:.3f} / {lost}" for saved, lost in cells)
    lost = sum(lost for _, lost in cells)
    print(f"| {name} | {shown} | {mean(saved for saved, _ in cells):.3f} | {lost} |", flush=True)


def leave_one_out(crawls: Mapping[str, Crawl], risk: str, asked: Sequence[str]) -> None:
    """Print for each constant the rows of its values, and a row with the value that the other sites choose."""
    whole = [fitted(crawl, risk) for crawl in crawls.values()]
    row("as it is", whole)
    for place, name, values in CONSTANTS:
        if name not in asked:
            continue
        rows = [whole]
        for value in values:
            with patch.object(place, name, value):
                rows.append([fitted(crawl, risk) for crawl in crawls.values()])
            row(f"`{name}` = {value}", rows[-1])
        chosen = []
        for left in range(len(crawls)):
            best = max(rows, key=lambda cells: sum(_worth(cell) for i, cell in enumerate(cells) if i != left))
            chosen.append(best[left])
        row(f"`{name}` as the other sites choose", chosen)


def _worth(cell: Cell) -> float:
    saved, lost = cell
    return saved - LOST_COSTS * lost


def recorded(name: str, sites: Path, databases: Path, seed: int | None = None, learnt: float = TRAINED) -> Crawl:
    """Return a site with our labels of its first part, a share *learnt* (0-1), which are cached beside its database.

    With a *seed* its pages are in random order.
    """
    database = databases / f"{name}.db"
    if not database.exists():
        _run("import", sites / name / "crawl.warc.zst", "--db", database)
        _run("label", "--db", database)
    pages, truth = labelled_pages(name, sites, databases)
    if seed is not None:
        random.Random(seed).shuffle(pages)
    part = ("" if seed is None else f".{seed}") + ("" if learnt == TRAINED else f".{learnt:g}")
    known = databases / f"{name}{part}.labels.json"
    labels = json.loads(known.read_text("utf-8")) if known.exists() else None
    crawl = site(name, pages, truth, round(learnt * len(pages)), labels, links_in(database))
    known.write_text(json.dumps(list(crawl.labels)), "utf-8")
    return crawl


def noted(method: Canonicalizer, crawl: Crawl) -> Iterator[str]:
    """Yield the learnt rules, the pages that they lost, and some of the wasted fetches."""
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
