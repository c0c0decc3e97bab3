"""Crawls that are killed, stopped and resumed, or lose their disk or their model."""

from __future__ import annotations

import ast
import json
import random
import signal
import threading
import time
from pathlib import Path

import pytest

import dedup_crawler.live
from faulty_site import SLOWLY, pair, show
from killing import PER_KILL, begin, build, crawl_with_kills, form_of, stop_after, wait_for
from live_site import Answer, Crawl, Site, strip_query_model, walk

N_PAGES = 60


@pytest.mark.parametrize("with_job", [True, False])
def test_a_crawl_that_is_killed_five_times_loses_nothing(tmp_path: Path, with_job: bool):
    """
    SIGKILL at random moments, with JOBDIR (whose queue Scrapy loses) or only a seen file: every page reaches the
    spider in the end, and only requests in flight at a kill are fetched again.
    """
    with Site() as site:
        site.delay_s = 0.02
        build(site, N_PAGES)
        model = strip_query_model(tmp_path / "model", site.host)
        kept: dict[str, object] = {"JOBDIR": tmp_path / "job"} if with_job else {"DEDUP_SEEN": tmp_path / "a.seen"}
        ended = crawl_with_kills(
            site, tmp_path, random.Random(with_job), n_kills=5, n_pages=N_PAGES, per_run=15, DEDUP_MODEL=model, **kept
        )
    assert ended.lost == []
    assert ended.n_kills >= 4  # a fast crawl may end before the fifth
    assert ended.most_again <= PER_KILL
    assert "Traceback" not in "".join(ended.logs)


def test_kills_lose_no_request_that_the_filter_leaves_alone(tmp_path: Path):
    """
    Each page has one POST request and one with dont_filter, which are linked nowhere else: the queue is lost with the
    process, and the page is not fetched again.
    """
    with Site() as site:
        site.delay_s = 0.02
        build(site, N_PAGES)
        for path, answer in list(site.answers.items()):
            if path.startswith("/page") and isinstance(answer, Answer) and answer.status == 200:
                page = form_of(path).removeprefix("/page")
                links = f"<a class=post href=/post{page}>1</a><a class=optout href=/optout{page}>2</a></body>"
                answer.body = answer.body.replace(b"</body>", links.encode())
        unfiltered = {f"/{kind}{n}" for kind in ("post", "optout") for n in range(N_PAGES)}
        for path in unfiltered:
            site.page(path)
        model = strip_query_model(tmp_path / "model", site.host)
        ended = crawl_with_kills(
            site,
            tmp_path,
            random.Random(3),
            n_kills=5,
            n_pages=N_PAGES,
            per_run=25,
            DEDUP_MODEL=model,
            JOBDIR=tmp_path / "job",
        )
        got = {form_of(url.removeprefix(site.url)) for url in (tmp_path / "got").read_text().split()}
    assert ended.lost == []
    assert ended.n_kills >= 4  # a fast crawl may end before the fifth
    assert unfiltered <= got
    assert "Traceback" not in "".join(ended.logs)


def test_a_post_that_is_answered_by_a_redirect_is_not_sent_again_after_a_kill(tmp_path: Path):
    """In a spider that follows redirects itself, the redirect is the answer, and a POST may change data."""
    with Site() as site:
        site.robots()
        site.page("/", "/slow", html="<a class=post href=/post>1</a>")
        site.redirect("/post", "/done")
        site.page("/slow", delay_s=30)
        model = strip_query_model(tmp_path / "model", site.host)
        settings = {"DEDUP_MODEL": model, "JOBDIR": tmp_path / "job", "REDIRECT_ENABLED": False}
        crawl = begin(site, tmp_path, **settings, HTTPERROR_ALLOW_ALL=True)
        deadline = time.monotonic() + 600
        while not (tmp_path / "got").exists() or "/post" not in (tmp_path / "got").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(1.5)
        crawl.kill()
        crawl.wait(timeout=600)
        site.page("/slow")
        walk(site, tmp_path, **settings, HTTPERROR_ALLOW_ALL=True)
        assert site.count("/slow") == 2
        # the start page with the link is read again: one more; the note would add a second one
        assert site.count("/post") <= 2


def statuses(crawl: Crawl, *paths: str) -> list[object]:
    """Return the status that the spider's callback received, None if it was not called."""
    return [crawl.seen.get(path, {}).get("status") for path in paths]


def test_the_stats_of_a_resumed_crawl_add_up(tmp_path: Path):
    """
    A stop leaves thirty tests in the queue, less the few that were sent. The next process decides about them anew: they
    count as its own, and are taken off no number of its own.
    """
    with Site() as site:
        site.robots()
        site.page("/", *[pair(n)[0] for n in range(30)], "/more")
        site.page("/more", *[pair(n)[1] for n in range(30)], delay_s=1)
        for n in range(30):
            show(site, pair(n)[0], n)
            show(site, pair(n)[1], n)
            site.answers[pair(n)[1]].delay_s = 0.2
        model = strip_query_model(tmp_path / "model", site.host)
        settings = {"DEDUP_MODEL": model, "JOBDIR": tmp_path / "job", "DEDUP_EXPLORATION": 1, **SLOWLY}
        stop_after(site, tmp_path, 36, signal.SIGINT, **settings)
        n_before = sum(map(site.count, [pair(n)[1] for n in range(30)]))
        crawl = walk(site, tmp_path, **settings)
    assert 0 < n_before < 20
    n = {name: crawl.stats.get(f"dedup/request/{name}", 0) for name in ("kept", "dropped", "explored")}
    assert n["explored"] >= 10
    assert sum(n.values()) == crawl.stats["dedup/request/processed"]


def test_a_crawl_that_is_stopped_goes_on_where_it_was(tmp_path: Path):
    """After Ctrl-C, and after a kill followed by Ctrl-C, all pages come, and none of those answered twice."""
    with Site() as site:
        site.delay_s = 0.02
        build(site, N_PAGES)
        settings = {"DEDUP_MODEL": strip_query_model(tmp_path / "model", site.host), "JOBDIR": tmp_path / "job"}
        for n_asked, stop in ((15, signal.SIGKILL), (30, signal.SIGINT), (45, signal.SIGINT)):
            crawl = begin(site, tmp_path, CONCURRENT_REQUESTS=4, **settings)
            wait_for(site, n_asked)
            crawl.send_signal(stop)
            crawl.wait(timeout=600)
        walk(site, tmp_path, CONCURRENT_REQUESTS=4, **settings)
        got = (tmp_path / "got").read_text().split()
        asked = [path for path in site.asked if path not in ("/", "/robots.txt")]
    assert {form_of(url.removeprefix(site.url)) for url in got} == {"/", *(f"/page{n}" for n in range(N_PAGES))}
    assert len(asked) - len(set(asked)) <= PER_KILL


def test_what_the_queue_on_disk_loses_after_a_kill_is_fetched_all_the_same(tmp_path: Path):
    """
    After a kill Scrapy's FIFO queue reads stale entries in place of new ones. No page is linked twice, so only the
    filter's own notes can restore the lost part of the queue.
    """
    with Site() as site:
        site.delay_s = 0.02
        site.robots()
        site.page("/", *(f"/page{n}?1" for n in range(40)))
        for n in range(40):
            site.page(f"/page{n}?1", f"/behind{n}?1")
            site.page(f"/behind{n}?1")
        settings = {"DEDUP_MODEL": strip_query_model(tmp_path / "model", site.host), "JOBDIR": tmp_path / "job"}
        for n_asked in (8, 20):
            crawl = begin(site, tmp_path, CONCURRENT_REQUESTS=1, **settings)
            wait_for(site, n_asked)
            crawl.kill()
            crawl.wait(timeout=600)
        walk(site, tmp_path, CONCURRENT_REQUESTS=4, **settings)
        got = {form_of(url.removeprefix(site.url)) for url in (tmp_path / "got").read_text().split()}
    assert got == {"/", *(f"/{name}{n}" for n in range(40) for name in ("page", "behind"))}


def test_a_redirect_target_that_was_on_its_way_at_the_kill_is_fetched_after_all(tmp_path: Path):
    """The job's dupefilter knows the URL, though its page never came; in a loop of redirects it is tried once more."""
    with Site() as site:
        site.robots()
        site.page("/", "/a?1", "/loop?1", "/many")
        site.redirect("/a?1", "/a?3")
        site.page("/a?3", delay_s=5.0)
        site.redirect("/loop?1", "/loop?2", delay_s=5.0)
        site.redirect("/loop?2", "/loop?1")
        site.page("/many", *(f"/none{n}" for n in range(300)), delay_s=0.5)
        settings = {"DEDUP_MODEL": strip_query_model(tmp_path / "model", site.host), "JOBDIR": tmp_path / "job"}
        crawl = begin(site, tmp_path, CONCURRENT_REQUESTS=3, **settings)
        wait_for(site, 40)  # by then the dupefilter has written a block of 8 KB
        crawl.kill()
        crawl.wait(timeout=600)
        assert (tmp_path / "job" / "requests.seen").stat().st_size > 0
        site.page("/a?3")
        site.redirect("/loop?1", "/loop?2")
        walk(site, tmp_path, **settings)
        got = (tmp_path / "got").read_text().split()
    assert f"{site.url}/a?3" in got
    assert site.count("/loop?1") <= 5


def small(site: Site, *, delay_s: float = 0.0) -> Site:
    """Three pages in a chain, each with a duplicate."""
    site.robots()
    site.page("/", "/a?1", "/a?2")
    for path in ("/a?1", "/a?2"):
        site.page(path, "/b?1", "/b?2", delay_s=delay_s)
    for path in ("/b?1", "/b?2"):
        site.page(path, "/c?1", "/c?2", delay_s=delay_s)
    for path in ("/c?1", "/c?2"):
        site.page(path)
    return site


def test_a_model_that_is_replaced_in_mid_crawl_is_not_mixed_in(tmp_path: Path):
    """The crawl ends with the model it started with; the next crawl on the same job refuses another model."""
    with Site() as site:
        small(site, delay_s=0.3)
        model = strip_query_model(tmp_path / "model", site.host)

        def replace() -> None:
            wait_for(site, 3)
            (model / "model.json").write_text("{")

        other = threading.Thread(target=replace)
        other.start()
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, JOBDIR=tmp_path / "job")
        other.join()
        assert crawl.status == 0
        assert statuses(crawl, "/b?1", "/b?2", "/c?1", "/c?2") == [200, None, 200, None]

        strip_query_model(model, site.host, "other.example")
        n_asked = len(site.asked)
        again = walk(site, tmp_path, DEDUP_MODEL=model, JOBDIR=tmp_path / "job")
        assert len(site.asked) == n_asked
    assert again.status == 1
    assert len(again.lines("ERROR")) == 1
    assert "were made by another model" in again.lines("ERROR")[0]
    assert "dedup.seen" in again.lines("ERROR")[0]


def test_a_damaged_seen_file_stops_the_crawl_at_its_start(tmp_path: Path):
    """One ERROR line that names the file, exit status 1, no request; the file is unchanged."""
    (tmp_path / "a.seen").write_bytes(b"a shopping list" * 100)
    with Site() as site:
        small(site)
        model = strip_query_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_SEEN=tmp_path / "a.seen")
        assert site.asked == []
    assert crawl.status == 1
    assert len(crawl.lines("ERROR")) == 1
    assert str(tmp_path / "a.seen") in crawl.lines("ERROR")[0]
    assert "Traceback" not in crawl.log
    assert (tmp_path / "a.seen").read_bytes() == b"a shopping list" * 100


def test_a_full_disk_costs_what_is_written_and_no_page(tmp_path: Path):
    """The file of drops and the seen file cannot grow: each is reported once, and the crawl filters to its end."""
    with Site() as site:
        site.robots()
        names = [f"{n}-{'x' * 150}" for n in range(60)]
        site.page("/", *(f"/{name}?{version}" for name in names for version in [1, *[2] * 20]))
        for name in names:
            site.page(f"/{name}?1")
        crawl = walk(
            site,
            tmp_path,
            prefix=["bash", "-c", 'ulimit -f 200; exec "$@"', "bash"],
            DEDUP_MODEL=strip_query_model(tmp_path / "model", site.host),
            DEDUP_SEEN=tmp_path / "a.seen",
            DEDUP_DROPPED=tmp_path / "dropped.jsonl",
            LOG_LEVEL="INFO",
        )
        assert [site.count(f"/{name}?2") for name in names] == [0] * 60
    assert crawl.status == 0
    assert statuses(crawl, *(f"/{name}?1" for name in names)) == [200] * 60
    assert crawl.log.count("DEDUP_DROPPED cannot be written") == 1
    assert crawl.log.count("are kept in memory until they can be written") == 1
    assert "Traceback" not in crawl.log
    for line in (tmp_path / "dropped.jsonl").read_text().splitlines()[:-1]:
        json.loads(line)


def test_nothing_is_decided_by_the_clock_on_the_wall():
    """A clock that is set back changes no decision: ``time.time()`` is only for times that people read."""
    folder = Path(dedup_crawler.live.__file__).parent
    readers = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in {"time", "now", "utcnow", "today"}:
                value = node.value
                if isinstance(value, ast.Name) and value.id in {"time", "datetime", "date"}:
                    readers.add(path.relative_to(folder).as_posix())
    assert readers <= {"drop_report.py", "collecting/response_page.py", "collecting/collector.py"}
