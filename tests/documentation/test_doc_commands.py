"""Every command of the documentation is run, and prints the shown output."""

from __future__ import annotations

import doctest
import re
import shutil
import socket
from pathlib import Path

import pytest

from doc_blocks import PAGES, ROOT, blocks, commands, is_as_shown, run_session, without_blocks

README, TUTORIAL = ROOT / "README.md", ROOT / "docs" / "tutorial.md"
OTHERS = [page for page in PAGES if page not in (README, TUTORIAL) and list(commands(page))]
PROGRAMS = ("dedup-crawler", "scrapy", "make", "pip", "python", "python3", "git", r"\$", "mkdocs")
LOG = '127.0.0.1 - - [21/Nov/2026:10:00:00 +0000] "GET /a?x={} HTTP/1.1" 200 512 "http://forum.example/" "-"\n'


@pytest.fixture(scope="module")
def port() -> int:
    """A free port; the documentation says 8000."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def clone(folder: Path) -> Path:
    """Return a folder with the parts of a clone that the commands need."""
    folder.mkdir(parents=True)
    for name in ("examples", "spiders", "scrapy.cfg", "benchmarks"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def differences(page: Path, folder: Path, port: int) -> list[str]:
    """Return the commands of a page whose output differs from the page, with both outputs."""
    listed = list(commands(page))
    printed = run_session(listed, folder, port)
    return [
        f"$ {command.line}\nshown:\n{command.output}printed:\n{text}"
        for command, text in zip(listed, printed, strict=True)
        if command.output is not None and not is_as_shown(command.output, text)
    ]


@pytest.fixture(scope="module")
def after_readme(tmp_path_factory: pytest.TempPathFactory, port: int) -> tuple[Path, list[str]]:
    """Return the folder in which the commands of the README ran, and the differences in output."""
    folder = clone(tmp_path_factory.mktemp("readme") / "clone")
    return folder, differences(README, folder, port)


def test_the_readme_prints_what_it_shows(after_readme: tuple[Path, list[str]]) -> None:
    """The commands of the README print what it shows."""
    assert after_readme[1] == []


def test_the_tutorial_prints_what_it_shows(tmp_path: Path, port: int) -> None:
    """The commands of the guide run from an empty folder: serve, crawl, label, train, crawl on."""
    assert differences(TUTORIAL, clone(tmp_path / "clone"), port) == []


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.name)
def test_pages_print_what_they_show(
    page: Path, after_readme: tuple[Path, list[str]], tmp_path: Path, port: int
) -> None:
    """The other pages start where the README ends: with its crawl.db and its models/forum."""
    folder = clone(tmp_path / "clone")
    shutil.copy(after_readme[0] / "crawl.db", folder)
    shutil.copytree(after_readme[0] / "models", folder / "models")
    (folder / "access.log").write_text("".join(LOG.format(n) for n in range(20)))
    pairs = [f"https://a.example/t{n},https://a.example/t{n + s}?x={s},{1 - s}\n" for n in range(30) for s in (0, 1)]
    (folder / "pairs.csv").write_text("url1,url2,score\n" + "".join(pairs))

    assert differences(page, folder, port) == []


def test_python_in_the_documentation_is_true(
    after_readme: tuple[Path, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python sessions print what they show; other Python blocks run."""
    monkeypatch.chdir(after_readme[0])
    n_sessions = 0
    for page in PAGES:
        known: dict[str, object] = {}
        for block in blocks(page):
            if block.language == "pycon":
                n_sessions += 1
                test = doctest.DocTestParser().get_doctest(block.text, known, page.name, page.name, 0)
                assert test.examples
                runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
                assert runner.run(test, clear_globs=False).failed == 0
                known = test.globs
            elif block.language == "python":
                exec(compile(block.text, page.name, "exec"), {})
    assert n_sessions > 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_command_hides_from_the_tests(page: Path) -> None:
    """
    The language of a block tells whether it is run; a separate session has commands only; and no command is in an
    indented block, except for the README's list of commands, and the page of the formats, which has its own test
    (test_formats_page.py).
    """
    for block in blocks(page):
        assert block.language in ("sh", "console", "python", "pycon", "text", "ini", "json"), block
        assert block.language == "sh" or not block.is_alone, block
    indented = re.findall(rf"^    ((?:{'|'.join(PROGRAMS)}) .*)$", without_blocks(page.read_text()), re.MULTILINE)
    listed = [line for line in indented if page == README and re.match(r"dedup-crawler [a-z-]+ .* {4}", f"{line}    ")]

    assert [line for line in indented if line not in listed] == [] or page.name == "formats.md"
