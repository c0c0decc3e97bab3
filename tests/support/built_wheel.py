"""The package as a user gets it: a wheel, installed where the repository is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from repository import ROOT

SOURCES = ("setup.py", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in")


def copy_sources(folder: Path) -> None:
    """Copy the sources of a wheel into a new folder."""
    folder.mkdir()
    for name in SOURCES:
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "dedup_crawler", folder / "dedup_crawler", ignore=shutil.ignore_patterns("__pycache__"))


def build_wheel(folder: Path) -> Path:
    """Build the wheel from a copy of the sources: a build leaves files behind that the next build would pack."""
    copy = folder / "source"
    copy_sources(copy)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--wheel-dir", folder, copy], check=True, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


class Environment:
    """A new virtual environment with the wheel; the environment of the tests lends the packages that it requires.

    A line in a ``.pth`` file lends packages, but not their own ``.pth`` files: an editable install of the
    repository stays outside.
    """

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder
        venv.create(folder, symlinks=os.name != "nt")
        self.scripts = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.scripts / "python"
        self.site = Path(self.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        install = [
            sys.executable,
            "-m",
            "pip",
            "--python",
            self.python,
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
        ]
        subprocess.run([*install, wheel], check=True, cwd=folder)
        (self.site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
        scrapy = self.scripts / "scrapy"
        scrapy.write_text(f"#!{self.python}\nfrom scrapy.cmdline import execute\nexecute()\n")
        scrapy.chmod(0o755)

    def environment(self) -> dict[str, str]:
        """Variables of a shell in which the environment is active, without paths of the repository."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        return {**kept, "PATH": f"{self.scripts}{os.pathsep}{kept.get('PATH', '')}", "VIRTUAL_ENV": str(self.folder)}

    def run(self, command: str, *arguments: object, cwd: Path | None = None) -> str:
        """Run a command of the environment, and return its output."""
        line = [str(self.scripts / command), *map(str, arguments)]
        done = subprocess.run(
            line, cwd=cwd or self.folder, env=self.environment(), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout
