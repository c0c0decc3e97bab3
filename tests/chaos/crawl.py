"""Runs the crawls of one spec: without the filter, and with it, including its stops and restarts."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.fork_server import ROOT, Fork

from .law import RETRY_TIMES, Crawled
from .model import rule_names, save_model
from .server import Server
from .site import Site
from .spec import Spec, Stop

TIMEOUT_S = 300
"""A crawl that takes longer hangs. On a slow machine, beside other work, one took more than 90 seconds."""
LEARNING_S = 40.0
_ANSWERS_FIRST = 30  # answers of a process before the site waits: the process learns from stored pages
LEARNT = "Learnt from the crawl so far"


class Crawls:
    """Crawls of specs, one after another."""

    _fork: Fork

    def run(self, spec: Spec) -> tuple[Site, Crawled, Crawled]:
        """Run a spec: the site, the crawl without the filter, and the crawl with it."""
        [crawls] = self.repeat(spec, 1)
        return crawls

    def repeat(self, spec: Spec, n: int) -> Iterator[tuple[Site, Crawled, Crawled]]:
        """Run a spec, and *n* crawls with the filter: stops hit each at other moments."""
        site = Site(spec)
        with tempfile.TemporaryDirectory(prefix="chaos-") as name, Server(site) as server:
            folder = Path(name)
            plain = self._without(server, folder / "plain")
            for number in range(n):
                server.begin()
                yield site, plain, self._with(server, folder / f"filtered{number}")

    def _without(self, server: Server, folder: Path) -> Crawled:
        folder.mkdir()
        return self._crawl(server, folder, _settings(server.spec))

    def _with(self, server: Server, folder: Path) -> Crawled:
        folder.mkdir()
        spec = server.spec
        settings = {**_settings(spec), "DEDUP_EXPLORATION": spec.exploration}
        if spec.middlewares == "both":
            settings["ADDONS"] = {"dedup_crawler.Addon": 500}
        else:
            settings["DOWNLOADER_MIDDLEWARES"] = {"dedup_crawler.DuplicateFilterMiddleware": 120}
        if spec.learn_after:
            settings |= {"DEDUP_LEARN_AFTER": spec.learn_after, "DEDUP_COLLECT": str(folder / "crawl.db")}
            server.hold = _awaited(folder / "log", server, spec.learn_after)
        else:
            settings["DEDUP_MODEL"] = str(save_model(server.site, server.host, folder / "model"))
        if spec.kept == "job":
            settings["JOBDIR"] = str(folder / "job")
        elif spec.kept == "file":
            settings["DEDUP_SEEN"] = str(folder / "forms.seen")
        if spec.kept == "redis":
            return self._in_redis(server, folder, settings)
        return self._crawl(server, folder, settings, spec.stops)

    def _in_redis(self, server: Server, folder: Path, settings: dict[str, Any]) -> Crawled:
        from tests.support.redis_server import RedisServer

        redis = RedisServer(folder)
        try:
            # with a JOBDIR the next process knows at once that the one before is dead
            settings |= {"DEDUP_SEEN": redis.url("chaos"), "JOBDIR": str(folder / "job")}

            def restart() -> None:
                redis.stop()
                redis.start()

            moments = {25 + 30 * n: restart for n in range(server.spec.redis_restarts)}
            return self._crawl(server, folder, settings, server.spec.stops, moments)
        finally:
            redis.stop()

    def _crawl(
        self,
        server: Server,
        folder: Path,
        settings: dict[str, Any],
        stops: Sequence[Stop] = (),
        moments: Mapping[int, Callable[[], None]] | None = None,
    ) -> Crawled:
        """Run all processes of a crawl: one until each stop, and one until the end."""
        job = {name: str(folder / name) for name in ("out", "stats")} | {"settings": settings, "url": server.url}
        killed, lost_queues, statuses, cpu_s = set(), set(), [], 0.0
        for stop in (*stops, None):
            happening = dict(moments or {})
            happening[4 * len(server.site.answers) + 500] = self._killer(signal.SIGABRT)  # the crawl loops
            if stop is not None:
                happening[stop.n_asked] = self._killer(signal.SIGKILL if stop.is_kill else signal.SIGINT)
            server.next_run(happening)
            with (folder / "log").open("ab") as log_file:
                line = ["tests.chaos.spider", json.dumps(job)]
                self._fork = Fork(line, ROOT, os.environ, log_file.fileno(), log_file.fileno())
            watch = threading.Timer(TIMEOUT_S, self._killer(signal.SIGABRT))
            watch.start()
            status = self._fork.wait()
            watch.cancel()
            statuses.append(status)
            cpu_s += self._fork.cpu_s
            if status == -signal.SIGKILL:
                killed.add(server.run)
                server.unsaved_runs.add(server.run)
            if status == -signal.SIGKILL or (stop is not None and "JOBDIR" not in settings):
                lost_queues.add(server.run)
        lines = (folder / "out").read_text(encoding="utf-8").splitlines() if (folder / "out").exists() else []
        got = [(page, path) for page, _, path in (line.partition("\t") for line in lines)]
        stats = [*map(json.loads, (folder / "stats").read_text().splitlines())] if (folder / "stats").exists() else []
        log = (folder / "log").read_text(encoding="utf-8", errors="replace")
        rules = _evidence(server, folder)
        return Crawled(server.log, got, killed, lost_queues, stats, rules, log, statuses, cpu_s, server.wall_left)

    def _killer(self, number: int) -> Callable[[], None]:
        """Return a function that sends a signal to the running crawl."""
        return lambda: os.kill(self._fork.pid, number)


def _settings(spec: Spec) -> dict[str, Any]:
    order = "Lifo" if spec.is_lifo else "Fifo"
    return {
        "CONCURRENT_REQUESTS": spec.concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": spec.concurrency,
        "CONCURRENT_ITEMS": 16,  # Scrapy makes so many tasks for each answer: its usual 100 cost a quarter of a crawl
        "DOWNLOAD_DELAY": 0,
        "AUTOTHROTTLE_ENABLED": False,
        "RETRY_TIMES": RETRY_TIMES,
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "LOGSTATS_INTERVAL": 0,
        "LOG_LEVEL": "INFO",
        "SCHEDULER_MEMORY_QUEUE": f"scrapy.squeues.{order}MemoryQueue",
        "SCHEDULER_DISK_QUEUE": f"scrapy.squeues.Pickle{order}DiskQueue",
    }


def _evidence(server: Server, folder: Path) -> dict[int, tuple[int, int, bool]]:
    """Counts of each family's rule: agreed, disagreed, switched off."""
    found = {}
    numbers = {rule: number for number, rule in rule_names(server.site, server.host).items()}
    for path in folder.glob("model.evidence.json"):
        for rule, counts in json.loads(path.read_text(encoding="utf-8"))["rules"].items():
            if rule in numbers:
                found[numbers[rule]] = (counts["agreed"], counts["disagreed"], counts["switched_off"])
    return found


def _awaited(log: Path, server: Server, learn_after: int) -> Callable[[], bool]:
    """Makes the site wait for a crawl to learn, as if its pages took as long as learning does.

    Each process of a crawl learns again, so the site waits for each.
    """
    deadlines: dict[int, float] = {}

    def is_awaited() -> bool:
        n_of_run = sum(asked.run == server.run for asked in server.log[-_ANSWERS_FIRST:])
        saved = {asked.path for asked in server.log if asked.run not in server.unsaved_runs}
        if len(saved) <= learn_after + _ANSWERS_FIRST or n_of_run < _ANSWERS_FIRST:
            return False
        if time.monotonic() > deadlines.setdefault(server.run, time.monotonic() + LEARNING_S):
            return False
        return LEARNT not in log.read_text(encoding="utf-8", errors="replace")

    return is_awaited
