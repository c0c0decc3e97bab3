"""The code blocks of the documentation, and a shell session that runs those of a page in order.

A block ``sh`` has commands; in a block ``console`` they follow ``$``, with their output below. The blocks of a page are
one session. A block that uses a live site, installs something or takes minutes has :data:`ALONE` above it, and is a
separate session with substitutes for these (test_doc_sessions.py).
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from repository import ROOT
from tests.support import fork_server

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
ALONE = "<!-- a session of its own -->"
PORT = "8000"
"""Port in the documentation; a test takes a free one."""
_FENCE = re.compile(rf"^({re.escape(ALONE)}\n)?```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CHECKER = doctest.OutputChecker()


@dataclass(frozen=True)
class Block:
    """A fenced block of code."""

    page: str
    language: str
    text: str
    is_alone: bool
    """True if the block is a session of its own."""


@dataclass(frozen=True)
class Command:
    """A command line, and its output; None if the page does not show it."""

    line: str
    output: str | None


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    found = _FENCE.findall(page.read_text(encoding="utf-8"))
    return [Block(page.name, language, text, bool(alone)) for alone, language, text in found]


def without_blocks(text: str) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", text)


def commands(page: Path) -> Iterator[Command]:
    """The commands of the session of a page, in order."""
    for block in blocks(page):
        if block.is_alone:
            continue
        if block.language == "sh":
            yield from sh_commands(block)
        elif block.language == "console":
            first, *parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
            assert not first, f"{page.name}: a block of console begins with a command: {first!r}"
            for part in parts:
                line, _, output = part.partition("\n")
                yield Command(line, output)


def sh_commands(block: Block) -> Iterator[Command]:
    """The commands of a block ``sh``."""
    lines = (line for line in block.text.splitlines() if line and not line.startswith("#"))
    yield from (Command(line, None) for line in lines)


def run_session(listed: list[Command], folder: Path, port: int) -> list[str]:
    """Run commands in one shell in *folder*; return the output of each.

    A background command gets time to print its first line. All commands end with the session.
    """
    bin_ = folder.parent / f"{folder.name}-bin"
    bin_.mkdir(exist_ok=True)
    for name, module in (("dedup-crawler", "dedup_crawler"), ("scrapy", "scrapy")):
        (bin_ / name).write_text(fork_server.script(module))
        (bin_ / name).chmod(0o755)
    script = ["trap 'status=$?; kill $(jobs -p) 2>/dev/null; wait; exit $status' EXIT"]
    for i, command in enumerate(listed):
        line = re.sub(rf"\b{PORT}\b", str(port), command.line)
        script.append(f"{{ {line}\n}} >{bin_}/{i}.out 2>&1 </dev/null || exit $(({i} % 100 + 100))")
        if line.endswith("&"):
            script.append(f"for _ in $(seq 600); do [ -s {bin_}/{i}.out ] && break; sleep 0.05; done")
    environment = {
        **os.environ,
        "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "COLUMNS": "80",
    }
    done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=folder, env=environment, check=False)
    told = [path.read_text() if (path := bin_ / f"{i}.out").exists() else "" for i in range(len(listed))]
    if done.returncode >= 100:
        failed = (done.returncode - 100) % 100
        raise AssertionError(f"{listed[failed].line}\nfailed:\n{told[failed]}")
    assert done.returncode == 0, (done.returncode, told)
    return [text.replace(f":{port}", f":{PORT}") for text in told]


def is_as_shown(shown: str, printed: str) -> bool:
    """Return True if a command printed the shown output; ``...`` matches anything, trailing blanks do not count."""
    wanted, got = ("\n".join(line.rstrip() for line in text.splitlines()) + "\n" for text in (shown, printed))
    return _CHECKER.check_output(wanted, got, doctest.ELLIPSIS)
