"""DEDUP_COLLECT in real crawls: pages of any spider are stored as by our own spider."""

from __future__ import annotations

import os
from pathlib import Path

from dedup_crawler.pages.store import PageStore
from live_site import Answer, Site, walk


def test_pages_of_a_strangers_spider_are_stored(tmp_path: Path):
    """
    Redirects, which Scrapy follows before the spider sees them, errors, retried pages and files are all stored, each
    with its referrer even if the site's policy keeps it out of the headers; robots.txt and media are not pages.
    """
    with Site() as site:
        site.robots()
        site.page("/", "/old", "/gone", html='<a class="media" href="/image"></a>')
        site.page("/list", "/deep", "/shaky", html='<a class="copy" href="/copied"></a>')
        site.page("/copied")
        site.answers["/list"].headers["Referrer-Policy"] = "no-referrer"
        site.page("/deep")
        site.page("/image")
        site.answers["/shaky"] = [Answer(500), Answer(200, body=b"<html>now</html>")]
        site.redirect("/old", "/older", status=301)
        site.redirect("/older", "/list")
        site.page("/gone", status=410)
        walk(site, tmp_path, DEDUP_COLLECT=tmp_path / "pages.db")
    with PageStore(tmp_path / "pages.db", create=False) as store:
        pages = {page.url.removeprefix(site.url): page for page in store.pages()}
    home = f"{site.url}/"
    assert {path: page.status for path, page in pages.items()} == {
        "/": 200,
        "/list": 200,
        "/old": 301,
        "/older": 302,
        "/gone": 410,
        "/deep": 200,
        "/copied": 200,
        "/shaky": 200,
    }
    assert pages["/old"].redirect_to == f"{site.url}/older"
    assert pages["/older"].redirect_to == f"{site.url}/list"
    assert pages["/older"].referrer == home
    assert pages["/deep"].referrer == pages["/copied"].referrer == f"{site.url}/list"
    assert pages["/shaky"].content == b"<html>now</html>"


def test_a_disk_that_is_full_is_said_once_and_the_crawl_goes_on(tmp_path: Path):
    """The crawl finishes, without storing its pages."""
    with Site() as site:
        site.robots()
        site.page("/", *(f"/{n}" for n in range(120)))
        for n in range(120):
            site.page(f"/{n}", html=os.urandom(3000).hex())
        crawl = walk(
            site, tmp_path, prefix=["bash", "-c", 'ulimit -f 120; exec "$@"', "bash"], DEDUP_COLLECT="pages.db"
        )
    assert crawl.status == 0
    assert len(crawl.seen) == 121
    assert crawl.log.count("its pages are not stored") == 1
    assert "Traceback" not in crawl.log
    with PageStore(tmp_path / "pages.db", create=False) as store:
        assert len(store) < 121


def test_a_database_of_another_program_stops_the_crawl_at_its_start(tmp_path: Path):
    """One ERROR line, exit status 1, and not one request."""
    (tmp_path / "pages.db").write_text("a shopping list")
    with Site() as site:
        crawl = walk(site, tmp_path, DEDUP_COLLECT="pages.db")
        assert site.asked == []
    assert crawl.status == 1
    assert len(crawl.lines("ERROR")) == 1
    assert (tmp_path / "pages.db").read_text() == "a shopping list"
