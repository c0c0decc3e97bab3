"""Commands on a real terminal: a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support import fork_server

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
COLOURS = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7]|38;)[0-9;]*m")


def on_terminal(arguments: Sequence[object], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Return all that ``dedup-crawler`` writes to a terminal, including escape sequences."""
    terminal, its_end = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    process = subprocess.Popen(
        [*fork_server.command("dedup_crawler"), *map(str, arguments)],
        cwd=folder,
        env={**kept, "TERM": "xterm-256color", **(environment or {})},
        stdin=its_end,
        stdout=its_end,
        stderr=its_end,
    )
    os.close(its_end)
    written = bytearray()
    try:
        while piece := os.read(terminal, 65536):
            written += piece
    except OSError:
        pass  # Linux reports a closed other end this way
    os.close(terminal)
    process.wait(600)
    return written.decode()


def plain(text: str) -> str:
    """Return the text that a terminal shows, without escape sequences."""
    return ESCAPES.sub("", text)
