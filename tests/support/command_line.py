"""The command line, run in this process."""

from __future__ import annotations

from collections.abc import Mapping

from click.testing import CliRunner, Result

from dedup_crawler.cli import main


def run(*arguments: object, stdin: str | bytes | None = None, env: Mapping[str, str] | None = None) -> Result:
    """Run ``dedup-crawler`` with these arguments."""
    return CliRunner().invoke(main, list(map(str, arguments)), input=stdin, env=env)


def told(result: Result) -> str:
    """Return the one line on stderr of a command that failed."""
    assert result.exit_code == 1, result.output
    assert "Traceback" not in result.output
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    return str(lines[0])
