"""Commands of the documentation that use a live site, install something or take minutes, run with substitutes."""

from __future__ import annotations

import re
import socket
import subprocess
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from built_wheel import copy_sources
from doc_blocks import PAGES, ROOT, Block, Command, blocks, run_session, sh_commands
from short_forum import short_recording
from tests.support import fork_server

OWN_PROJECT = ROOT / "examples" / "own_project" / "README.md"
FORUM = ROOT / "examples" / "forum.warc.zst"
LIVE_SITE = "https://forum.example"
SESSIONS = [block for page in (*PAGES, OWN_PROJECT) for block in blocks(page) if block.is_alone]
N_SERVED = 1_000
"""Number of recorded answers of the live site; no command here asks for more than the first of them."""
N_LEARNT_FROM = 150
"""Number of pages for training a translator for a few steps."""
PIP = "pip install --no-index --no-deps"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The beginning of the recorded forum, on a free port."""
    recording = tmp_path_factory.mktemp("site") / "forum.warc"
    recording.write_bytes(short_recording(FORUM, N_SERVED))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    serve = [*fork_server.command("dedup_crawler"), "--quiet", "serve", recording, "--port", str(port)]
    with subprocess.Popen(serve, stdout=subprocess.DEVNULL) as server:
        deadline = time.monotonic() + 600
        while time.monotonic() < deadline:
            with socket.socket() as door:
                if not door.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
        server.terminate()


def with_stand_ins(line: str, site: str, wheel: Path) -> str:
    """Replace the live site by the recording, the released wheel by this tree's, and long work by shorter work."""
    if line.startswith("make "):
        return line.replace("make ", "make --dry-run ", 1)  # run by test_make.py or by continuous integration
    if line.startswith("pip install -c "):  # requirements are installed; the tests' environment has the builder
        lent = sysconfig.get_path("purelib")
        return f"PYTHONPATH={lent} {line.replace('pip install', f'python -m {PIP} --no-build-isolation', 1)}"
    line = line.replace("-m venv ", "-m venv --without-pip ")  # the same environment has pip
    if line.startswith("pip install "):
        return line.replace("pip install", f"{PIP} --dry-run --find-links {wheel.parent}", 1)
    line = line.replace(LIVE_SITE, site).replace("pages=2000", "pages=100").replace("--delay 2", "--delay 0")
    line = line.replace("evaluate --db crawl.db", "evaluate --db crawl.db --method pattern-tree --method verified")
    return line.replace("train seq2seq ", "train seq2seq --max-steps 5 ")


def prepare(folder: Path, block: Block, site: str) -> None:
    """Prepare *folder* as the page assumes: a clone; for some pages also a crawl, or a log of the site."""
    copy_sources(folder)
    for name in ("examples", "spiders", "scrapy.cfg", "Makefile", "constraints.txt", "benchmarks"):
        (folder / name).symlink_to(ROOT / name)
    if "train seq2seq" in block.text:
        (folder / "forum.warc").write_bytes(short_recording(FORUM, N_LEARNT_FROM))
        for line in (["import", "forum.warc"], ["label", "--workers", "1"]):
            quietly = [*fork_server.command("dedup_crawler"), "--quiet", *line, "--db", "crawl.db"]
            subprocess.run(quietly, cwd=folder, check=True)
    if "mine-log" in block.text:
        paths = [f"/topic/{n}{page}" for n in range(1, 60) for page in ("", "?page=1")]
        times = "127.0.0.1 - - [21/Nov/2026:10:00:00 +0000]"
        (folder / "access.log").write_text(
            "".join(f'{times} "GET {path} HTTP/1.1" 200 512 "-" "-"\n' for path in paths)
        )
        subprocess.run(["gzip", "access.log"], cwd=folder, check=True)


@pytest.mark.parametrize("block", SESSIONS, ids=lambda block: f"{block.page} {re.sub('[^a-z]+', ' ', block.text)[:30]}")
def test_it_does_what_it_says(block: Block, tmp_path: Path, site: str, wheel: Path) -> None:
    """Every command ends well."""
    folder = tmp_path / "clone"
    prepare(folder, block, site)
    listed = [Command(with_stand_ins(command.line, site, wheel), None) for command in sh_commands(block)]
    assert listed
    told = run_session(listed, folder, 0)
    assert "Traceback" not in "".join(told)
    if "make --dry-run" in listed[0].line:
        assert "dedup-crawler demo" in "".join(told)
    if "pip install" in listed[-1].line:
        assert "dedup" in told[-1]


def test_stand_ins_leave_nothing_to_the_network(site: str, wheel: Path) -> None:
    """No documented command contacts another machine."""
    for block in SESSIONS:
        for command in sh_commands(block):
            line = with_stand_ins(command.line, site, wheel)
            assert "https://" not in line
            assert "pip install" not in line or "--no-index" in line
