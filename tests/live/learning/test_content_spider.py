"""Our spider in real crawls over real HTTP: its stored pages, its limits, resuming, and messages."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sqlite3
import time
from pathlib import Path

import pytest

from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from live_site import (
    QUICK,
    REPOSITORY,
    Answer,
    Crawl,
    Site,
    command,
    crawl_content,
    needs_bare_asyncio,
    run,
    start,
    strip_query_model,
)


def stored(db: Path) -> dict[str, Page]:
    """Return the pages of a database by URL without host."""
    with PageStore(db, create=False) as store:
        return {page.url.partition("://")[2].partition("/")[2]: page for page in store.pages()}


def ring(site: Site, n_pages: int) -> None:
    """A site of *n_pages* where each page links to the next ones."""
    site.robots()
    site.page("/", *(f"/{n}" for n in range(1, 4)))
    for n in range(1, n_pages):
        site.page(f"/{n}", "/", *(f"/{m}" for m in range(n + 1, min(n + 4, n_pages))))


def test_every_response_is_stored_as_it_came(tmp_path: Path):
    """
    Pages, errors, files and redirects are stored under the requested URL, with referrer, status and target; forbidden
    URLs (robots.txt) and other hosts are not requested; odd URLs do not stop the crawl.
    """
    odd = ["/a b", "/x[1]?y={z}", "/caf\u00e9", "/nul%00x", "/long?" + "x" * 1500, "/huge?" + "x" * 10_000]
    strange = ["http://[broken", "http://b\u00fccher.example/", "mailto:me", "javascript:x()", "http://other.example/"]
    with Site() as site:
        site.robots("/secret")
        site.page("/", "/list#top", "/old", "/gone", "/file.pdf", "/secret", *odd, *strange)
        site.page("/list", "/", "/?sort=b&sort=a", "/late")
        site.answers["/list"].headers["Referrer-Policy"] = "no-referrer"
        site.redirect("/old", "/new#part", status=301)
        site.page("/new", html="\0<a href='/after-nul'>x</a>\0")
        site.page("/after-nul")
        site.page("/?sort=b&sort=a")
        site.redirect("/late", "/old")
        site.answers["/file.pdf"] = Answer(200, {"Content-Type": "application/pdf"}, b"%PDF-1.4 \x00\xff")
        site.page("/gone", status=404, html="sorry")
        crawl = crawl_content(f"{site.url}/", tmp_path / "crawl.db")
    assert crawl.status == 0, crawl.log
    assert "Traceback" not in crawl.log
    assert crawl.lines("WARNING") == []
    pages = stored(tmp_path / "crawl.db")
    home = f"{site.url}/"
    assert pages[""].referrer is None
    assert (pages["list"].status, pages["list"].referrer) == (200, home)
    assert pages["list"].content_type == "text/html; charset=utf-8"
    assert pages["?sort=b&sort=a"].referrer == f"{site.url}/list"
    assert (pages["old"].status, pages["old"].redirect_to) == (301, f"{site.url}/new")
    assert (pages["new"].status, pages["new"].referrer) == (200, home)
    assert (pages["late"].status, pages["late"].referrer) == (302, f"{site.url}/list")
    assert (pages["gone"].status, pages["file.pdf"].content) == (404, b"%PDF-1.4 \x00\xff")
    assert b"sorry" in pages["gone"].content
    assert {"a%20b", "caf%C3%A9", "after-nul"} <= set(pages)
    assert "/secret" not in site.asked
    assert len(pages) == len({path for path in site.asked if path != "/robots.txt"})


@pytest.mark.parametrize("with_jobdir", [False, True], ids=["memory", "jobdir"])
def test_stops_at_the_number_of_pages_and_goes_on_from_there(tmp_path: Path, with_jobdir: bool):
    """
    Exactly the requested number of pages is stored; started again with more, the crawl fetches the missing pages and
    no stored page, not even the start page.
    """
    db = tmp_path / "crawl.db"
    settings = {"JOBDIR": tmp_path / "job"} if with_jobdir else {}
    with Site() as site:
        ring(site, 30)
        first = crawl_content(f"{site.url}/", db, "-a", "pages=12", **settings)
        assert (first.status, len(stored(db))) == (0, 12)
        known = set(stored(db))
        site.asked.clear()
        crawl_content(f"{site.url}/", db, "-a", "pages=20", **settings)
        assert len(stored(db)) == 20
        assert not known & {path.removeprefix("/") for path in site.asked}
        crawl_content(f"{site.url}/", db, **settings)
        assert len(stored(db)) == 30
        site.asked.clear()
        again = crawl_content(f"{site.url}/", db, **settings)
    assert again.status == 0
    assert set(site.asked) <= {"/robots.txt"}


@pytest.mark.parametrize("signals", [[signal.SIGKILL], [signal.SIGINT, signal.SIGINT]], ids=["kill -9", "Ctrl-C twice"])
def test_a_crawl_that_was_ended_by_force_goes_on(tmp_path: Path, signals: list[signal.Signals]):
    """The database opens afterwards, and the same command fetches all that is missing."""
    db = tmp_path / "crawl.db"
    settings = {**QUICK, "JOBDIR": tmp_path / "job", "CONCURRENT_REQUESTS": 4}
    with Site() as site:
        ring(site, 150)
        site.delay_s = 0.02
        line = command("crawl", "content", "-a", f"url={site.url}/", "-a", f"db={db}", settings=settings)
        with (tmp_path / "log").open("w") as log:
            process = start(line, REPOSITORY, log)
            wait_until(lambda: len(site.asked) > 40)
            for number in signals:
                with contextlib.suppress(ProcessLookupError):
                    process.send_signal(number)
                time.sleep(0.05)
            process.wait(600)
        assert len(stored(db)) < 150
        site.delay_s = 0.0
        crawl = run(line)
    assert crawl.status == 0, crawl.log
    assert len(stored(db)) == 150
    assert "Traceback" not in crawl.log


def wait_until(is_so, timeout_s: float = 600.0) -> None:
    """Wait for another process."""
    end = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def refused(crawl: Crawl, text: str) -> None:
    """Assert that a crawl ended with one clear line."""
    assert crawl.status == 1, crawl.log
    assert len(crawl.lines("ERROR")) == 1, crawl.log
    assert text in crawl.lines("ERROR")[0]
    assert "Traceback" not in crawl.log


def test_a_bad_argument_is_one_line(tmp_path: Path):
    """Exit status 1, one ERROR line that names the value, no traceback, no database."""
    refused(crawl_content("forum.example", tmp_path / "crawl.db"), "url='forum.example' does not start with http://")
    refused(crawl_content("http://127.0.0.1:9/", tmp_path / "crawl.db", "-a", "pages=x"), "pages='x'")
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_another_program_is_refused(tmp_path: Path):
    """It is left as it was."""
    db = tmp_path / "other.db"
    with contextlib.closing(sqlite3.connect(db)) as connection:
        connection.execute("CREATE TABLE pages (x)")
        connection.commit()
    before = db.read_bytes()
    with Site() as site:
        refused(crawl_content(f"{site.url}/", db), "other.db")
        assert site.asked == []
    assert db.read_bytes() == before


def nothing_stored(crawl: Crawl, db: Path, text: str) -> None:
    """Assert that a crawl reports at its end that it stored nothing, and leaves an empty database."""
    assert crawl.status == 1
    last = crawl.lines("ERROR")[-1]
    assert "Nothing was stored" in last
    assert text in last
    assert "Traceback" not in crawl.log
    assert stored(db) == {}


def test_a_site_that_cannot_be_reached(tmp_path: Path):
    """One clear line at the end; the empty database opens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
        crawl = crawl_content(url, tmp_path / "crawl.db")
    nothing_stored(crawl, tmp_path / "crawl.db", url)


def test_a_site_that_forbids_crawling(tmp_path: Path):
    """The line says that robots.txt forbids it; nothing else is requested."""
    with Site() as site:
        site.robots("/")
        crawl = crawl_content(f"{site.url}/", tmp_path / "crawl.db")
        assert set(site.asked) == {"/robots.txt"}
    nothing_stored(crawl, tmp_path / "crawl.db", "Forbidden by robots.txt")


def test_a_start_page_that_leads_to_another_host(tmp_path: Path):
    """The redirect is stored, not followed, and the log names its target."""
    with Site() as site:
        site.robots()
        site.redirect("/", "http://www.forum.example/")
        crawl = crawl_content(f"{site.url}/", tmp_path / "crawl.db")
    assert [page.status for page in stored(tmp_path / "crawl.db").values()] == [302]
    assert "redirects to another host: crawl http://www.forum.example/ instead" in crawl.log


def test_a_page_of_20_mb_is_stored_and_a_larger_one_than_allowed_is_not(tmp_path: Path):
    """A page above DOWNLOAD_MAXSIZE counts as not fetched, and the crawl goes on."""
    with Site() as site:
        site.robots()
        site.page("/", "/big", "/after")
        site.page("/big", html=f"<p>{'x' * 20_000_000}</p>")
        site.page("/after")
        crawl_content(f"{site.url}/", tmp_path / "large.db")
        crawl = crawl_content(f"{site.url}/", tmp_path / "small.db", DOWNLOAD_MAXSIZE=1_000_000)
    assert len(stored(tmp_path / "large.db")["big"].content) > 20_000_000
    assert set(stored(tmp_path / "small.db")) == {"", "after"}
    assert crawl.log.count(f"Not fetched: {site.url}/big") == 1
    assert "Traceback" not in crawl.log


def test_a_full_disk_stops_the_crawl_with_one_line(tmp_path: Path):
    """The crawl ends when its pages cannot be written, and the database opens with the pages written before."""
    db = tmp_path / "crawl.db"
    with Site() as site:
        site.robots()
        site.page("/", *(f"/{n}" for n in range(400)))
        for n in range(400):
            site.page(f"/{n}", html=os.urandom(3000).hex())
        line = command("crawl", "content", "-a", f"url={site.url}/", "-a", f"db={db}", settings=QUICK)
        crawl = run(["bash", "-c", 'ulimit -f 300; exec "$@"', "bash", *line])
        assert len(site.asked) < 390
    assert crawl.log.count("the crawl stops here") == 1
    assert "Traceback" not in crawl.log
    assert len(stored(db)) < 400


@needs_bare_asyncio
def test_our_spider_works_without_a_twisted_reactor(tmp_path: Path):
    """Bare asyncio: same pages, and the progress line needs no reactor."""
    with Site() as site:
        ring(site, 10)
        crawl = crawl_content(f"{site.url}/", tmp_path / "crawl.db", TWISTED_REACTOR_ENABLED="False")
    assert crawl.status == 0, crawl.log
    assert len(stored(tmp_path / "crawl.db")) == 10


def test_a_crawl_that_goes_on_with_a_filter_drops_the_links_that_it_begins_with(tmp_path: Path):
    """The links of stored pages are not start requests: duplicates among them are fetched once."""
    with Site() as site:
        site.robots()
        links = [f"/topic{n}?v={version}" for n in range(10) for version in (1, 2)]
        site.page("/", *links)
        for link in links:
            site.page(link)
        crawl_content(f"{site.url}/", tmp_path / "crawl.db", "-a", "pages=1")
        model = strip_query_model(tmp_path / "model", site.host)
        crawl = crawl_content(f"{site.url}/", tmp_path / "crawl.db", DEDUP_MODEL=model)
        asked = [path for path in site.asked if "topic" in path]
    assert crawl.status == 0
    assert sorted({path.partition("?")[0] for path in asked}) == [f"/topic{n}" for n in range(10)]
    assert len(asked) == 10
