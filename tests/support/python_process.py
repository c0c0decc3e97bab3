"""Python in another process, which imports the package of this tree."""

from __future__ import annotations

import os
import subprocess
import sys

from repository import ROOT

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def python(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments to its end."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=ENVIRONMENT, check=False)
