"""A crawl of a made-up site against a seen set, in a process that is killed: ``python seen_crawl.py FILE LOG N_KILLS``.

Each form has four URLs, of which none, one or three fail. Most URLs are linked from only one page, so that a page is
missing at the end if its request or one of its substitutes was forgotten.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import deque
from pathlib import Path

from dedup_crawler.live.seen.memory import open_seen
from dedup_crawler.live.seen.protocol import Claim, SeenSet, Standing, form_digest, owner_tag

N_FORMS = 400
N_IN_FLIGHT = 4
START = "0a"


def form_of(url: str) -> str:
    return url[:-1]


def links_of(url: str) -> list[str]:
    """Return the children of a page in a tree by one of their URLs, and other pages by the other three."""
    form = int(form_of(url))
    children = [f"{child}a" for child in (2 * form + 1, 2 * form + 2) if child < N_FORMS]
    others = [f"{form * factor % N_FORMS}{letter}" for factor, letter in ((7, "b"), (11, "c"), (17, "d"))]
    return [*children, *others]


def fails(url: str) -> bool:
    form = int(form_of(url))
    if form % 4 == 3:
        return not url.endswith("abcd"[form // 4 % 4])
    return (form % 5 == 3 and url.endswith("a")) or (form % 5 == 4 and url.endswith("b"))


def reachable() -> set[str]:
    """Return the forms that a crawl without a filter fetches."""
    found, queue = {START}, deque([START])
    while queue:
        url = queue.popleft()
        if not fails(url):
            for link in links_of(url):
                if link not in found:
                    found.add(link)
                    queue.append(link)
    return {form_of(url) for url in found if not fails(url)}


async def crawl(seen: SeenSet, log: Path, pause_s: float) -> None:
    """Crawl until nothing is left; each fetched URL is a line in *log*."""
    queue = deque([*await seen.open(), START])
    sent: set[str] = set()
    with log.open("a", buffering=1) as fetched:
        while True:
            in_flight = [queue.popleft() for _ in range(min(N_IN_FLIGHT, len(queue)))]
            if not in_flight:
                queue.extend(await seen.abandoned())
                if not queue:
                    break
            for url in in_flight:
                digest = form_digest(form_of(url))
                if url not in sent:  # Scrapy's dupefilter
                    # the downloader side: requests returned by open() or released have no claim yet
                    holder = (await seen.claim([Claim(digest, owner_tag(url), 0, url)]))[0]
                    if holder.standing > Standing.OWN_SEEN and (
                        holder.standing is Standing.SEEN or await seen.wait(digest, url, owner_tag(url))
                    ):
                        continue
                    sent.add(url)
                    fetched.write(url + "\n")
                    await asyncio.sleep(pause_s)
                    queue.extend(await answer(seen, url))
    await seen.close(is_clean=True)


async def answer(seen: SeenSet, url: str) -> list[str]:
    """Return the URLs to fetch after the answer to *url*."""
    digest = form_digest(form_of(url))
    if fails(url):
        substitute = await seen.release(digest)
        return [] if substitute is None else [substitute]
    seen.answered(digest)
    links = links_of(url)
    claims = [Claim(form_digest(form_of(link)), owner_tag(link), 0, link) for link in links]
    found = []
    for link, claim, holder in zip(links, claims, await seen.claim(claims), strict=True):
        is_awaited = holder.standing is Standing.AWAITED
        if holder.standing <= Standing.OWN_SEEN or (
            is_awaited and not await seen.wait(claim.digest, link, owner_tag(link))
        ):
            found.append(link)
    seen.processed([digest])
    return found


def crawl_in_child(setting: str, log: Path, pause_s: float = 0.0) -> int:
    """Return the process id of a fork that crawls."""
    child = os.fork()
    if child == 0:
        asyncio.run(crawl(open_seen(setting, None), log, pause_s))
        os._exit(0)
    return child


if __name__ == "__main__":
    import random
    import signal

    setting, log, n_kills = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    open_seen(setting, None)  # imports the modules that the children need
    rng = random.Random(0)
    for _ in range(n_kills):
        child = crawl_in_child(setting, log, pause_s=0.002)
        time.sleep(rng.uniform(0.0, 0.25))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    _, status = os.waitpid(crawl_in_child(setting, log), 0)
    sys.exit(os.waitstatus_to_exitcode(status))
