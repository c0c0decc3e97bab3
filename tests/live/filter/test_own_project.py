"""A project with only the installed wheel: its own spider collects, its crawls are filtered."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from built_wheel import ROOT, Environment
from doc_blocks import commands as session
from short_forum import short_recording

EXAMPLES = ROOT / "examples"
N_RECORDED = 500
"""Number of recorded answers of the crawled forum."""


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A new environment with the wheel."""
    return Environment(tmp_path_factory.mktemp("wheel") / "environment", wheel)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the example project, and the beginning of the recording beside it, far from the repository."""
    folder = tmp_path_factory.mktemp("examples")
    recording = short_recording(EXAMPLES / "forum.warc.zst", N_RECORDED)
    (folder / "forum.warc.zst").write_bytes(zstandard.compress(recording))
    return Path(shutil.copytree(EXAMPLES / "own_project", folder / "own_project"))


@pytest.fixture(scope="module")
def address(environment: Environment, project: Path) -> Iterator[str]:
    """The recorded forum, served by the installed command on any free port."""
    command = [environment.scripts / "dedup-crawler", "serve", "../forum.warc.zst", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=project, env=environment.environment(), **pipes) as process:
        yield process.stdout.readline().split(" at ")[1].split()[0]
        process.terminate()
        assert process.wait(600) == 0


def commands() -> list[str]:
    """The commands of its README, except for installation and server."""
    lines = [command.line for command in session(EXAMPLES / "own_project" / "README.md")]
    assert lines[0].startswith("dedup-crawler serve ")
    return lines[1:]


def test_the_wheel_is_what_is_imported(environment: Environment, project: Path) -> None:
    """Not the repository, which the tests import; and its tests and spiders cannot be imported."""
    places = environment.run(
        "python", "-c", "import dedup_crawler as d, sys; print(d.__file__, *sys.path, sep='\\n')", cwd=project
    ).splitlines()

    assert Path(places[0]).is_relative_to(environment.site)
    assert str(ROOT) not in places
    spiders = "from importlib.util import find_spec; print(find_spec('spiders'), find_spec('content'))"
    assert environment.run("python", "-c", spiders, cwd=project).strip() == "None None"


def test_it_collects_learns_and_filters(environment: Environment, project: Path, address: str) -> None:
    """
    The README, command by command: the filtered crawl drops duplicates and finds the same topics. On such a small site
    it fetches about as many again to test its rules.
    """
    logs = []
    for command in commands():
        own_address = ["-a", f"url={address}"] if command.startswith("scrapy crawl") else []
        line = command.split() + own_address
        done = subprocess.run(
            [environment.scripts / line[0], *line[1:]],
            cwd=project,
            env=environment.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        logs.append(done.stderr)
    topics = [
        {json.loads(line)["title"] for line in (project / name).read_text().splitlines()}
        for name in ("first.jsonl", "second.jsonl")
    ]
    answers = [int(re.search(r"response_received_count': (\d+)", logs[crawl])[1]) for crawl in (0, -1)]
    dropped = int(re.search(r"dedup/request/dropped': (\d+)", logs[-1])[1])
    model = json.loads((project / "models" / "forum" / "model.json").read_text())

    assert model["method"] == "verified"
    assert model["counts"]["urls"] > 300
    assert len(topics[0]) > 60
    assert topics[0] == topics[1]
    assert dropped > 0
    assert answers[1] < 1.05 * answers[0]
