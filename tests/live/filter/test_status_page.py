"""``DEDUP_STATUS``: the state of a crawl as a page, during and after the crawl."""

from __future__ import annotations

from pathlib import Path

import pytest

from chromium import opened
from dedup_crawler.live.exploration.rule_life import RuleState
from dedup_crawler.live.summary import html
from faulty_site import text as words
from live_site import Site, walk_filtered

N_PAGES = 40
SCRIPT = "<script>window.hit=1</script>"


@pytest.fixture(scope="module")
def shown(tmp_path_factory) -> tuple[Path, dict[str, object]]:
    """The page of a finished crawl, and the stats of that crawl."""
    folder = tmp_path_factory.mktemp("crawl")
    with Site() as site:
        site.robots()
        site.page("/", *(f"/page{n}{end}" for n in range(N_PAGES) for end in ("", "?print=1")))
        for n in range(N_PAGES):
            for end in ("", "?print=1"):
                site.page(f"/page{n}{end}")
                site.answers[f"/page{n}{end}"].body = f"<title>{n}</title><body>{words(f'page {n}')}</body>".encode()
        crawl = walk_filtered(site, folder, DEDUP_STATUS=folder / "status.html", DEDUP_EXPLORATION="0.1")
    assert crawl.status == 0, crawl.log
    return folder / "status.html", crawl.stats


def test_it_says_what_the_stats_say(shown):
    """The numbers of the summary, the sentence and tests of each rule, the reason of the end; no more refreshing."""
    path, stats = shown
    text = path.read_text(encoding="utf-8")
    assert "It ended (finished)" in text
    assert 'http-equiv="refresh"' not in text
    assert f"<dd>{stats['dedup/request/dropped']}<small>" in text
    assert stats["dedup/explored/agree"] > 0
    assert f"<b>{stats['dedup/explored/agree']}</b> tested, <b>0</b> wrong: verified<br>strip-query" in text
    assert sorted(each.name for each in path.parent.glob("status*")) == ["status.html"]


@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_a_phone_and_a_desk(browser, shown, width):
    """Nothing is wider than the window, nothing is loaded from elsewhere, no complaint in the console."""
    path, _ = shown
    with opened(browser, path, width=width) as window:
        assert window.page.locator("h1").is_visible()
        assert window.page.evaluate("document.scrollingElement.scrollWidth") <= width
        assert window.requests == [path.as_uri()]
        assert window.complaints == []


def test_a_running_crawl_refreshes_its_page_and_no_word_of_a_site_runs():
    """Untrusted text stays text; the browser reloads by itself."""
    state = RuleState("ab12", "being tested", 7, 2, 1)
    text = html(SCRIPT, [(SCRIPT, SCRIPT, SCRIPT)], [(state, f"drop `{SCRIPT}`")], None)
    assert 'http-equiv="refresh"' in text
    assert "<script" not in text
    assert "It is running" in text
    assert "being tested" in text


def test_a_place_that_cannot_be_written_is_said_at_the_start(tmp_path: Path):
    """One line with the value; the crawl does not start."""
    with Site() as site:
        site.robots()
        site.page("/")
        crawl = walk_filtered(site, tmp_path, DEDUP_STATUS=tmp_path / "none" / "status.html")
        assert site.asked == []
    [line] = [line for line in crawl.lines("ERROR") if "DEDUP_STATUS" in line]
    assert "cannot be written: No such file or directory" in line
