"""The documentation as a site: it is built without a warning, and all its links lead somewhere."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from doc_blocks import ROOT


def build(source: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site in another folder, as `make docs` does."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)]
    return subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    """All links lead to a page and its heading, or to a file; also links into the repository."""
    anchors: dict[Path, set[str]] = {}
    n_links = 0
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        anchors[page] = set(re.findall(r'\bid="([^"]+)"', text))
    for page in anchors:
        if page.name == "404.html":  # is shown for any URL: its links begin at the root
            continue
        for link in re.findall(r'<a [^>]*href="([^"]+)"', page.read_text(encoding="utf-8")):
            if re.match(r"[a-z]+:", link):
                continue
            n_links += 1
            path, anchor = urldefrag(unquote(link))
            target = (page.parent / path).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{page.relative_to(site)}: {link}"
            assert not anchor or anchor in anchors[target], f"{page.relative_to(site)}: {link}"

    assert n_links > 100
    assert (site / "repository" / "benchmarks" / "results" / "evaluate" / "index.html") in anchors


def test_every_page_is_in_the_site(site: Path) -> None:
    """Every page is in the navigation, which is on every page; the programs that build the site are not in it."""
    home = (site / "index.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        place = "" if page.stem == "index" else f"{page.stem}/"
        assert f'href="{place or "."}"' in home, page.name
    assert list(site.glob("*.py")) == []


def test_broken_links_are_errors(tmp_path: Path) -> None:
    """A broken link in a page, to the repository, or to a heading fails the build, in a copy of its sources."""
    folder = tmp_path / "clone"
    ignored = shutil.ignore_patterns("__pycache__", "*.zst", "*.gz", "*.jsonl")
    for name in ("docs", "models", "spiders", "dedup_crawler", "examples", "benchmarks"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in ("mkdocs.yml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, folder)
    links = ("nowhere.md", "../benchmarks/results/nowhere.md", "labels.md#nowhere")
    with (folder / "docs" / "python.md").open("a", encoding="utf-8") as page:
        page.writelines(f"\n[gone]({link})\n" for link in (*links, "index.md"))
    done = build(folder, tmp_path / "site")

    assert done.returncode == 1
    warnings = [line for line in done.stderr.splitlines() if "WARNING" in line]
    assert [sum(f"link '{link}'" in line for line in warnings) for link in links] == [1, 1, 1], done.stderr
    assert len(warnings) == len(links)
