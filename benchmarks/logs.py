"""DustBuster on real web-server logs and on recorded sites, as Markdown tables.

    python benchmarks/logs.py LOGS DATABASES SITES

LOGS has ``*.tsv.gz``, DATABASES a labelled ``NAME.db`` for each folder of SITES, which has ``truth.csv.gz``.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from usage import arguments

from dedup_crawler.evaluation.log_mining import SiteValidator
from dedup_crawler.evaluation.quality import read_truth
from dedup_crawler.labels.main_text import TextReader
from dedup_crawler.methods.miners import DustBuster
from dedup_crawler.pages.compression import read_chunks
from dedup_crawler.pages.fetcher import PoliteFetcher, visit_site
from dedup_crawler.pages.logs import Access, LogReport, SizeRange, read_accesses
from dedup_crawler.pages.serving import RecordedSite
from dedup_crawler.pages.store import PageStore
from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.rule import AnyRule, Rule, SubstringRule
from dedup_crawler.rules.miners.dust import DustSearch
from dedup_crawler.rules.miners.url_list import PairsOfRule, UrlList, pairs_of_substrings, shuffled
from dedup_crawler.urls.normal import host_of, normal_form

HOST = "site.example"
HOLDS = 0.9
"""Least share (0-1) of right pairs of a rule that holds."""
N_PAPER = 20
TOPS = (10, 50)
MAX_FETCHES = 1_000


def main(logs: Path, databases: Path, sites: Path) -> None:
    """Print the tables."""
    print(f"# DustBuster\n\n`python benchmarks/logs.py {logs} {databases} {sites}`, {os.cpu_count()} cores")
    print_logs(sorted(logs.glob("*.tsv.gz")))
    print_sites([(site.parent.name, databases, site) for site in sorted(sites.glob("*/truth.csv.gz"))])


def sizes_of(accesses: Iterable[Access], host: str) -> dict[str, SizeRange]:
    """URL in normal form -> sizes of the answers, for *accesses* to one *host*."""
    report = LogReport()
    for access in accesses:
        report.add(access)
    report.settle(host)
    return report.sizes


def print_logs(paths: Sequence[Path]) -> None:
    """Print the rules of the first half of each log on its second half; each log in its own process."""
    print(
        "\n## Logs\n\nAccesses: GET with status 200, in the order of the log. Rules are learnt from the first half of"
    )
    print(f"them. A rule *holds* on the later half if at least {HOLDS:.0%} of its pairs of URLs there have sizes that")
    print("overlap, it *fails* if fewer have, and without a pair there it is *unseen*. *Likely*: every likely rule;")
    print(
        "*tried*: those that hold for the pairs of the first half. Seconds to learn; MB is the peak of the process.\n"
    )
    print("| log | accesses | URLs | in the first half | rules | found | hold | fail | unseen | s | MB |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for path in paths:
        for kind in KINDS:
            command = [sys.executable, __file__, "--log", str(path), kind]
            print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip(), flush=True)


KINDS = {"likely": 0, "tried": DustBuster().validate}


def print_log(path: Path, kind: str) -> None:
    """Print one row."""
    accesses = list(counted(path))
    half = len(accesses) // 2
    earlier, later = sizes_of(accesses[:half], HOST), sizes_of(accesses[half:], HOST)
    method = DustBuster(validate=KINDS[kind])
    started = time.perf_counter()
    method.fit_sizes(list(earlier), [(sizes.low, sizes.high) for sizes in earlier.values()])
    seconds = time.perf_counter() - started
    rules = [rule for rule in method.engine_.rules if rule.host == HOST]
    listed = size_list(later)
    shares = [right_share(pairs, listed) for pairs in pairs_of(rules, listed)]
    fate = Counter("unseen" if share is None else "hold" if share >= HOLDS else "fail" for share in shares)
    n_urls = len(earlier.keys() | later.keys())
    numbers = [len(accesses), n_urls, len(earlier), kind, len(rules), fate["hold"], fate["fail"], fate["unseen"]]
    print("|", path.name.partition(".")[0], "|", " | ".join(map(str, numbers)), f"| {seconds:.1f} | {peak_mb()} |")


def counted(path: Path) -> list[Access]:
    """Return the accesses of a log that count: GET with status 200."""
    accesses = read_accesses(read_chunks(path), lambda _, reason: print(reason, file=sys.stderr))
    return [access for access in accesses if access.method == "GET" and access.status == 200]


def size_list(sizes: dict[str, SizeRange]) -> UrlList:
    """Return the site's own URLs with content."""
    own = {url: each for url, each in sizes.items() if each.high > 0 and host_of(url) == HOST}
    lows, highs = [each.low for each in own.values()], [each.high for each in own.values()]
    return UrlList(HOST, own, lows, highs, are_clusters=False)


def pairs_of(rules: Sequence[AnyRule], urls: UrlList) -> list[PairsOfRule]:
    """Return the pairs of URLs of a list to which each rule gives one form."""
    substrings = [rule for rule in rules if isinstance(rule, SubstringRule)]
    of_substring = iter(pairs_of_substrings(substrings, urls, seed=0))
    return [next(of_substring) if isinstance(rule, SubstringRule) else merged_by(rule, urls) for rule in rules]


def merged_by(rule: AnyRule, urls: UrlList) -> PairsOfRule:
    """Return the pairs of a parameter rule: each URL that it changes, with the first URL of the form."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, form in enumerate(forms_by(rule, urls)):
        groups[form].append(place)
    return shuffled([(place, group[0]) for group in groups.values() for place in group[1:]], seed=0)


def forms_by(rule: AnyRule, urls: UrlList) -> list[str]:
    """Return the forms that a parameter rule gives to URLs; a URL without the parameter stays as it is."""
    engine = RuleEngine([rule])
    names = [key.removeprefix("query[").removesuffix("]") for key in rule.context] if isinstance(rule, Rule) else []
    return [engine.form(form) if all(name in form for name in names) else form for form in urls.forms]


def right_share(pairs: PairsOfRule, urls: UrlList) -> float | None:
    """Return the share of pairs that may be the same page; None without pairs."""
    right = [urls.may_be_same(*pair) for pair in pairs.pairs]
    return sum(right) / len(right) if right else None


def print_sites(sites: Sequence[tuple[str, Path, Path]]) -> None:
    """Print the precision of rules by truth, without and with validation."""
    print(
        "\n## Recorded sites\n\nRules learnt from all URLs of a crawl: from the sizes of the bodies, as published, or"
    )
    print(
        "from the clusters of our labels; without validation, or validated on N pairs of stored pages by our labels. A"
    )
    print(
        f"rule is *right* if at least {HOLDS:.0%} of its pairs of crawled URLs show the same page by truth; precision"
    )
    print(
        "is the share of right rules among the best supported. *Pairs*: the share of all pairs of all rules. *Default*:"
    )
    print(
        "`dedup-crawler train dustbuster`, which also leaves out what other rules imply. *Live*: as `mine-log` does it"
    )
    print(
        f"with `--validate {N_PAPER} --max-fetches {MAX_FETCHES}`, on the recording served on "
        "loopback, where all that was"
    )
    print("not crawled is not found.\n")
    print(f"| site | from | validation | rules | {' | '.join(f'top {top}' for top in TOPS)} | all | pairs |")
    print("|---|---|---|---|---|---|---|---|")
    for name, databases, truth_path in sites:
        by_size, by_cluster, by_truth = lists_of(databases / f"{name}.db", read_truth(truth_path))
        for source, listed in (("sizes", by_size), ("clusters", by_cluster)):
            likely = search(0).rules_of(listed)
            print_precision(name, source, "none", likely, by_truth)
            pairs = pairs_of(likely, by_cluster)
            kept = [
                rule
                for rule, each in zip(likely, pairs, strict=True)
                if each.is_valid(by_cluster, N_PAPER, DustBuster().epsilon)
            ]
            print_precision(name, source, f"N = {N_PAPER}", kept, by_truth)
            if source == "sizes":
                print_precision(
                    name, source, "live", held_live(likely, databases / f"{name}.db", truth_path.parent), by_truth
                )
        print_precision(name, "clusters", "default", search(DustBuster().validate).rules_of(by_cluster), by_truth)


def held_live(rules: Sequence[AnyRule], database: Path, site: Path) -> list[AnyRule]:
    """Return the rules that hold on the recorded site, served on loopback."""
    with PageStore(database, create=False) as store:
        urls = [normal_form(url) for url in store.urls()]
    host = Counter(map(host_of, urls)).most_common(1)[0][0]
    own = [url for url in urls if host_of(url) == host]
    with (
        RecordedSite([site / "crawl.warc.zst"], host=host) as served,
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool,  # Scrapy's reactor starts once in each
    ):
        return pool.submit(validated, served.address, own, rules).result()


def validated(address: str, urls: Sequence[str], rules: Sequence[AnyRule]) -> list[AnyRule]:
    """Return the rules that hold on a live site."""
    held: list[AnyRule] = []

    async def validate(fetcher: PoliteFetcher) -> None:
        validator = SiteValidator(urls, fetcher, reader, n=N_PAPER)
        await validator.validate(rules)
        held.extend(validator.outcome.held)

    with TextReader(n_workers=1) as reader:
        visit_site(address, validate, delay_s=0, max_fetches=MAX_FETCHES)
    return held


def search(n_tried: int) -> DustSearch:
    """Return DustBuster's default search with this many tried pairs."""
    options = DustBuster().options() | {"origin": DustBuster.name, "n_tried": n_tried}
    options.pop("validate")
    return DustSearch(**options)


def lists_of(database: Path, truth: dict[str, str]) -> tuple[UrlList, UrlList, UrlList]:
    """Return the URLs of the largest host as three lists: by body sizes (status 200 only), clusters, and truth."""
    with PageStore(database, create=False) as store:
        sizes = {page.url: len(page.content) for page in store.pages() if page.status == 200 and page.content}
        clusters = {page.url: page.cluster for page in store.labelled_pages()}
    host = Counter(host_of(normal_form(url)) for url in clusters).most_common(1)[0][0]
    urls = [url for url in clusters if host_of(normal_form(url)) == host]
    numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
    values = [sizes, clusters, {url: numbers[truth[url]] for url in urls}]
    found = []
    for place, value_of in enumerate(values):
        own = [url for url in urls if url in value_of]
        known = [value_of[url] for url in own]
        found.append(UrlList(host, map(normal_form, own), known, known, are_clusters=place > 0))
    return found[0], found[1], found[2]


def print_precision(site: str, source: str, validation: str, rules: Sequence[AnyRule], truth: UrlList) -> None:
    """Print one row."""
    pairs = pairs_of(rules, truth)
    shares = [share for share in (right_share(each, truth) for each in pairs) if share is not None]
    is_right = [share >= HOLDS for share in shares]
    precisions = [share_of(is_right[:top]) for top in TOPS] + [share_of(is_right)]
    all_pairs = [truth.may_be_same(*pair) for each in pairs for pair in each.pairs]
    cells = [site, source, validation, str(len(rules)), *precisions, share_of(all_pairs)]
    print("|", " | ".join(cells), "|", flush=True)


def share_of(right: Sequence[bool]) -> str:
    """Return a share with two digits."""
    return f"{sum(right) / len(right):.2f}" if right else "-"


def peak_mb() -> int:
    """Return the peak memory of this process, in MB."""
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) // 1024


if __name__ == "__main__":
    given = arguments(__doc__, 3)
    if given[0] == "--log":
        print_log(Path(given[1]), given[2])
    else:
        main(*map(Path, given))
