"""Crawls in forked processes: ``python -m chaos.zygote`` imports Scrapy once and forks for each crawl that it is told.

One line of JSON on its input is a crawl: ``{"settings": {...}, "url": ..., "out": ..., "log": ..., "stats": ...}``. It
says the process id of the crawl, and its exit status when it has ended, each on a line. Nothing is imported that
installs a reactor: each child makes its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAX_CPU_S = 60
ROOT = Path(__file__).resolve().parents[2]


class Zygote:
    """The process that forks; one crawl at a time."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.zygote"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # whoever presses Ctrl-C stops the harness, and no crawl in disorder
        )

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def start(self, job: dict[str, Any]) -> None:
        """Begin a crawl."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        self._pid = int(self._read())

    def killer(self, number: int) -> Callable[[], None]:
        """Return a function that sends a signal to the running crawl."""
        return lambda: os.kill(self._pid, number)

    def wait(self) -> tuple[int, float]:
        """Exit status of the crawl that was begun (negative: the signal that killed it), and its CPU seconds."""
        status, cpu_s = self._read().split()
        return int(status), float(cpu_s)

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process that forks crawls has died")
        return line


def crawl(job: dict[str, Any]) -> None:
    """One crawl, in this process."""
    from scrapy.crawler import AsyncCrawlerProcess

    from .spider import Stranger

    process = AsyncCrawlerProcess(job["settings"])
    crawler = process.create_crawler(Stranger)
    process.crawl(crawler, url=job["url"], out=job["out"])
    process.start()
    stats = crawler.stats.get_stats() if crawler.stats is not None else {}
    with Path(job["stats"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(stats, default=str) + "\n")
    if process.bootstrap_failed:
        raise SystemExit(1)


def main() -> None:
    """Fork for each line."""
    import dedup_crawler.live.comparing.site_texts
    import dedup_crawler.live.seen.sqlite
    import dedup_crawler.methods.verified  # noqa: F401
    from tests.fork_server import load

    from . import spider  # noqa: F401

    load()
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _child(job)
        print(pid, flush=True)
        _, status, used = os.wait4(pid, 0)
        print(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, flush=True)


def _child(job: dict[str, Any]) -> None:
    status = 1
    try:
        # the end of one that goes round and round, when the harness is gone too
        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))
        os.close(0)
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(log, 1)
        os.dup2(log, 2)
        crawl(job)
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except Exception:  # noqa: BLE001 - the log is all that is left of it
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    main()
