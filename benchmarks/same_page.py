"""Quality of ``same_page``: pairs of pages of the recorded sites, judged by their truth.

    python benchmarks/same_page.py SITES DATABASES

*same*: two URLs of one true cluster. *different*: two URLs of different clusters that differ in one part of the path,
one argument, or one additional argument, as a wrong rule would merge them; the hard pairs. *alike*: two URLs of
different clusters with the most similar texts (fewest different bits of the simhash). The text of the site comes from
200 of its pages. Milliseconds are for one comparison, including reading both pages.
"""

from __future__ import annotations

import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from recorded import ALL_NAMES
from usage import arguments

from dedup_crawler.evaluation.quality import read_truth
from dedup_crawler.evidence.two_fetches import GrowingText
from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.exploration.same_page import read, same_page
from dedup_crawler.pages.store import PageStore

N_PAIRS = 1500
N_READ = 200
SEED = 0
Pair = tuple[int, int]


def load(name: str, sites: Path, databases: Path) -> tuple[list[FetchedPage], list[str], list[int | None]]:
    """Return the good answers of a site, their true clusters, and their simhashes."""
    truth = read_truth(sites / name / "truth.csv.gz")
    with PageStore(databases / f"{name}.db") as store:
        hashes = {page.url: page.simhash for page in store.labelled_pages()}
        good = [page for page in store.pages() if page.status == 200 and page.url in truth]
    pages = [FetchedPage.of(page.url, page.url, page.content_type or "", page.content) for page in good]
    return pages, [truth[page.url] for page in good], [hashes[page.url] for page in good]


def same_pairs(clusters: Sequence[str], rng: random.Random) -> list[Pair]:
    """Return up to three pairs of each cluster."""
    members = defaultdict(list)
    for i, cluster in enumerate(clusters):
        members[cluster].append(i)
    pairs = [tuple(rng.sample(each, 2)) for each in members.values() for _ in range(min(3, len(each) - 1))]
    rng.shuffle(pairs)
    return pairs[:N_PAIRS]


def different_pairs(pages: Sequence[FetchedPage], clusters: Sequence[str], rng: random.Random) -> list[Pair]:
    """Return pairs of URLs that differ in one place."""
    groups = defaultdict(list)
    for i, page in enumerate(pages):
        for key in set(generalised(page.url)):
            groups[key].append(i)
    several = [each for each in groups.values() if len(each) > 1]
    found = {tuple(sorted(rng.sample(rng.choice(several), 2))) for _ in range(10 * N_PAIRS)}
    pairs = sorted((left, right) for left, right in found if clusters[left] != clusters[right])
    rng.shuffle(pairs)
    return pairs[:N_PAIRS]


def generalised(url: str) -> Iterator[str]:
    """Yield the URL with each of its places replaced by a placeholder."""
    parts = urlsplit(url)
    segments = parts.path.split("/")
    for i, segment in enumerate(segments):
        if segment:
            yield "/".join([*segments[:i], "*", *segments[i + 1 :]]) + "?" + parts.query
    arguments = parts.query.split("&") if parts.query else []
    for i, argument in enumerate(arguments):
        for instead in ([], [argument.partition("=")[0] + "=*"]):
            yield parts.path + "?" + "&".join([*arguments[:i], *instead, *arguments[i + 1 :]])
    yield parts.path + "?" + parts.query


def alike_pairs(hashes: Sequence[int | None], clusters: Sequence[str], rng: random.Random) -> list[Pair]:
    """Pair some pages with the most similar one of another cluster among a thousand."""
    known = [i for i, simhash in enumerate(hashes) if simhash is not None]
    pairs = set()
    for i in rng.sample(known, min(len(known), N_PAIRS // 2)):
        others = [j for j in rng.sample(known, min(len(known), 1000)) if clusters[j] != clusters[i]]
        nearest = min(others, key=lambda j: (hashes[i] ^ hashes[j]).bit_count())
        pairs.add((min(i, nearest), max(i, nearest)))
    return sorted(pairs)


def main(sites: Path, databases: Path) -> None:
    print("| site | pairs | | right | wrong | undecided | ms |")
    print("|---|---|---|---|---|---|---|")
    for name in ALL_NAMES:
        pages, clusters, hashes = load(name, sites, databases)
        rng = random.Random(SEED)
        text = GrowingText()
        for i in sorted(rng.sample(range(len(pages)), N_READ)):
            if (page := read(pages[i])) is not None:
                text.see(page)
        site = text.text()
        kinds = {
            "same": same_pairs(clusters, rng),
            "different": different_pairs(pages, clusters, rng),
            "alike": alike_pairs(hashes, clusters, rng),
        }
        for kind, pairs in kinds.items():
            wanted = kind == "same"
            start = time.perf_counter()
            n_of = Counter(same_page(pages[left], pages[right], site) for left, right in pairs)
            ms = (time.perf_counter() - start) / len(pairs) * 1e3
            right, wrong, undecided = (f"{n_of[each] / len(pairs):.2%}" for each in (wanted, not wanted, None))
            print(f"| {name} | {kind} | {len(pairs)} | {right} | {wrong} | {undecided} | {ms:.1f} |", flush=True)


if __name__ == "__main__":
    main(*map(Path, arguments(__doc__, 2)))
