"""Pages of which most URLs fail: as long as one may answer, it is fetched."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from faulty_site import text
from killing import stop_after
from live_site import Answer, Site, strip_query_model, walk, walk_filtered

N_PAGES = 40


def urls(n: int, n_urls: int) -> list[str]:
    return [f"/page{n}?v={v}" for v in range(n_urls)]


def build(site: Site, n_pages: int, n_urls: int, failing: Answer) -> None:
    """Pages with many URLs, of which only the last answers well; all are linked from the start page."""
    site.robots()
    site.page("/", *(url for n in range(n_pages) for url in urls(n, n_urls)), html=text("start"))
    for n in range(n_pages):
        *bad, good = urls(n, n_urls)
        for url in bad:
            site.answers[url] = failing
        site.page(good, html=text(n))


def missing(site: Site, n_pages: int, n_urls: int) -> list[str]:
    """Return pages whose good URL was never requested."""
    asked = set(site.asked)
    return [good for n in range(n_pages) if (good := urls(n, n_urls)[-1]) not in asked]


@pytest.mark.parametrize("kept", ["memory", "a.seen"])
def test_every_alternative_of_a_page_is_asked(tmp_path: Path, kept: str):
    """Nine of ten URLs of each page fail."""
    with Site() as site:
        build(site, 12, 10, Answer(410))
        seen = kept if kept == "memory" else tmp_path / kept
        crawl = walk_filtered(site, tmp_path, DEDUP_SEEN=seen)
        assert missing(site, 12, 10) == []
    assert crawl.stats["dedup/request/released"] == 12 * 9


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_all_alternatives_survive_a_stop(tmp_path: Path, how: signal.Signals):
    """Two of three URLs give 500. The crawl is stopped after the first ones, and resumed."""
    settings = {"DEDUP_MODEL": tmp_path / "model", "JOBDIR": tmp_path / "job", "RETRY_ENABLED": "False"}
    with Site() as site:
        strip_query_model(tmp_path / "model", site.host)
        build(site, N_PAGES, 3, Answer(500, delay_s=0.02))
        stop_after(site, tmp_path, N_PAGES // 2, how, CONCURRENT_REQUESTS=2, **settings)
        assert missing(site, N_PAGES, 3)
        # the links are not found again
        site.page("/")
        walk(site, tmp_path, **settings)
        assert missing(site, N_PAGES, 3) == []


def test_an_empty_page_stands_for_nothing(tmp_path: Path):
    """An empty answer with status 200 is no page: the other URL is fetched."""
    with Site() as site:
        build(site, 12, 2, Answer(200, body=b"<html><head></head><body><!-- cached --></body></html>"))
        crawl = walk_filtered(site, tmp_path)
        assert missing(site, 12, 2) == []
    assert crawl.stats["dedup/request/released"] == 12


def test_a_page_that_is_empty_under_each_of_its_urls_is_asked_for_once_under_each(tmp_path: Path):
    """A loop of redirects ends."""
    with Site() as site:
        build(site, 5, 3, Answer(200))
        for n in range(5):
            site.answers[urls(n, 3)[-1]] = Answer(200)
        walk_filtered(site, tmp_path)
        assert {site.count(url) for n in range(5) for url in urls(n, 3)} == {1}
