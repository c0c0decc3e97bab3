"""A crawl that starts without a model, learns one from its own pages, and uses it."""

from __future__ import annotations

import random
import signal
import time
from itertools import pairwise
from pathlib import Path

import pytest

from live_site import Answer, Crawl, Site, start, wait_until, walk, walk_command

N_TOPICS = 120
LEARN_AFTER = 100
WORDS = [f"{first}{second}" for first in ("ba", "de", "ki", "lo", "mu", "na", "re") for second in ("ran", "sel", "tok")]


class PatientSite(Site):
    """Answers at most *n_at_first* requests before *model* exists, as if they took as long as learning does."""

    def __init__(self, n_at_first: int, model: Path) -> None:
        super().__init__()
        self._n_at_first, self._model = n_at_first, model

    def lookup(self, path: str) -> Answer | list[Answer]:
        """Wait for the model, and for the crawl, which looks once a second."""
        if len(self.asked) > self._n_at_first:
            wait_until(lambda: any(self._model.glob("*/model.json")), interval_s=0.1, said="no model was learnt")
            time.sleep(0.1)
        return super().lookup(path)


class TwiceLearntSite(PatientSite):
    """Waits once more, for the second model."""

    def __init__(self, n_at_first: int, n_then: int, model: Path) -> None:
        super().__init__(n_at_first, model)
        self._n_then, self._models = n_then, model
        self._first: list[str] = []

    def lookup(self, path: str) -> Answer | list[Answer]:
        """Wait for another model than the first one."""
        answer = super().lookup(path)
        if len(self.asked) > self._n_then:
            self._first = self._first or self._texts()
            wait_until(lambda: self._texts() != self._first, interval_s=0.1, said="no second model was learnt")
        return answer

    def _texts(self) -> list[str]:
        return [file.read_text() for file in self._models.glob("*/model.json")]


def build(site: Site, *, is_chain: bool = False) -> None:
    """
    Lists of topics, each topic with its URL and one with a session; every topic has its own text. If the lists
    are a chain, each leads to the next one.
    """
    draw = random.Random(0)
    site.robots()
    lists = [f"/list?n={n}" for n in range(N_TOPICS // 20)]
    site.page("/", *lists[: 1 if is_chain else None])
    for place, path in enumerate(lists):
        topics = range(20 * place, 20 * place + 20)
        links = [f"/topic?id={n}{end}" for end in ("", "&amp;sid=") for n in topics]
        links = [link + f"{draw.getrandbits(32):x}" * link.endswith("=") for link in links]
        onward = lists[place + 1 : place + 2] if is_chain else []
        site.page(path, *onward, *links, html=f"<p>{' '.join(draw.choices(WORDS, k=30))}</p>")
        for link in links:
            number = link.partition("id=")[2].partition("&")[0]
            text = " ".join(random.Random(number).choices(WORDS, k=120))
            body = f"<html><head><title>Topic {number}</title></head><body><p>{text}.</p></body></html>"
            site.answers[link.replace("&amp;", "&")] = Answer(body=body.encode())


def walk_and_learn(site: Site, folder: Path, learn_after: int = LEARN_AFTER, **settings: object) -> Crawl:
    """Crawl without a model, and learn one after 100 pages, or as many as are given."""
    return walk(
        site,
        folder,
        DEDUP_LEARN_AFTER=learn_after,
        DEDUP_COLLECT=folder / "crawl.db",
        CONCURRENT_REQUESTS=4,
        LOG_LEVEL="INFO",
        **settings,
    )


def test_a_crawl_learns_from_its_own_pages_and_filters_from_then_on(tmp_path: Path):
    """After 100 pages a model is learnt beside the crawl; later sessions are dropped, and no topic is lost."""
    models = tmp_path / "crawl.models"
    with PatientSite(LEARN_AFTER + 40, models) as site:
        build(site)
        crawl = walk_and_learn(site, tmp_path)
        asked = list(site.asked)
    assert crawl.status == 0
    assert crawl.lines("ERROR") == []
    assert crawl.stats["dedup/models/learnt"] >= 1
    assert crawl.log.count("Learnt from the crawl so far") == crawl.stats["dedup/models/learnt"]
    assert {path.partition("&")[0] for path in asked if "/topic" in path} == {f"/topic?id={n}" for n in range(N_TOPICS)}
    assert crawl.stats["dedup/request/dropped"] > N_TOPICS // 4
    assert f"Duplicate filter: {crawl.stats['response_received_count']} fetched, " in crawl.log
    assert "No model was learnt" not in crawl.log
    n_topics_asked = len({path for path in asked if "/topic" in path})
    assert n_topics_asked < 2 * N_TOPICS - N_TOPICS // 4


def test_a_crawl_that_ends_before_its_first_model_says_so(tmp_path: Path):
    """It counts its pages as fetched, though no model knows their forms, and says that nothing could be dropped."""
    with Site() as site:
        build(site)
        crawl = walk_and_learn(site, tmp_path, 10_000)
        n_asked = len(site.asked)
    assert f"Duplicate filter: {n_asked} fetched, 0 dropped" in crawl.log
    assert "No model was learnt before the crawl ended (DEDUP_LEARN_AFTER = 10000)" in crawl.log


def adds_up(crawl: Crawl) -> bool:
    """Return True if each request that the filter looked at has one outcome."""
    n = {name: crawl.stats.get(f"dedup/request/{name}", 0) for name in ("kept", "dropped", "explored", "would_drop")}
    return min(n.values()) >= 0 and sum(n.values()) == crawl.stats["dedup/request/processed"]


@pytest.mark.parametrize("redirects", [False, True], ids=["pages", "redirects"])
def test_a_page_that_was_fetched_before_its_rule_was_known_tests_nothing(tmp_path: Path, redirects: bool):
    """
    The model comes when all topics were fetched, with and without their sessions, which may redirect to the others.
    Then pages link to the same URLs again, which the new rule drops. Nothing is saved by that, and nothing is learnt by
    fetching them once more.
    """
    models = tmp_path / "crawl.models"
    late = [f"/late?n={n}" for n in range(20)]
    with PatientSite(2 * N_TOPICS + 26, models) as site:  # robots.txt and pages that are fetched twice are among these
        build(site)
        sessions = [path for path in site.answers if "&sid=" in path]
        for path in sessions if redirects else ():
            site.redirect(path, path.partition("&")[0])
        hrefs = "".join(f'<a href="{path.replace("&", "&amp;")}">again</a>' for path in sessions)
        for path, onward in pairwise(late):
            site.page(path, onward, html=f"<p>{path} {hrefs}</p>")
        front = site.answers["/"]
        assert isinstance(front, Answer)
        front.body = front.body.replace(b"</body>", f'<a href="{late[0]}">late</a></body>'.encode())
        crawl = walk_and_learn(
            site,
            tmp_path,
            (1 if redirects else 2) * N_TOPICS + 8,
            DEDUP_EXPLORATION="0.02",
            DEPTH_PRIORITY=1,
            SCHEDULER_MEMORY_QUEUE="scrapy.squeues.FifoMemoryQueue",
        )
        asked = list(site.asked)
    assert crawl.lines("ERROR") == []
    assert crawl.stats["dedup/models/learnt"] >= 1
    assert crawl.stats["dedup/request/dropped"] > 0
    assert crawl.stats.get("dedup/dropped/unverified", 0) == 0
    assert len(asked) - len(set(asked)) == crawl.stats["dedup/request/reloaded"]


@pytest.mark.parametrize("is_dry_run", [False, True], ids=["tests", "dry run"])
def test_what_tests_a_rule_when_the_next_model_comes_is_decided_anew(tmp_path: Path, is_dry_run: bool):
    """
    All would-be drops are fetched to test their rules; when the second model is learnt, many such requests
    are queued. None of them counts as fetched: all URLs of all topics are requested. A dry run counts no tests. The
    stats add up.
    """
    models = tmp_path / "crawl.models"
    with TwiceLearntSite(LEARN_AFTER + 40, LEARN_AFTER + 80, models) as site:
        build(site, is_chain=True)
        crawl = walk_and_learn(
            site,
            tmp_path,
            DEDUP_EXPLORATION="1.0",
            DEDUP_DRY_RUN=is_dry_run,
            DEPTH_PRIORITY=1,
            SCHEDULER_MEMORY_QUEUE="scrapy.squeues.FifoMemoryQueue",
        )
        asked = {path for path in site.asked if "/topic" in path}
    assert crawl.stats["dedup/models/learnt"] >= 2
    n_explored = crawl.stats.get("dedup/request/explored", 0)
    assert n_explored == 0 if is_dry_run else n_explored > 0
    assert adds_up(crawl)
    assert len(asked) == 2 * N_TOPICS


def test_each_new_model_does_not_test_the_same_urls_again(tmp_path: Path):
    """
    Half of the drops are to be tests. The six or seven models of this crawl each decide all drops anew. If they also
    drew anew what becomes a test, nearly all of the sixty URLs with sessions would be fetched. Half of them are not.
    """
    models = tmp_path / "crawl.models"
    with TwiceLearntSite(LEARN_AFTER + 20, LEARN_AFTER + 60, models) as site:
        build(site, is_chain=True)
        crawl = walk_and_learn(
            site,
            tmp_path,
            DEDUP_EXPLORATION="0.5",
            DEPTH_PRIORITY=1,
            SCHEDULER_MEMORY_QUEUE="scrapy.squeues.FifoMemoryQueue",
        )
    assert crawl.lines("ERROR") == []
    assert crawl.stats["dedup/models/learnt"] >= 3
    assert 10 < crawl.stats["dedup/request/explored"] < 46  # half of sixty, give or take four standard deviations


def test_a_kill_after_learning_loses_nothing_that_was_queued(tmp_path: Path):
    """
    A new model forgets the seen forms; queued requests are still in the queue, which is lost with the process, and
    the pages with their links are not fetched again.
    """
    settings = {
        "DEDUP_LEARN_AFTER": LEARN_AFTER,
        "DEDUP_COLLECT": tmp_path / "crawl.db",
        "JOBDIR": tmp_path / "job",
        "CONCURRENT_REQUESTS": 4,
        "LOG_LEVEL": "INFO",
    }
    with PatientSite(LEARN_AFTER + 40, tmp_path / "crawl.models") as site:
        build(site)
        log = tmp_path / "log"
        with log.open("w") as file:
            crawl = start(walk_command(site, tmp_path, **settings), tmp_path, file)
        wait_until(lambda: "Learnt from the crawl so far" in log.read_text())
        n_asked = len(site.asked)
        wait_until(lambda: len(site.asked) >= n_asked + 10, interval_s=0.01)  # some of the queue is decided again
        assert crawl.poll() is None, log.read_text()
        crawl.send_signal(signal.SIGKILL)
        crawl.wait()
        assert len({path.partition("&")[0] for path in site.asked if "/topic" in path}) < N_TOPICS
        site.asked.clear()
        again = walk(site, tmp_path, **settings)
        got = (tmp_path / "got").read_text()
    assert again.lines("ERROR") == []
    missing = [n for n in range(N_TOPICS) if f"/topic?id={n}\n" not in got and f"/topic?id={n}&" not in got]
    assert missing == []


def test_a_queued_request_is_not_dropped_because_another_link_to_it_was_to_be_a_test(tmp_path: Path):
    """
    Links of the time before the model wait in the queue. Later links to the same URLs are to be fetched as tests, but
    Scrapy's dupefilter knows these URLs. When the turn of the queued requests comes, they are tests themselves: the one
    whose page differs from the page that the model takes it for is not lost. The stats add up.
    """
    models = tmp_path / "crawl.models"
    traps = [f"/topic?id={1000 + n}&sid=abc{n}" for n in range(12)]
    with PatientSite(LEARN_AFTER + 40, models) as site:
        build(site)
        last = f"/list?n={N_TOPICS // 20 - 1}"
        hrefs = "".join(f'<a href="{trap.replace("&", "&amp;")}">trap</a>' for trap in traps).encode()
        plain = "".join(f'<a href="/topic?id={1000 + n}">topic</a>' for n in range(12)).encode()
        for path, answer in site.answers.items():
            assert isinstance(answer, Answer)
            if path == "/":
                answer.body = answer.body.replace(b"</body>", plain + b"</body>")  # fetched before there is a model
            elif path == last or path.startswith("/topic"):
                answer.body = answer.body.replace(b"</body>", hrefs + b"</body>")
        for n, trap in enumerate(traps):
            for path in (f"/topic?id={1000 + n}", trap):
                text = " ".join(random.Random(path if n == 6 else n).choices(WORDS, k=120))
                site.answers[path] = Answer(body=f"<title>Topic {1000 + n}</title><p>{text}</p>".encode())
        crawl = walk_and_learn(site, tmp_path, DEDUP_EXPLORATION="1.0")
        asked = {*site.asked}
    assert crawl.lines("ERROR") == []
    assert crawl.stats["dedup/models/learnt"] >= 1
    assert traps[6] in asked
    assert adds_up(crawl)
