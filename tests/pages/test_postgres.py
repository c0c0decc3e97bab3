"""Postgres as the crawl database: several crawlers write into it, and the models are those of SQLite."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import make_url

from dedup_crawler.cli import main
from dedup_crawler.errors import StoreError
from dedup_crawler.pages.records import Page
from dedup_crawler.pages.store import PageStore
from live_site import Answer, Site, start, walk, walk_command
from planted_pages import pages

N_CRAWLERS = 4
BATCH_PAGES = 100


def planted(site: Site, n_topics: int) -> set[str]:
    """Serve planted pages; "/" links to all of them, in another order each time it is asked for."""
    site.robots()
    found = pages(n_topics, host=site.host)
    for page in found:
        site.answers[page.url.removeprefix(site.url)] = Answer(body=page.content)
    paths = [page.url.removeprefix(site.url).replace("&", "&amp;") for page in found]
    draw = random.Random(0)
    site.answers["/"] = [
        Answer(body="".join(f'<a href="{path}">x</a>' for path in draw.sample(paths, len(paths))).encode())
        for _ in range(N_CRAWLERS)
    ]
    return {f"{site.url}/", *(page.url for page in found)}


def start_crawlers(site: Site, folder: Path, database: str, n_crawlers: int = N_CRAWLERS, **settings: object):
    """Start crawls of a site into one database, each with a folder and a log."""
    crawls = []
    for number in range(n_crawlers):
        own = folder / f"crawler{number}"
        own.mkdir()
        with (own / "log").open("wb") as log:
            crawls.append((start(walk_command(site, own, DEDUP_COLLECT=database, **settings), own, log), own))
    return crawls


def learnt(database: str, folder: Path) -> dict[str, bytes]:
    """Label a database and train on it with the command line; return the rules and the facts of the model."""
    for line in (["label", "--db", database], ["train", "verified", "--db", database, "--model", str(folder)]):
        done = CliRunner().invoke(main, line)
        assert done.exit_code == 0, done.output
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_four_crawlers_collect_at_once_and_the_model_is_that_of_sqlite(postgres, tmp_path):
    """
    Four Scrapy crawls of one site make the tables and write the same URLs in different orders. Each page is stored
    once, as it was served; labels and model are those of the same pages in SQLite, byte for byte.
    """
    database = postgres.new_database()
    with Site() as site:
        served = planted(site, 40)
        for crawl, own in start_crawlers(site, tmp_path, database):
            assert crawl.wait(600) == 0, (own / "log").read_text()
        logs = [(own / "log").read_text() for own in sorted(tmp_path.glob("crawler*"))]
        assert min(site.count(url.removeprefix(site.url)) for url in served) == N_CRAWLERS
    assert not [log for log in logs if " ERROR: " in log], logs
    with PageStore(database, create=False) as store, PageStore(tmp_path / "copy.db") as copy:
        found = list(store.pages())
        copy.add_many(found)
    assert len(found) == len(served)
    assert {page.url for page in found} == served
    assert all(page.content == site.answers[page.url.removeprefix(site.url)].body for page in found[1:])
    assert all(page.referrer == f"{site.url}/" for page in found if page.url != f"{site.url}/")

    model = learnt(database, tmp_path / "model")

    assert model == learnt(str(tmp_path / "copy.db"), tmp_path / "copy")
    assert json.loads(model["rules.json"])
    with PageStore(database) as store, PageStore(tmp_path / "copy.db") as copy:
        assert list(store.labelled_pages()) == list(copy.labelled_pages())
        assert store.overview() == copy.overview()


def test_a_killed_crawler_loses_a_batch_and_hinders_nobody(postgres, tmp_path):
    """Of the pages that it had received all but the last batch are stored; the crawlers beside it end as usual."""
    database = postgres.new_database()
    with Site() as site:
        site.delay_s = 0.01
        served = planted(site, 90)
        (killed, own), *others = start_crawlers(site, tmp_path, database, 3)
        got = own / "got"
        while not got.exists() or len(got.read_text().splitlines()) < 2.5 * BATCH_PAGES:
            assert killed.poll() is None, (own / "log").read_text()
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
        assert killed.wait(60) == -signal.SIGKILL
        received = {line for line in got.read_text().splitlines() if line in served}
        with PageStore(database, create=False) as store:
            assert len(received - set(store.urls())) <= BATCH_PAGES
        for crawl, folder in others:
            assert crawl.wait(600) == 0, (folder / "log").read_text()
            assert " ERROR: " not in (folder / "log").read_text()
    with PageStore(database, create=False) as store:
        assert set(store.urls()) == served


def test_postgres_may_be_restarted(postgres):
    """A store goes on with the next batch; what could not be written meanwhile is kept and written then."""
    with PageStore(postgres.new_database()) as store:
        store.add_many([Page("http://a.example/1")])
        postgres.stop()
        store.add(Page("http://a.example/2"))
        with pytest.raises(StoreError, match="connection"):
            store.flush()
        postgres.start()
        store.add(Page("http://a.example/3"))
        store.flush()
        postgres.stop()
        postgres.start()
        store.add_many([Page("http://a.example/4")])
        assert list(store.urls()) == [f"http://a.example/{n}" for n in (1, 2, 3, 4)]


class SiteWithOutage(Site):
    """Stops Postgres before it answers ``/150``, starts it again before ``/500``, and takes its time for ``/550``."""

    def __init__(self, postgres) -> None:
        super().__init__()
        self._at = {"/150": postgres.stop, "/500": postgres.start, "/550": lambda: time.sleep(12)}

    def lookup(self, path: str) -> Answer | list[Answer]:
        """Do what is due."""
        self._at.pop(path, lambda: None)()
        return super().lookup(path)


def test_a_crawl_outlives_a_restart_of_postgres(postgres, tmp_path):
    """Its pages are kept meanwhile and stored then: one warning, no error, and none is missing."""
    database = postgres.new_database()
    with SiteWithOutage(postgres) as site:
        site.robots()
        site.page("/", *(f"/{n}" for n in range(600)))
        for n in range(600):
            site.page(f"/{n}")
        crawl = walk(site, tmp_path, DEDUP_COLLECT=database, CONCURRENT_REQUESTS=1, LOG_LEVEL="INFO")
        wanted = {f"{site.url}/", *(f"{site.url}/{n}" for n in range(600))}
    assert crawl.lines("ERROR") == []
    assert crawl.log.count("tries again to store its pages") == crawl.log.count("are stored again") == 1
    with PageStore(database, create=False) as store:
        assert set(store.urls()) == wanted


def test_mistakes_are_one_line(postgres, monkeypatch):
    """A writer that waits too long, an empty or a foreign database, a wrong name, and no driver."""
    monkeypatch.setattr("dedup_crawler.pages.database._BUSY_TIMEOUT_S", 0.1)
    database = postgres.new_database()
    with pytest.raises(
        StoreError, match=r"there is no crawl database postgresql://postgres@/crawl.*--db postgresql://"
    ):
        PageStore(database, create=False)
    with PageStore(database) as store, PageStore(database) as other, other._database.writing():
        store.add(Page("http://a.example/"))
        with pytest.raises(StoreError, match="another process is writing"):
            store.flush()
    with PageStore(database) as store:
        assert len(store) == 1  # it was kept, and written when it could be
    foreign = postgres.new_database()
    postgres.ask("CREATE TABLE shop (id int)", make_url(foreign).database)
    with pytest.raises(StoreError, match="another program"):
        PageStore(foreign)
    with pytest.raises(StoreError, match='database "nosuch" does not exist') as caught:
        PageStore(re.sub("@/[a-z0-9]+", "@/nosuch", database))
    assert "\n" not in str(caught.value)


def test_without_the_driver_the_extra_is_named():
    """One line and exit status 1, for an address as the documentation writes it."""
    code = "import runpy, sys; sys.modules['psycopg'] = None; runpy.run_module('dedup_crawler', run_name='__main__')"
    line = [sys.executable, "-c", code, "label", "--db", "postgresql://me:secret@127.0.0.1/crawl"]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 1
    assert done.stderr.endswith("pip install 'dedup-crawler[postgres]'\n"), done.stderr
    assert "secret" not in done.stderr
