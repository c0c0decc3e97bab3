"""The habits of a command line: terminals and pipes, colours, words, suggestions, statuses, completion."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from command_line import run
from dedup_crawler.methods import METHODS
from planted_site import HOST, session_ids
from recordings import SITE, pages_of
from terminal import COLOURS, ESCAPES, on_terminal, plain
from tests.support import fork_server

CRAWL = session_ids()


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recording, an imported and labelled crawl, and a model."""
    folder = tmp_path_factory.mktemp("work")
    lines = []
    for url, cluster in zip(CRAWL.urls, CRAWL.clusters, strict=True):
        words = " ".join(f"word{cluster}x{i}" for i in range(40))
        lines.append({"url": url, "content": f"<html><title>Page {cluster}</title><p>{words}.</p>"})
    (folder / "pages.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (folder / "site.warc").write_bytes(b"".join(pages_of(5)))
    database = ("--db", folder / "crawl.db")
    for command in (("import", folder / "pages.jsonl"), ("label",), ("train", "verified", "--model", folder / "model")):
        done = run(*command, *database)
        assert done.exit_code == 0, done.output
    return folder


EVALUATE = ("evaluate", "--db", "crawl.db", "--method", "keep-all", "--method", "verified")


def test_tables_are_boxes_on_a_terminal_and_markdown_in_a_pipe(work: Path) -> None:
    """
    The same cells in both; in a pipe no escape sequence and no trailing blanks; on a narrow
    terminal no cell is cut.
    """
    seen = on_terminal(EVALUATE, work, {"COLUMNS": "60"})
    command = [*fork_server.command("dedup_crawler"), *EVALUATE]
    piped = subprocess.run(command, cwd=work, capture_output=True, text=True, check=True)
    (row,) = [line for line in piped.stdout.splitlines() if line.startswith("| verified")]
    (shown,) = [line for line in plain(seen).splitlines() if line.strip().startswith("verified") and "%" in line]

    assert piped.stderr == ""
    assert not ESCAPES.search(piped.stdout)
    assert not [line for line in piped.stdout.splitlines() if line != line.rstrip()]
    assert "| verified" not in plain(seen)
    assert "\u2026" not in seen
    # except for the times, which vary
    assert [cell.strip() for cell in row.strip("|").split("|")][:-2] == shown.split()[:-2]


def test_progress_is_for_terminals(work: Path, tmp_path: Path) -> None:
    """A bar that disappears on a terminal, nothing in a pipe, lines in a pipe with --verbose."""
    command = ("import", work / "pages.jsonl", "--db", tmp_path / "a.db")
    assert "import: pages.jsonl" in plain(on_terminal(command, tmp_path))
    assert run("import", work / "pages.jsonl", "--db", tmp_path / "b.db").stderr == ""
    told = run("-v", "import", work / "pages.jsonl", "--db", tmp_path / "c.db").stderr
    assert "import: pages.jsonl" in told
    assert "import: 0." in told.splitlines()[-1]


@pytest.mark.parametrize(
    ("flags", "environment", "has_colours"),
    [((), {}, True), (("--no-color",), {}, False), ((), {"NO_COLOR": "1"}, False), ((), {"NO_COLOR": ""}, True)],
)
def test_colours_are_off_when_asked(
    work: Path, tmp_path: Path, flags: tuple[str, ...], environment: dict[str, str], has_colours: bool
) -> None:
    """By --no-color and by NO_COLOR, in errors, warnings and progress; an empty NO_COLOR has no effect."""
    wrong = on_terminal([*flags, "label", "--db", "nowhere.db"], tmp_path, environment)
    bar = on_terminal([*flags, "import", work / "pages.jsonl", "--db", tmp_path / "crawl.db"], tmp_path, environment)

    assert "there is no crawl database" in plain(wrong)
    assert "240 new pages" in plain(bar)
    assert [bool(COLOURS.search(text)) for text in (wrong, bar)] == [has_colours, has_colours]


def test_quiet_leaves_results_and_errors(tmp_path: Path) -> None:
    """No warnings and no progress; results and errors are printed."""
    (tmp_path / "site.warc").write_bytes(b"".join(pages_of(2)) + b"WARC/1.0\r\nrubbish\r\n\r\n")
    loud = run("import", tmp_path / "site.warc", "--db", tmp_path / "a.db")
    quiet = run("--quiet", "import", tmp_path / "site.warc", "--db", tmp_path / "b.db")
    failed = run("-q", "label", "--db", tmp_path / "none.db")

    assert loud.stderr.startswith("warning: ")
    assert quiet.stderr == ""
    assert quiet.stdout.replace("b.db", "a.db") == loud.stdout
    assert failed.exit_code == 1
    assert "there is no crawl database" in failed.stderr


def test_verbose_twice_shows_where_an_error_comes_from(tmp_path: Path) -> None:
    """The traceback is for -vv; otherwise one line."""
    command = ("label", "--db", tmp_path / "none.db")

    assert "Traceback" not in run("-v", *command).stderr
    told = run("-vv", *command).stderr
    assert "Traceback" in told
    assert "dedup-crawler: there is no crawl database" in told
    assert run("-q", "-v", *command).exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "meant", "status"),
    [
        (("lable",), "Did you mean 'label'?", 2),
        (("train", "verfied"), "Did you mean 'verified'?", 2),
        (("label", "--thruth", "x"), "--truth", 2),
        (("label", "--nonsense"), "--nonsense", 2),
        (("label", "--quiet"), "--quiet stands before the command: ", 2),
        (("evaluate", "--method", "seq2sec"), "Did you mean 'seq2seq'?", 1),
        (("evaluate", "--method", "seq2seq:hiden=1"), "Did you mean 'hidden'?", 1),
        (("train", "verified", "--risk", "eagre"), "Did you mean 'eager'?", 1),
        (("train", "siamese", "--preset", "papers"), "Did you mean 'paper'?", 1),
        (("label", "--labeller", "simhsh"), "Did you mean 'simhash'?", 1),
        (("demo", "--method", "verfied"), "Did you mean 'verified'?", 1),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_errors_suggest_the_nearest_name(work: Path, arguments: tuple[str, ...], meant: str, status: int) -> None:
    """For a command, a method, an option, a value; once each."""
    needs_database = arguments[0] != "demo" and status == 1
    told = run(*arguments, *(("--db", work / "crawl.db") if needs_database else ()))

    assert told.exit_code == status
    assert told.stderr.count("Did you mean") <= 1
    assert meant in " ".join(told.stderr.split())


def test_results_for_programs_are_json(work: Path) -> None:
    """A model answers with a line of JSON for each URL, with its reason."""
    url = f"{HOST}/topic.php?t=107&sid=a1a1a1a1a1a1a1a1"
    lines = run("canonicalize", "--model", work / "model", url, url, "--json").stdout.splitlines()

    assert len(lines) == 2
    found = json.loads(lines[0])
    assert (found["url"], found["form"]) == (url, f"{HOST}/topic.php?t=107")
    assert "drop `sid` anywhere" in found["reason"]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_serve_ends_in_order(work: Path, tmp_path: Path, how: signal.Signals) -> None:
    """
    Ctrl-C and `kill` end it normally: status 0, no message but the place that could not be read, and its temporary
    folder is removed.
    """
    recording = tmp_path / "cut.warc"
    recording.write_bytes((work / "site.warc").read_bytes() + b"WARC/1.0\r\nWARC-Type: resp")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    command = [*fork_server.command("dedup_crawler"), "serve", str(recording), "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    line = process.stdout.readline()
    address = line.split(" at ")[1].split()[0]
    with urllib.request.urlopen(f"{address}topic/3") as answer:
        assert answer.read() == b"<p>page</p>3"
    process.send_signal(how)
    time.sleep(0.02)
    process.send_signal(how)  # twice, as users do
    _, errors = process.communicate(timeout=600)

    assert line.startswith(f"5 URLs of {SITE} at http://127.0.0.1:")
    assert process.returncode == 0
    assert re.fullmatch(rf"warning: {re.escape(str(recording))}, offset \d+: .*\n", errors)
    assert list(temporary.iterdir()) == []


def test_ctrl_c_is_one_line_and_status_130(work: Path) -> None:
    """In a command that waits for input; earlier input is answered."""
    command = [sys.executable, "-m", "dedup_crawler", "canonicalize", "--model", str(work / "model")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, **pipes)
    process.stdin.write(f"{HOST}/topic.php?t=1&sid=a1a1a1a1\n")
    process.stdin.flush()
    answer = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)

    assert answer == f"{HOST}/topic.php?t=1\n"
    assert process.returncode == 130
    assert errors == "dedup-crawler: interrupted; what was finished is kept, run the command again to go on.\n"


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.2, 0.4])
def test_ctrl_c_while_it_is_being_loaded_is_no_traceback(work: Path, seconds: float) -> None:
    """At any moment after the start of Python."""
    code = "from dedup_crawler.__main__ import run; print('up', flush=True); run()"
    command = [sys.executable, "-c", code, "canonicalize", "--model", str(work / "model")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, **pipes)
    process.stdout.readline()
    time.sleep(0.05 + seconds)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)

    assert process.returncode == 130
    assert "Traceback" not in errors


COMPLETE = """
PATH={folder}:$PATH
eval "$(_DEDUP_CRAWLER_COMPLETE=bash_source dedup-crawler)"
COMP_WORDS=({words}) COMP_CWORD={index}
_dedup_crawler_completion dedup-crawler
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completions(folder: Path, *words: str) -> list[str]:
    """Return the completions that bash offers for the last of these words."""
    command = folder / "dedup-crawler"
    command.write_text(fork_server.script("dedup_crawler"))
    command.chmod(0o755)
    quoted = " ".join(f"'{word}'" for word in ("dedup-crawler", *words))
    script = COMPLETE.format(folder=folder, words=quoted, index=len(words))
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_methods_and_options(tmp_path: Path) -> None:
    """In a real bash, with the line for ~/.bashrc from the documentation."""
    assert completions(tmp_path, "la") == ["label"]
    assert set(completions(tmp_path, "train", "")) == set(METHODS)
    assert completions(tmp_path, "label", "--tr") == ["--truth"]
    assert completions(tmp_path, "evaluate", "--method", "pat") == ["pattern-tree"]
