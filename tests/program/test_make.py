"""The `make` targets of the documentation work: they run here or in continuous integration."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import zstandard

from built_wheel import copy_sources
from doc_blocks import PAGES, ROOT, blocks, sh_commands
from short_forum import short_recording, short_truth

HERE = {"bench", "demo", "reference"}
N_RECORDED, N_LEARNT_FROM = 1_300, 1_000
"""Number of recorded answers for the demo, and of its training pages."""
CI = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of the repository that uses the virtual environment of the tests."""
    folder = tmp_path / "clone"
    copy_sources(folder)
    for name in ("docs", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.jsonl"))
    for name in ("Makefile", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    (folder / "examples").mkdir()
    for path in (ROOT / "examples").iterdir():
        (folder / "examples" / path.name).symlink_to(path)
    for name in ("spiders", "scrapy.cfg", "tests"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").mkdir()
    for name in ("bin", "lib", "lib64", "pyvenv.cfg"):
        if (part := Path(sys.prefix) / name).exists():
            (folder / ".venv" / name).symlink_to(part)
    for name in (".ready", ".tools"):
        (folder / ".venv" / name).touch()
    return folder


def run(line: Sequence[str], folder: Path, **environment: str) -> str:
    """Return the output of a command, run without the variables of the present `make` and pytest."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "MAKE", "MFLAGS"))
    }
    environment = {**inherited, "PYTHONPATH": str(folder), **environment}
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def shorten(examples: Path) -> None:
    """Cut the recording and its truth to their beginnings."""
    recording, truth = examples / "forum.warc.zst", examples / "forum.truth.csv.gz"
    kept = short_recording(recording, N_RECORDED)
    about = short_truth(truth, kept)
    recording.unlink()
    recording.write_bytes(zstandard.compress(kept))
    truth.unlink()
    truth.write_bytes(about)


def test_every_target_that_is_named_is_run() -> None:
    """Each target runs in continuous integration, or in a test below."""
    listed = [block for page in PAGES for block in blocks(page) if block.language == "sh"]
    lines = [command.line for block in listed for command in sh_commands(block)]
    named = {match[1] for line in lines if (match := re.match(r"make ([a-z-]+)", line))}

    assert named == HERE | set(re.findall(r"^make ([a-z-]+)", CI, re.MULTILINE))


def test_the_demo_saves_most_and_loses_nothing(clone: Path) -> None:
    """Three crawls over HTTP of the first part of the recording (benchmarks/results/demo.md has all of it)."""
    shorten(clone / "examples")
    (line,) = run(["make", "--dry-run", "demo"], clone).splitlines()

    told = run([*line.split(), "--first-pages", str(N_LEARNT_FROM)], clone)

    (saved, avoidable), (lost,) = (
        [int(number) for number in re.search(pattern, told).groups()]  # type: ignore[union-attr]
        for pattern in (r"saved +\| +(\d+) of (\d+) avoidable", r"pages lost, by the recorded truth +\| +(\d+)")
    )
    assert lost == 0
    assert saved > avoidable / 2


def test_the_reference_is_written_anew(clone: Path) -> None:
    """`make reference` restores a setting that the page lacks."""
    page = clone / "docs" / "settings.md"
    told = page.read_text(encoding="utf-8")
    page.write_text(re.sub(r"^\| `DEDUP_MODEL`.*\n", "", told, flags=re.MULTILINE), encoding="utf-8")
    assert page.read_text(encoding="utf-8") != told

    run(["make", "reference"], clone)

    assert page.read_text(encoding="utf-8") == told


def test_the_benchmarks_measure(clone: Path) -> None:
    """One of the benchmarks runs briefly."""
    told = run(["make", "bench"], clone, PYTEST_ADDOPTS="-k w3lib --benchmark-max-time=0.01 --benchmark-min-rounds=1")

    assert re.search(r"\d+ passed", told)
    assert "Median" in told
