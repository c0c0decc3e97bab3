"""The law: a crawl with the filter reaches all pages that a crawl without it reaches.

It asks which pages a crawl without the filter would still get if it continued from the end of this one: the URLs that
the spider had links to, and that were not fetched completely, are followed through the graph of the site, with the
final answers of the site. So it does not depend on which requests met a wall, a fault or a kill.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from .server import Asked, fault_of
from .site import Redirect, Shown, Site, without_session
from .spec import RESET, SLOW

RETRY_TIMES = 1
_RETRIED = {"500", "503", RESET}


@dataclass
class Crawled:
    """Outcome of one crawl with all its processes."""

    asked: list[Asked]
    got: list[tuple[str, str]]
    """Page (or an empty text) and path of each callback, as the spider noted them."""
    killed: set[int]
    """Numbers of the runs that were killed."""
    lost_queues: set[int]
    """Numbers of the runs whose queued requests were lost: killed ones, and stopped ones without a JOBDIR."""
    stats: Sequence[Mapping[str, object]] = ()
    """Stats of each process that was not killed."""
    rules: Mapping[int, tuple[int, int, bool]] = field(default_factory=dict)
    """Place of a family -> explorations of its rule that agreed, that did not, and whether it is switched off."""
    log: str = ""
    statuses: list[int] = field(default_factory=list)
    cpu_s: float = 0.0
    wall_left: int = 0
    """Answers that a wall would still give after the end."""

    @property
    def reached(self) -> set[str]:
        """Return the pages that the spider's callbacks received."""
        return {page for page, _ in self.got if page}

    @property
    def n_fetched(self) -> int:
        """Return the number of requests to the site."""
        return len(self.asked)

    def count(self, stat: str) -> int:
        """Return the sum of a stat over all processes."""
        return sum(value for stats in self.stats if isinstance(value := stats.get(stat), int))


def left_unfetched(site: Site, crawled: Crawled, settled: Set[str]) -> set[str]:
    """Return paths that the spider had links or redirects to, and whose final answer it did not get."""
    linked = {"/"}
    for page in crawled.reached:
        linked.update(site.links[page])
    for asked in crawled.asked:
        answer = site.lookup(asked.path)
        # not each settled path: a wall or an error may have answered in place of the redirect, to any crawl
        if asked.outcome == "redirect" and asked.run not in crawled.lost_queues and isinstance(answer, Redirect):
            linked.add(answer.target)
    left = linked - settled
    return left if len(left) > crawled.wall_left else set()


def reachable(site: Site, starts: Iterable[str], reached: Iterable[str], settled: Set[str]) -> set[str]:
    """Return the further pages that a crawl without a filter gets from these paths."""
    known = set(reached)
    found: set[str] = set()
    queue = deque(starts)
    met = set(queue)
    while queue:
        page = in_the_end(site, queue.popleft(), settled)
        if page is None or page in known or page in found:
            continue
        found.add(page)
        for link in site.links[page]:
            if link not in met:
                met.add(link)
                queue.append(link)
    return found


def in_the_end(site: Site, path: str, settled: Set[str]) -> str | None:
    """Return the final page of a path, without following redirects to URLs that were requested before."""
    for _ in range(20):
        if path in site.way_of:
            fault = fault_of(site, path)
            if fault is not None and not fault.n_asks and fault.what != SLOW:
                return None
        answer = site.answers.get(path)
        if not isinstance(answer, Redirect):
            return answer.page if isinstance(answer, Shown) else None
        path = answer.target
        if path in settled:  # Scrapy's dupefilter drops it
            return None
    return None


def settled_in(crawled: Crawled) -> set[str]:
    """Return the paths with a final answer."""
    noted = {without_session(path) for _, path in crawled.got}
    n_asked: Counter[str] = Counter()
    settled = set()
    for asked in crawled.asked:
        path = without_session(asked.path)
        is_error = asked.outcome.isdigit() and asked.outcome not in _RETRIED
        if asked.run in crawled.killed and path not in noted and not is_error:
            continue  # the answer may not have arrived; after an error no second try comes
        if asked.outcome == "redirect" and asked.run in crawled.lost_queues:
            continue  # the request for its target may have been in the queue
        n_asked[path] += 1
        if asked.outcome not in _RETRIED or n_asked[path] > RETRY_TIMES:
            settled.add(path)
    return settled
