"""The tests of live crawls with several versions of Scrapy, each in its own virtual environment.

    python benchmarks/compat.py [VERSION...] [--tests FILE...]      default: all of VERSIONS, all of TESTS

The environments are created once, in ``build/compat/``. Since 2.15 Scrapy runs without a Twisted reactor; then all test
crawls run both ways. The exit status is 1 if a test fails; the failures are shown.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import venv
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "compat"
VERSIONS = ("2.13.0", "2.13.4", "2.14.2", "2.15.2", "2.16.0", "2.17.0", "2.18.0", "2.19.0")
TESTS = (
    "live/filter/test_scrapy_compat.py",
    "live/filter/test_middleware.py",
    "live/learning/test_content_spider.py",
    "live/learning/test_collector.py",
    "pages/test_serving.py",
    "live/learning/test_site.py",
)
MODES = {"reactor": "", "bare asyncio": "1"}
"""Event loop of a crawl -> ``BARE_ASYNCIO`` (tests/support/live_site.py)."""


def requirements(version: str) -> Iterator[str]:
    """Yield the packages to install besides ours for one version of Scrapy."""
    number = minor(version)
    yield f"Scrapy=={version}"
    yield "scipy"  # some tests train models
    if number < 16:
        yield "Twisted<=25.5.0"  # 2.13.0 has no HTTP with a later one, but does not declare it
    if number == 18:
        yield "Scrapy[httpx]"
    elif 15 <= number < 18:
        yield "httpx"  # these fetch with it when there is no reactor


def minor(version: str) -> int:
    return int(version.split(".")[1])


def python_of(version: str) -> Path:
    """Return the interpreter of the environment with *version*; create it if missing."""
    folder = WORK / version
    python = folder / "bin" / "python"
    if (folder / "ready").exists():
        return python
    print(f"installing Scrapy {version}", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True)
    constraints = folder / "constraints.txt"
    own = "Scrapy|Twisted" if minor(version) < 16 else "Scrapy"
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    constraints.write_text(re.sub(rf"^({own})==.*\n", "", pinned, flags=re.MULTILINE), encoding="utf-8")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", constraints]
    subprocess.run([*install, "-e", f"{ROOT}[test]", *requirements(version)], check=True, stdout=sys.stderr)
    (folder / "ready").touch()
    return python


def outcome(version: str, mode: str, test: str) -> tuple[Counter[str], str]:
    """Return how many tests of one file passed, failed and were skipped, and the report of failures."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "BARE_ASYNCIO": MODES[mode]}
    command = [python_of(version), "-m", "pytest", "-q", "--tb=short", f"tests/{test}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    last = done.stdout.strip().rpartition("\n")[2]
    counts = Counter({word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped|errors?)", last)})
    if done.returncode and not counts["failed"]:
        counts["failed"] += 1
    return counts, done.stdout[-5000:] if done.returncode else ""


def cell(outcomes: list[Counter[str]]) -> str:
    total = sum(outcomes, Counter())
    return ", ".join(f"{total[word]} {word}" for word in ("passed", "failed", "skipped") if total[word])


def twisted_of(version: str) -> str:
    code = "import twisted; print(twisted.__version__)"
    return subprocess.run([python_of(version), "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def main(versions: list[str], tests: list[str]) -> int:
    """Print the table; return 1 if a test failed."""
    jobs = [
        (version, mode, test)
        for version in versions
        for mode in MODES
        if mode == "reactor" or minor(version) >= 15
        for test in tests
    ]
    for version in versions:
        python_of(version)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = dict(zip(jobs, pool.map(outcome, *zip(*jobs, strict=True)), strict=True))
    for (version, mode, test), (_, report) in outcomes.items():
        if report:
            print(f"Scrapy {version}, {mode}, {test}:\n{report}", file=sys.stderr)
    print("| Scrapy | Twisted | on its reactor | on bare asyncio |\n| --- | --- | --- | --- |")
    for version in versions:
        cells = [
            cell([counts for job, (counts, _) in outcomes.items() if job[:2] == (version, mode)]) for mode in MODES
        ]
        print(f"| {version} | {twisted_of(version)} | {cells[0]} | {cells[1] or 'not known to it'} |")
    return int(any(report for _, report in outcomes.values()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=VERSIONS, metavar="VERSION")
    parser.add_argument("--tests", nargs="+", default=TESTS, metavar="FILE")
    chosen = parser.parse_args()
    sys.exit(main(chosen.versions, chosen.tests))
