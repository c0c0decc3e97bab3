"""Builds what would be released, looks at it, installs it where nothing else is, and runs every command there.

    python .ci/release_check.py [--keep]

The archive of the sources is built from the files that git knows, the wheel from that archive. In the clean environment
the commands run twice: with the package alone, where those that need more have to say so in one line, and with what
training needs, but for torch, which the test suite has. A command without a line in ``SMOKE`` fails the check.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RECORDING = ROOT / "examples" / "forum.warc.zst"
TRUTH = ROOT / "examples" / "forum.truth.csv.gz"
LOG = '127.0.0.1 - - [21/Nov/2026:10:00:00 +0000] "GET /a?x={} HTTP/1.1" 200 512 "http://forum.example/" "-"\n'
FORUM = "https://forum.example.org"


class Smoke(NamedTuple):
    """One command line, its status, and a text that it has to print."""

    line: str
    says: str
    status: int = 0


ALONE = (
    Smoke("import forum.warc.zst --db crawl.db", "5000 new pages"),
    Smoke("label --db crawl.db", "pip install 'dedup-crawler[learn]'", 1),
    Smoke("doctor", "lacks"),
)
"""With the package alone."""

SMOKE = (
    Smoke("import forum.warc.zst --db crawl.db", "0 new pages"),
    Smoke("label --db crawl.db --truth forum.truth.csv.gz", "duplicate clusters"),
    Smoke("train verified --db crawl.db --model models/forum", "verified: learnt from 5000 URLs"),
    Smoke("train random-forest --db crawl.db --model models/forest", "random-forest: learnt"),
    Smoke("train siamese --db crawl.db --model models/siamese", "needs torch, which is not installed", 1),
    Smoke(f"canonicalize --model models/forum {FORUM}/topic/1?page=1", f"{FORUM}/topic/1"),
    Smoke(f"explain --model models/forum {FORUM}/topic/1?page=1", "form: "),
    Smoke("evaluate --db crawl.db --method keep-all --method verified", "| verified"),
    Smoke("compare --model models/forest --pairs pairs.csv", f"{FORUM}/topic/1"),
    Smoke("mine-log access.log --host forum.example --model models/log", "rules"),
    Smoke("doctor --db crawl.db --model models", "pages 5000"),
    Smoke("report --db crawl.db --model models/forum --output report.html", "report.html: "),
    Smoke(f"diff models/forum models/forest {FORUM}/topic/1 {FORUM}/topic/1?page=1", "2 URLs"),
    Smoke("export --model models/forum --format table", "sentence"),
    Smoke("import-rules --remove --model models/forest", "models/forest"),
    Smoke("spark-train forum.warc.zst --models models", "pip install 'dedup-crawler[spark]'", 1),
    Smoke("demo", "run it in a clone of the repository", 1),
    Smoke("--version", ""),
)
"""With what training needs; ``serve`` has a check of its own."""


def main() -> int:
    """Run all of it; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="leave what was built in dist/")
    keep = parser.parse_args().keep
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="release-") as name:
        folder = Path(name)
        archive, wheel = build(folder)
        call(sys.executable, "-m", "twine", "check", "--strict", archive, wheel)
        environment = Clean(folder, wheel)
        for smoke in ALONE:
            environment.check(smoke)
        environment.install(*environment.needed("train", but="torch"), *environment.needed("report"))
        environment.check_every_command()
        if keep:
            shutil.copytree(archive.parent, ROOT / "dist", dirs_exist_ok=True)
    print(f"release check: {time.perf_counter() - start:.0f} s")
    return 0


def build(folder: Path) -> tuple[Path, Path]:
    """The archive of the sources, and the wheel made of it."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    source = folder / "source"
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, source / name)
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", source)
    (archive,), (wheel,) = ((folder / "dist").glob(pattern) for pattern in ("*.tar.gz", "*.whl"))
    return archive, wheel


class Clean:
    """A virtual environment that had nothing in it before the wheel."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.work = folder / "work"
        self.work.mkdir()
        for path in (RECORDING, TRUTH):
            shutil.copy(path, self.work)
        (self.work / "pairs.csv").write_text(f"url1,url2\n{FORUM}/topic/1,{FORUM}/topic/1?page=1\n")
        (self.work / "access.log").write_text("".join(LOG.format(n) for n in range(20)))
        venv.create(folder / "venv", with_pip=True)
        self.bin = folder / "venv" / "bin"
        self.install(wheel)

    def install(self, *what: object) -> None:
        """Install packages, in the versions that are tested."""
        quiet = ("--quiet", "--disable-pip-version-check", "-c", ROOT / "constraints.txt")
        call(self.bin / "python", "-m", "pip", "install", *quiet, *what)

    def needed(self, extra: str, *, but: str = "") -> list[str]:
        """Names of the packages that an extra needs, without *but*."""
        code = (
            "from importlib.metadata import requires; from packaging.requirements import Requirement\n"
            f"needed = [Requirement(line) for line in requires('dedup-crawler') if 'extra == \"{extra}\"' in line]\n"
            f"print(*[each.name for each in needed if each.name != {but!r}])"
        )
        return self.run("python", "-c", code)[1].split()

    def run(self, program: str, *arguments: str) -> tuple[int, str, str]:
        """Status, stdout and stderr of a program of the environment."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        line = [str(self.bin / program), *arguments]
        done = subprocess.run(line, cwd=self.work, env=kept, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def check(self, smoke: Smoke) -> None:
        """Run one command line."""
        start = time.perf_counter()
        status, out, errors = self.run("dedup-crawler", *smoke.line.split())
        told = f"dedup-crawler {smoke.line}: status {status}, {time.perf_counter() - start:.1f} s"
        is_one_line = status == 0 or len(errors.splitlines()) == 1
        if status != smoke.status or smoke.says not in " ".join((out + errors).split()) or not is_one_line:
            raise SystemExit(f"{told}; {smoke.status} and {smoke.says!r} were wanted\n{out[-2000:]}\n{errors[-2000:]}")
        print(told)

    def check_every_command(self) -> None:
        """All of ``SMOKE``, ``serve``, the API, completion; and that no command was left out."""
        code = "from dedup_crawler.cli import main; print(*main.commands)"
        known = set(self.run("python", "-c", code)[1].split())
        missing = known - {smoke.line.split()[0] for smoke in SMOKE} - {"serve"}
        if missing or not known:
            raise SystemExit(f"commands without a line in SMOKE (.ci/release_check.py): {', '.join(missing) or 'all'}")
        for smoke in SMOKE:
            self.check(smoke)
        self.check_serve()
        api = "import dedup_crawler as d; d.Addon; d.DuplicateFilterMiddleware; print(d.load('models/forum'))"
        status, out, errors = self.run("python", "-c", api)
        if status or FORUM.partition("//")[2] not in out:
            raise SystemExit(f"from dedup_crawler import load: {out}{errors}")
        found = json.loads(self.run("dedup-crawler", "doctor", "--json")[1])
        if found["problems"] or found["torch"]:
            raise SystemExit(f"doctor finds {found['problems']}, torch: {found['torch']}")

    def check_serve(self) -> None:
        """A page of the recording comes over HTTP, and `kill` ends it in order."""
        command = [str(self.bin / "dedup-crawler"), "serve", "forum.warc.zst", "--port", "0"]
        with subprocess.Popen(command, cwd=self.work, stdout=subprocess.PIPE, text=True) as process:
            address = process.stdout.readline().split(" at ")[1].split()[0]
            with urllib.request.urlopen(address) as answer:
                is_served = b"FlaskBB" in answer.read()
            process.terminate()
            if process.wait(30) or not is_served:
                raise SystemExit(f"dedup-crawler serve: status {process.returncode}, served: {is_served}")
        print("dedup-crawler serve: served, and stopped by SIGTERM")


def call(*command: object) -> None:
    """Run a program that has to succeed."""
    line: Sequence[str] = [str(word) for word in command]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(line)}: status {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")


if __name__ == "__main__":
    sys.exit(main())
