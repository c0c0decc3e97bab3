"""Releases: one version everywhere, a changelog that begins with it, and a wheel with only the plugin."""

from __future__ import annotations

import email
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import dedup_crawler
from built_wheel import ROOT
from dedup_crawler import settings

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
VERSION = dedup_crawler.__version__


@pytest.fixture
def opened(wheel: Path) -> Iterator[zipfile.ZipFile]:
    """The opened wheel."""
    with zipfile.ZipFile(wheel) as archive:
        yield archive


def test_the_changelog_begins_with_this_version() -> None:
    """The first heading is the version, with its day or `unreleased`; versions descend, each once."""
    headings = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    named = [re.fullmatch(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d|unreleased)", heading) for heading in headings]

    assert all(named), headings
    assert named[0][1] == VERSION
    assert [each[2] for each in named[1:]].count("unreleased") == 0
    numbers = [tuple(map(int, each[1].split("."))) for each in named]
    assert numbers == sorted(set(numbers), reverse=True)


def test_there_is_one_version(opened: zipfile.ZipFile) -> None:
    """In the package, the wheel and the user agent of crawls."""
    (name,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]
    metadata = email.message_from_bytes(opened.read(name))

    assert metadata["Version"] == VERSION
    assert f"dedup_crawler-{VERSION}" in str(opened.filename)
    assert f"dedup_crawler/{VERSION}" == settings.USER_AGENT


def test_the_wheel_holds_the_plugin_alone(opened: zipfile.ZipFile) -> None:
    """Every module of the package, the marker of its types and the licence; no spiders, models, tests or examples."""
    names = {name for name in opened.namelist() if ".dist-info/" not in name}
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "dedup_crawler").rglob("*.py")}

    assert "dedup_crawler/py.typed" in names
    assert names >= modules
    assert {name.partition("/")[0] for name in names} == {"dedup_crawler"}
    assert [name for name in opened.namelist() if name.endswith("licenses/LICENSE")]


def test_the_wheel_says_what_a_user_sees(opened: zipfile.ZipFile) -> None:
    """The command, and the README as its description."""
    (points,) = [name for name in opened.namelist() if name.endswith("entry_points.txt")]
    (name,) = [name for name in opened.namelist() if name.endswith(".dist-info/METADATA")]

    assert b"dedup-crawler = dedup_crawler.__main__:run" in opened.read(points)
    assert (ROOT / "README.md").read_text(encoding="utf-8").strip() in opened.read(name).decode()


def test_everything_that_is_pinned_is_needed_and_the_other_way_round() -> None:
    """Each requirement of the package and its extras has one tested version in constraints.txt for every Python."""
    pinned = {
        re.split(r"[=\[]", line)[0].lower().replace("_", "-")
        for line in Path(ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    }
    source = (ROOT / "setup.py").read_text(encoding="utf-8")
    needed = {name.lower().replace("_", "-") for name in re.findall(r'"([A-Za-z_-]+)>=', source)}

    assert needed <= pinned, needed - pinned
