"""Rebuild the tables under ``benchmarks/results/``, each with the command that prints it: ``make results``.

    python benchmarks/results.py [evaluate] [miners] [labels] [capstone] [demo] [speed]      default: all

The recorded sites are those of ``../shared/corpora/sites``; their databases are made once, in ``build/results/``.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITES = ROOT.parent / "shared" / "corpora" / "sites"
WORK = ROOT / "build" / "results"
RESULTS = ROOT / "benchmarks" / "results"
NAMES = ("forum", "dokuwiki", "ftp", "shop")
METHODS = ("keep-all", "scrapy", "strip-query", "seq2seq:preset=paper", "seq2seq")
MINERS = (
    "rewrite-rules",
    "rewrite-rules:fan_out=5",
    "decision-tree",
    "pattern-tree",
    "pattern-tree:selection=naive",
    "duster",
)


def evaluate() -> None:
    """The baselines and the translator on every site, judged by truth, trained on our labels of the first 75 %."""
    compare("evaluate.md", "Methods on recorded sites", METHODS)


def miners() -> None:
    """The rule miners under the same protocol."""
    compare("miners.md", "Rule miners on recorded sites", MINERS)


def compare(page: str, title: str, compared: Sequence[str]) -> None:
    """Evaluate methods on every site."""
    for name in NAMES:
        if not (WORK / f"{name}.db").exists():
            run("import", SITES / name / "crawl.warc.zst", "--db", WORK / f"{name}.db")
        run("label", "--db", WORK / f"{name}.db")
    crawls = [
        word for name in NAMES for word in ("--db", WORK / f"{name}.db", "--truth", SITES / name / "truth.csv.gz")
    ]
    methods = [word for method in compared for word in ("--method", method)]
    table = run("evaluate", *crawls, *methods)
    shown = "dedup-crawler evaluate " + " ".join(
        [*(f"--db {name}.db --truth {name}/truth.csv.gz" for name in NAMES), *(f"--method {name}" for name in compared)]
    )
    inputs = "\n".join(f"    {sha256(SITES / name / 'crawl.warc.zst')}  {name}/crawl.warc.zst" for name in NAMES)
    steps = (
        "    dedup-crawler import SITE/crawl.warc.zst --db SITE.db && dedup-crawler label --db SITE.db   # each site"
    )
    write(page, title, f"{steps}\n    {shown}", f"Inputs (SHA-256):\n\n{inputs}\n\n{table}")


def labels() -> None:
    """The three labellers on every site."""
    command = [sys.executable, "benchmarks/labels.py", str(SITES)]
    with (RESULTS / "labels.md").open("w", encoding="utf-8") as file:
        subprocess.run(command, cwd=ROOT, check=True, stdout=file)


def capstone() -> None:
    """The capstone's own pairs: hours, unless ``build/capstone.jsonl`` holds its runs already."""
    command = [sys.executable, "benchmarks/capstone.py", str(SITES.parent / "pairs")]
    table = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    (RESULTS / "capstone.md").write_text(table, encoding="utf-8")


def demo() -> None:
    """What ``make demo`` prints."""
    write("demo.md", "The demo", "    make demo", as_code(run("demo")))


def speed() -> None:
    """What ``make bench`` measures, as ratios."""
    report = WORK / "bench.json"
    command = [sys.executable, "-m", "pytest", "benchmarks", "-q", "--benchmark-only", f"--benchmark-json={report}"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    summary = [sys.executable, "benchmarks/summary.py", str(report)]
    tables = subprocess.run(summary, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    write("speed.md", "Speed beside what one would use instead", "    make bench", tables)


def run(*arguments: object) -> str:
    """Run a command of ours; its progress stays on the terminal."""
    command = [sys.executable, "-m", "dedup_crawler", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def as_code(text: str) -> str:
    """Prose indented as code, tables left as tables."""
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
    """Digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(names: list[str]) -> None:
    """Rebuild the named tables, or all."""
    tables = {
        "evaluate": evaluate,
        "miners": miners,
        "labels": labels,
        "capstone": capstone,
        "demo": demo,
        "speed": speed,
    }
    WORK.mkdir(parents=True, exist_ok=True)
    for name in names or tables:
        tables[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
