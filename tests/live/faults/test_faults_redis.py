"""Crawls whose seen set is in Redis: they share it, are killed, or lose it."""

from __future__ import annotations

import itertools
import random
import signal
import threading
import time
from pathlib import Path

import pytest

from killing import PER_KILL, begin, build, crawl_with_kills, form_of, wait_for
from live_site import Answer, Site, strip_query_model, walk
from redis_server import RedisServer, require_redis

N_PAGES = 60


@pytest.fixture
def redis(tmp_path: Path):
    """A Redis that may be stopped."""
    require_redis()
    server = RedisServer(tmp_path)
    yield server
    server.stop()


@pytest.mark.parametrize(("with_job", "n_kills"), [(True, 5), (False, 1)])
def test_a_crawl_of_one_process_in_redis_loses_nothing_by_kills(
    tmp_path: Path, redis: RedisServer, with_job: bool, n_kills: int
):
    """
    In a JOBDIR the next process knows at once that the previous one is dead. Elsewhere it finds out when it has nothing
    left to do: it does not end before the time limit of the other one has passed.
    """
    with Site() as site:
        site.delay_s = 0.02
        build(site, N_PAGES)
        settings = {"DEDUP_MODEL": strip_query_model(tmp_path / "model", site.host), "DEDUP_SEEN": redis.url("killed")}
        if with_job:
            settings["JOBDIR"] = tmp_path / "job"
        ended = crawl_with_kills(
            site, tmp_path, random.Random(7), n_kills=n_kills, n_pages=N_PAGES, per_run=15, **settings
        )
    assert ended.lost == []
    assert ended.n_kills == n_kills
    assert ended.n_again <= n_kills * PER_KILL  # requests in flight at a kill may wait for another kill
    assert "Traceback" not in "".join(ended.logs)


class BothAtOnce(Site):
    """Serves its start page to two crawlers at the same moment, to each with another half of the links."""

    def __init__(self) -> None:
        super().__init__()
        self._turns = itertools.count()

    def lookup(self, path: str) -> Answer | list[Answer]:
        """Wait before the start page; otherwise the first crawler would claim all its links."""
        if path != "/":
            return super().lookup(path)
        turn = next(self._turns)
        deadline = time.monotonic() + 600
        while self.count("/") < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        links = (f"<a href='/page{n}?v=1'>{n}</a>" for n in range(turn * 10, N_PAGES, 20))
        return Answer(body=f"<html><body>{''.join(links)}</body></html>".encode())


def test_two_crawlers_share_one_redis(tmp_path: Path, redis: RedisServer):
    """
    Together they fetch each page once, except for the start page and simultaneous links: while Redis is asked, a
    second link may overtake the first.
    """
    with BothAtOnce() as site:
        site.delay_s = 0.1
        build(site, N_PAGES)
        model = strip_query_model(tmp_path / "model", site.host)
        crawls = []
        settings = {"CONCURRENT_REQUESTS": 4, "DEDUP_MODEL": model, "DEDUP_SEEN": redis.url("shared")}
        for name in "ab":
            (tmp_path / name).mkdir()
            crawls.append(begin(site, tmp_path / name, **settings))
        assert [crawl.wait(timeout=600) for crawl in crawls] == [0, 0]
        got = [(tmp_path / name / "got").read_text().split() for name in "ab"]
    pages = [form_of(url.removeprefix(site.url)) for url in got[0] + got[1]]
    assert set(pages) == {"/", *(f"/page{n}" for n in range(N_PAGES))}
    assert 1 <= len(pages) - len(set(pages)) <= 3
    assert all(len(each) > 1 for each in got)


def test_what_one_crawler_has_switched_off_no_other_uses(tmp_path: Path, redis: RedisServer):
    """
    For the first crawler the query matters, and it switches the rule off. For the second it does not matter, and it has
    its own model: all its tests would be right, but the shared set tells it, and it fetches all.
    """

    def pages(site: Site, first: int) -> list[str]:
        links = [f"/{n}{query}" for n in range(first, first + 20) for query in ("", "?v=1", "?v=2")]
        for link in links:
            shown = link if first == 0 else link.partition("?")[0]
            text = " ".join(f"{shown} says sentence {n} of twelve" for n in range(12))
            site.answers[link] = Answer(body=f"<html><title>{shown}</title><body><p>{text}</p></body></html>".encode())
        return links

    with Site() as site:
        settings = {"DEDUP_SEEN": redis.url("judged"), "DEDUP_EXPLORATION": 0.02}
        crawls = []
        for name, first in (("one", 0), ("two", 100)):
            (tmp_path / name).mkdir()
            links = pages(site, first)
            site.page("/", *links)
            model = strip_query_model(tmp_path / name / "model", site.host)
            crawls.append(walk(site, tmp_path / name, DEDUP_MODEL=model, **settings))
            assert set(links) <= set(site.asked)
    found = [("(0 of " in crawl.log, "switched off" in crawl.log) for crawl in crawls]
    assert found == [(False, True), (True, True)]  # all own tests right? rule switched off?


@pytest.mark.parametrize("pause_s", [0.0, 3.0])
def test_a_redis_that_is_stopped_and_started_again_loses_no_page(tmp_path: Path, redis: RedisServer, pause_s: float):
    """Redis forgets everything; meanwhile nothing is dropped, and afterwards the crawl filters again."""
    with Site() as site:
        site.delay_s = 0.05
        build(site, N_PAGES)
        model = strip_query_model(tmp_path / "model", site.host)

        def interrupt() -> None:
            wait_for(site, 15)
            redis.stop()
            time.sleep(pause_s)
            redis.start()

        other = threading.Thread(target=interrupt)
        other.start()
        crawl = walk(site, tmp_path, CONCURRENT_REQUESTS=2, DEDUP_MODEL=model, DEDUP_SEEN=redis.url("crawl"))
        other.join()
        got = (tmp_path / "got").read_text().split()
    assert crawl.status == 0
    assert {form_of(url.removeprefix(site.url)) for url in got} == {"/", *(f"/page{n}" for n in range(N_PAGES))}
    assert crawl.stats["dedup/request/dropped"] > 0
    assert crawl.log.count("until it answers nothing is dropped") <= 1
    assert "Traceback" not in crawl.log


def wait_until_unchanged(path: Path) -> None:
    """Wait until a file has kept its size for a second and a half."""
    size, since = -1, time.monotonic()
    while time.monotonic() < since + 1.5:
        if (now := path.stat().st_size) != size:
            size, since = now, time.monotonic()
        time.sleep(0.05)


def test_what_dies_with_a_crawler_on_the_queue_of_scrapy_redis_is_fetched_by_the_other(
    tmp_path: Path, redis: RedisServer
):
    """
    Two crawlers take their requests from one queue of scrapy-redis, so that a link of one is fetched by the other. One
    is killed: what it had taken is gone from the queue, but not from the seen set, which gives it to the other.
    """
    pytest.importorskip("scrapy_redis")
    with Site() as site:
        site.delay_s = 0.1
        build(site, 200)
        settings = {
            "DEDUP_MODEL": strip_query_model(tmp_path / "model", site.host),
            "DEDUP_SEEN": redis.url("crawl"),
            "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
            "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
            "SCHEDULER_PERSIST": True,
            "REDIS_URL": f"redis://127.0.0.1:{redis.port}/0",
        }
        crawls = []
        for name in "ab":
            (tmp_path / name).mkdir()
            crawls.append(begin(site, tmp_path / name, **settings))
            wait_for(site, 20)  # a crawler of scrapy-redis that finds its queue empty ends at once
        killed, other = crawls
        wait_for(site, 80)
        site.delay_s = 5.0  # no more answers: a busy computer processes those that it has
        wait_until_unchanged(tmp_path / "a" / "got")
        killed.kill()
        assert killed.wait(timeout=600) == -signal.SIGKILL
        site.delay_s = 0.1
        assert other.wait(timeout=600) == 0
        got = [(tmp_path / name / "got").read_text().split() for name in "ab"]
    pages = [{form_of(url.removeprefix(site.url)) for url in each} for each in got]
    assert pages[0] | pages[1] == {"/", *(f"/page{n}" for n in range(200))}
    assert len(pages[0] & pages[1]) <= PER_KILL
    assert "Traceback" not in (tmp_path / "b" / "log").read_text()
