"""Seen sets of every kind on one event loop, with restarts on the state of an earlier run."""

from __future__ import annotations

import asyncio
import itertools

from dedup_crawler.live.seen.memory import open_seen
from dedup_crawler.live.seen.protocol import Claim, Standing, form_digest, owner_tag

NEW, OWN, OWN_SEEN, AWAITED, SEEN = Standing
A, B = form_digest("/a"), form_digest("/b")
KINDS = ("memory", "sqlite", "redis")
_numbers = itertools.count()


class Sets:
    """Makes seen sets of one kind on one event loop; ``again`` starts the next run on the same state."""

    def __init__(self, place):
        self._place = place
        self._open = []
        self.loop = asyncio.new_event_loop()
        self.setting = None

    def fresh(self):
        """An empty set."""
        self.setting = self._place(next(_numbers))
        return self.again()

    def again(self):
        """The next run."""
        seen, _ = self.open()
        return seen

    def open(self, **options):
        """Start the next run; return the set, and the requests that it returns."""
        seen = open_seen(self.setting, None)
        self._open.append(seen)
        return seen, self.run(seen.open(**options))

    def run(self, coroutine):
        """Return the result of a coroutine."""
        return self.loop.run_until_complete(coroutine)

    def stop(self, seen, *, is_clean=False):
        """End a run."""
        self._open.remove(seen)
        self.run(seen.close(is_clean=is_clean))

    def close(self):
        """End all runs."""
        for seen in list(self._open):
            self.stop(seen)

    def claim(self, seen, digest, url, rules=0, invalid=()):
        """Return the standing that one claim finds."""
        return self.run(seen.claim([Claim(digest, owner_tag(url), rules, url)], invalid))[0]

    def wait(self, seen, digest, *urls):
        """Let *urls* wait."""
        for url in urls:
            assert self.run(seen.wait(digest, url, owner_tag(url)))


def sets_of(request, tmp_path):
    """Yield sets of the kind ``request.param``, closed after the test."""
    if request.param == "memory":
        made = Sets(lambda number: "memory")
    elif request.param == "sqlite":
        made = Sets(lambda number: str(tmp_path / f"{number}.seen"))
    else:
        server = request.getfixturevalue("redis_server")
        made = Sets(lambda number: server.url(f"laws{number}"))
    yield made
    made.close()
    made.loop.close()
