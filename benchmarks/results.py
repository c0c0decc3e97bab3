"""``make results``: rebuild the tables in ``benchmarks/results/``, each with the command that prints it.

    python benchmarks/results.py [NAME...]      default: all pages, in the order of PAGES

The recorded sites are those of ``../shared/corpora/sites``; their databases are created once, in ``build/results/``.
Methods come from the registry, so a new method is in the tables as soon as it is registered.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from usage import arguments

from dedup_crawler.methods import METHODS
from dedup_crawler.methods.model.method_options import options_of
from dedup_crawler.methods.rule_based import RuleBased

ROOT = Path(__file__).resolve().parent.parent
SITES = ROOT.parent / "shared" / "corpora" / "sites"
MIRRORS = SITES.parent / "mirrors"
LOGS = SITES.parent / "logs"
WORK = ROOT / "build" / "results"
RESULTS = ROOT / "benchmarks" / "results"
ALL_NAMES = ("wordpress", "mediawiki", "trac", "qa", "forum", "dokuwiki", "ftp", "shop")
NAMES = ALL_NAMES[4:]
"""Sites for slow methods."""
SLOW = ("seq2seq:preset=paper", "siamese")  # these take hours, all others minutes
MINERS = [name for name, method in METHODS.items() if issubclass(method, RuleBased)]
VARIANTS = ["rewrite-rules:fan_out=5", "pattern-tree:selection=naive"]
SEEDED = [
    name
    for name, method in METHODS.items()
    if name not in SLOW and "seed" in {option.name for option in options_of(method)}
]
SEEDS = (0, 1, 2)


def compare(title: str, compared: Sequence[str], page: str, names: Sequence[str] = NAMES) -> None:
    """Evaluate methods on the named sites, judged by truth, trained on our labels of the first 75 %."""
    for name in names:
        if not (WORK / f"{name}.db").exists():
            run("import", SITES / name / "crawl.warc.zst", "--db", WORK / f"{name}.db")
        run("label", "--db", WORK / f"{name}.db")
    crawls = [
        word for name in names for word in ("--db", WORK / f"{name}.db", "--truth", SITES / name / "truth.csv.gz")
    ]
    methods = [word for method in compared for word in ("--method", method)]
    table = run("evaluate", *crawls, *methods)
    shown = "dedup-crawler evaluate " + " ".join(
        [*(f"--db {name}.db --truth {name}/truth.csv.gz" for name in names), *(f"--method {name}" for name in compared)]
    )
    inputs = "\n".join(f"    {sha256(SITES / name / 'crawl.warc.zst')}  {name}/crawl.warc.zst" for name in names)
    steps = (
        "    dedup-crawler import SITE/crawl.warc.zst --db SITE.db && dedup-crawler label --db SITE.db   # each site"
    )
    write(page, title, f"{steps}\n    {shown}", f"Inputs (SHA-256):\n\n{inputs}\n\n{table}")


def script(title: str, name: str, page: str, shown: str = "") -> None:
    """Write the output of a script of this folder; *shown* are its arguments, with folder names in capitals."""
    places = {"SITES": SITES, "WORK": WORK, "MIRRORS": MIRRORS, "LOGS": LOGS}
    arguments = [str(places.get(word, word)) for word in shown.split()]
    command = [sys.executable, f"benchmarks/{name}", *arguments]
    printed = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    write(page, title, f"    python benchmarks/{name} {shown}".rstrip(), printed)


def labels(page: str) -> None:
    """Write the results of the three labellers on every site."""
    command = [sys.executable, "benchmarks/labels.py", os.path.relpath(SITES, ROOT)]
    with (RESULTS / page).open("w", encoding="utf-8") as file:
        subprocess.run(command, cwd=ROOT, check=True, stdout=file)


def logs(page: str) -> None:
    """Write the results of DustBuster on real logs and recorded sites; needs the sites' databases."""
    command = [sys.executable, "benchmarks/logs.py", os.path.relpath(LOGS, ROOT)]
    command += [os.path.relpath(WORK, ROOT), os.path.relpath(SITES, ROOT)]
    with (RESULTS / page).open("w", encoding="utf-8") as file:
        subprocess.run(command, cwd=ROOT, check=True, stdout=file)


def capstone(page: str) -> None:
    """Write the results of the capstone's pairs; takes hours unless ``capstone.jsonl`` has the runs."""
    command = [sys.executable, "benchmarks/capstone.py", os.path.relpath(SITES.parent / "pairs", ROOT)]
    table = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    (RESULTS / page).write_text(table, encoding="utf-8")


def demo(page: str) -> None:
    """Write the output of ``make demo``."""
    write(page, "The demo", "    make demo", as_code(run("demo")))


def speed(page: str) -> None:
    """Write the measurements of ``make bench``, as ratios."""
    report = WORK / "bench.json"
    command = [sys.executable, "-m", "pytest", "benchmarks", "-q", "--benchmark-only", f"--benchmark-json={report}"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    summary = [sys.executable, "benchmarks/summary.py", str(report)]
    tables = subprocess.run(summary, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    write(page, "Speed beside what one would use instead", "    make bench", tables)


PAGES: dict[str, Callable[..., None]] = {
    "evaluate": partial(
        compare, "Methods on recorded sites", [name for name in METHODS if name not in SLOW], names=ALL_NAMES
    ),
    "networks": partial(compare, "Networks that learn for long, on recorded sites", SLOW),
    "miners": partial(compare, "Rule miners on recorded sites", sorted([*MINERS, *VARIANTS])),
    "seeds": partial(compare, "Methods under three seeds", [f"{name}:seed={n}" for name in SEEDED for n in SEEDS]),
    "sweep": partial(script, "Rule miners by the false-positive rate that they allow", "sweep.py", shown="SITES WORK"),
    "growth": partial(script, "Rule miners by the number of URLs", "growth.py", shown="SITES WORK"),
    "verified": partial(script, "What `verified` saves and loses", "verified.py", shown="SITES WORK MIRRORS"),
    "generalization": partial(
        script, "What `verified` saves on software of all kinds", "generalization.py", shown="SITES WORK"
    ),
    "same_page": partial(script, "Whether two pages are the same", "same_page.py", shown="SITES WORK"),
    "labels": labels,
    "logs": logs,
    "later_half": partial(script, "Rules on the later half of real logs", "later_half.py", shown="LOGS"),
    "reasons": partial(script, "Why the methods differ from their papers", "reasons.py", shown="SITES WORK"),
    "capstone": capstone,
    "compat": partial(script, "The tests of live crawls by the version of Scrapy", "compat.py"),
    "soak": partial(script, "Crawls that are killed and resumed", "soak.py"),
    "mid_crawl": partial(script, "A key that begins to matter in mid-crawl", "mid_crawl.py"),
    "demo": demo,
    "replay": partial(script, "Whole crawls over HTTP", "replay.py", shown="SITES WORK"),
    "live_cost": partial(script, "What the filter costs a crawl", "live_cost.py"),
    "crawl_speed": partial(
        script, "What the filter costs crawls of recorded sites", "crawl_speed.py", shown="SITES WORK"
    ),
    "seen": partial(script, "What a seen form costs", "seen.py", shown="100000 1000000 10000000 100000000"),
    "spark": partial(script, "Learning on Spark", "spark.py", shown="SITES WORK"),
    "learn_cost": partial(script, "What learning from a crawl costs", "learn_cost.py", shown="SITES"),
    "speed": speed,
}
"""Name -> function that writes ``benchmarks/results/NAME.md``, called with ``page=NAME.md``."""


def run(*arguments: object) -> str:
    """Run one of our commands; its progress goes to the terminal."""
    command = [sys.executable, "-m", "dedup_crawler", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def as_code(text: str) -> str:
    """Indent prose as code, and keep tables."""
    lines = []
    for line in text.splitlines():
        is_table = line.startswith("|")
        lines.append(line.rstrip() if is_table else f"    {line}".rstrip())
    return "\n".join(lines)


def write(name: str, title: str, command: str, body: str) -> None:
    """Write one page of results."""
    body = "\n".join(line.rstrip() for line in body.splitlines())
    text = f"# {title}\n\nMade by `make results` on {os.cpu_count()} cores:\n\n{command}\n\n{body}\n"
    (RESULTS / name).write_text(text, encoding="utf-8")
    print(f"{RESULTS / name}")


def sha256(path: Path) -> str:
    """Return the digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(names: list[str]) -> None:
    """Rebuild the named pages, or all."""
    unknown = [name for name in names if name not in PAGES]
    if unknown:
        sys.exit(f"no page {unknown[0]!r}; known: {', '.join(PAGES)}")
    WORK.mkdir(parents=True, exist_ok=True)
    for name in names or PAGES:
        PAGES[name](page=f"{name}.md")


if __name__ == "__main__":
    main(arguments(__doc__))
