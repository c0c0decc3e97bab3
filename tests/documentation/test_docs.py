"""The documentation is tested: its names exist, and its numbers are those of the committed results."""

import doctest
import importlib
import itertools
import pkgutil
import re
import sys

import pytest

import dedup_crawler
from dedup_crawler.cli import main
from dedup_crawler.methods import METHODS
from doc_blocks import PAGES, without_blocks
from repository import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = "".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "benchmarks" / "results").glob("*.md")))
MODULES = [
    module.name
    for module in pkgutil.walk_packages(dedup_crawler.__path__, "dedup_crawler.")
    if not module.name.endswith("__main__")
]


def test_the_readme_names_every_command_and_no_other():
    """Each command has its line in the README."""
    assert set(re.findall(r"^    dedup-crawler ([a-z-]+) ", README, re.MULTILINE)) == set(main.commands)


def test_every_method_is_described():
    """Each registered method has its row in the page about methods."""
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")

    assert set(re.findall(r"^\| `([a-z0-9-]+)` \|", text, re.MULTILINE)) >= set(METHODS)


@pytest.mark.parametrize("page", ["settings.md", "commands.md"])
def test_what_is_written_out_of_the_code_is_what_the_code_says(page, monkeypatch):
    """Settings, stats, meta keys and commands: the tables are the output of `make reference`."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    reference = importlib.import_module("reference")
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    sys.modules.pop("reference")

    assert reference.rewritten(text) == text
    assert text.count("written by make reference") == {"settings.md": 4, "commands.md": 1}[page]


def test_every_file_of_the_guided_tour_exists():
    """Each walk of CONTRIBUTING.md names at most twelve files, and its table names existing folders."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tour = text.partition("## A guided tour")[2].partition("\n## ")[0]
    walks = [re.findall(r"`([\w/]+\.py)`", walk) for walk in tour.split("\n### ")[1:]]
    folders = [name for row in re.findall(r"^\| `.*", text, re.MULTILINE) for name in re.findall(r"`([\w/]+/)`", row)]

    assert len(walks) == 3
    assert all(0 < len(walk) <= 12 for walk in walks)
    assert len(folders) > 20
    for name in [*itertools.chain(*walks), *folders]:
        assert (ROOT / "dedup_crawler" / name).exists(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    """Every relative link of a page leads to a file or folder of the repository."""
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_quoted_rows_come_from_the_results(page):
    """A table row with numbers is in benchmarks/results, word for word, if its command is quoted.

    Output of commands in code blocks is compared by running them.
    """
    rows = re.findall(r"^\| .*\|$", without_blocks(page.read_text(encoding="utf-8")), re.MULTILINE)
    measured = [row for row in rows if len(re.findall(r"\|\s+[\d.]+%?\s", row)) > 0]

    assert [row for row in measured if row not in RESULTS] == []


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_are_true(module):
    """Every doctest passes; those of the modules that need Spark where that is installed."""
    if module.startswith("dedup_crawler.spark."):
        pytest.importorskip("pyspark")
    assert doctest.testmod(importlib.import_module(module)).failed == 0
