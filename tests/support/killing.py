"""Crawls that are killed at random moments and resumed until they end, and the cost of that."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from live_site import Answer, Site, start, wait_until, walk_command

if TYPE_CHECKING:
    import subprocess
    from random import Random

    from tests.support.fork_server import Fork

CONCURRENCY = 8
PER_KILL = 3 * CONCURRENCY
"""Maximum of pages fetched again per kill: those in flight, those that the spider had not processed (as many, or more
on a busy computer), and the start page."""
TIME_LIMIT_S = 600


def build(site: Site, n_pages: int) -> None:
    """Pages with two URLs each, all reached in several ways; every tenth first URL fails, every seventh redirects."""
    site.robots()
    site.page("/", *(f"/page{n}?v=1" for n in range(0, n_pages, 10)))
    for n in range(n_pages):
        links = [f"/page{(n + step) % n_pages}?v={version}" for step in (1, 2, 5) for version in (1, 2)]
        text = f"<p>{chr(ord('a') + n % 26) * (1 + n // 26)}</p>"  # equal pages could be a wall
        for version in (1, 2):
            site.page(f"/page{n}?v={version}", *links, html=text)
        if n % 10 == 3:
            site.page(f"/page{n}?v=1", status=404)
        elif n % 7 == 5:
            site.redirect(f"/page{n}?v=1", f"/page{n}?v=3")
            site.page(f"/page{n}?v=3", *links, html=text)


def begin(site: Site, folder: Path, **settings: object) -> subprocess.Popen[bytes] | Fork:
    """Start a crawl."""
    with (folder / "log").open("w") as log:
        return start(walk_command(site, folder, **settings), folder, log)


def wait_for(site: Site, n_asked: int) -> None:
    """Wait until the site has had *n* requests."""
    wait_until(lambda: len(site.asked) >= n_asked, interval_s=0.005)


@dataclass
class Ended:
    """Outcome of a crawl after all its kills."""

    n_kills: int
    lost: list[str]
    """Pages that no callback received."""
    n_again: int
    """Number of requests for pages that had been received before, under any URL."""
    most_again: int
    """Largest number of such requests after one kill."""
    logs: list[str]


def form_of(url: str) -> str:
    """Return the page that a URL shows."""
    return url.partition("?")[0]


def crawl_with_kills(
    site: Site, folder: Path, draw: Random, *, n_kills: int, n_pages: int, per_run: int, **settings: Any
) -> Ended:
    """Kill the crawl after up to *per_run* requests, at most *n_kills* times, then let it end."""
    line = walk_command(site, folder, CONCURRENT_REQUESTS=CONCURRENCY, **settings)
    killed, again, logs = 0, [], []
    is_done = False
    while not is_done:
        n_before = len(site.asked)
        target = n_before + draw.randint(1, per_run) if killed < n_kills else None
        jitter_s = draw.random() * 0.03  # a dozen pages; more would end the crawl before its last kill
        with (folder / "log").open("w+") as log:
            crawl = start(line, folder, log)
            deadline = time.monotonic() + TIME_LIMIT_S
            while crawl.poll() is None:
                if time.monotonic() > deadline:
                    crawl.kill()
                    raise AssertionError((folder / "log").read_text()[-2000:])
                if target is not None and len(site.asked) >= target:
                    time.sleep(jitter_s)
                    crawl.send_signal(signal.SIGKILL)
                    break
                time.sleep(0.002)
            is_done = crawl.wait() != -signal.SIGKILL
            killed += not is_done
            log.seek(0)
            logs.append(log.read())
        again.append(_n_again(site, n_before))
    got = {form_of(url.removeprefix(site.url)) for url in (folder / "got").read_text().split()}
    wanted = {"/", *(f"/page{n}" for n in range(n_pages))}
    return Ended(killed, sorted(wanted - got), sum(again), max(again), logs)


def _n_again(site: Site, n_before: int) -> int:
    """Return how many requests from the *n_before*-th on were for pages that had been received before."""
    n_again = 0
    given = set()
    for i, path in enumerate(site.asked):
        answer = site.answers[path]
        if path != "/robots.txt" and isinstance(answer, Answer) and answer.status == 200:
            n_again += i >= n_before and form_of(path) in given
            given.add(form_of(path))
    return n_again


def stop_after(site: Site, folder: Path, n_asked: int, how: signal.Signals, **settings: Any) -> str:
    """Start a crawl, send a signal after *n_asked* more requests, and return its log."""
    target = len(site.asked) + n_asked
    with (folder / "log").open("w+") as log:
        crawl = start(walk_command(site, folder, **settings), folder, log)
        deadline = time.monotonic() + TIME_LIMIT_S
        while len(site.asked) < target and crawl.poll() is None:
            assert time.monotonic() < deadline, (folder / "log").read_text()[-2000:]
            time.sleep(0.002)
        crawl.send_signal(how)
        crawl.wait(TIME_LIMIT_S)
        log.seek(0)
        return log.read()
