"""The page about formats is tested: its commands run on exports of a planted forum, and print the shown output."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from click.testing import CliRunner

from crawl_exports import frog_csv, frog_rows, html, scrapy_feed
from dedup_crawler.cli import main
from dedup_crawler.pages.imports import Kind
from planted_site import HOST, session_ids
from repository import ROOT

PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE)
SESSIONS = [
    (command, shown)
    for block in BLOCKS
    for command, shown in re.findall(r"^    \$ (.*)\n((?:    (?!\$ ).*\n)*)", block, re.MULTILINE)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files with the names on the page."""
    folder = tmp_path_factory.mktemp("formats")
    crawl = session_ids()
    items = [
        {"link": url, "page_html": html(cluster), "price": 5}
        for url, cluster in zip(crawl.urls, crawl.clusters, strict=True)
    ]
    (folder / "items.csv").write_bytes(scrapy_feed("csv", items))
    (folder / "internal_all.csv").write_bytes(frog_csv(frog_rows(crawl)))
    log = '10.0.0.1 - - [12/Dec/2015:18:25:11 +0100] "GET {} HTTP/1.1" 200 4263\n'
    (folder / "access.log").write_text("".join(log.format(url.removeprefix(HOST)) for url in crawl.urls))
    providers = {"globalRules": {"urlPattern": ".*", "rules": ["(?:%3F)?utm(?:_[a-z_]*)?", "fbclid"]}}
    (folder / "data.min.json").write_text(json.dumps({"providers": providers}))
    return folder


def test_the_page_shows_what_its_commands_print(folder, monkeypatch):
    """Every `$ dedup-crawler` of the page, in order: its output is the shown one, except for `...`."""
    monkeypatch.chdir(folder)
    assert len(SESSIONS) >= 11
    for command, shown in SESSIONS:
        program, *arguments = shlex.split(command)
        done = CliRunner().invoke(main, arguments)
        lines = [line.removeprefix("    ").rstrip() for line in shown.splitlines()]
        printed = [line.rstrip() for line in done.output.splitlines()]

        assert program == "dedup-crawler"
        assert done.exit_code == 0, (command, done.output)
        whole = [line for line in lines if not line.endswith("...")]
        assert [line for line in printed if line in whole] == whole, (command, printed)
        if len(whole) == len(lines):
            assert printed == lines, command
        for line in set(lines) - set(whole):
            assert any(each.startswith(line.removesuffix("...")) for each in printed), (command, line, printed)


def test_the_page_names_every_kind_of_file():
    """Each kind that can be imported has its row."""
    rows = re.findall(r"^\| ([^|]*?) +\|", PAGE, re.MULTILINE)

    for kind in Kind:
        assert any(kind.value.partition(" (")[0].removeprefix("a ").removeprefix("an ") in row for row in rows), kind
