"""The set in memory, and the setting that chooses a seen set."""

from __future__ import annotations

import asyncio
import sys
import tracemalloc
from pathlib import Path

import pytest

from dedup_crawler.errors import BadInputError, MissingExtraError
from dedup_crawler.live.seen import memory
from dedup_crawler.live.seen.memory import MemorySeenSet, open_seen
from dedup_crawler.live.seen.protocol import Claim, at_once, form_digest


def test_without_a_setting_a_crawl_that_can_be_resumed_has_a_file(tmp_path):
    """A job folder gets a file; without one, or if the setting says so, the set is in memory."""
    assert open_seen(None, tmp_path)._path == tmp_path / "dedup.seen"
    assert isinstance(open_seen(None, None), MemorySeenSet)
    assert isinstance(open_seen("memory", tmp_path), MemorySeenSet)


@pytest.mark.parametrize(
    ("setting", "path"),
    [
        ("crawl.seen", "crawl.seen"),
        ("./crawl", "crawl"),
        ("/var/crawl", "/var/crawl"),
        ("sqlite:///crawl.seen", "crawl.seen"),
        ("sqlite:////var/crawl", "/var/crawl"),
    ],
)
def test_paths(setting, path):
    """A path is written as it is, or as an SQLite URL."""
    assert open_seen(setting, None)._path == Path(path)


@pytest.mark.parametrize(
    "setting", ["memroy", "Memory", "sqlite://", "sqlite:///", "sqlite://host/x", "mysql://host/x"]
)
def test_what_is_no_place_is_refused(setting):
    """A misspelt word creates no file, and the error for an unknown scheme names valid ones."""
    with pytest.raises(BadInputError, match="memory"):
        open_seen(setting, None)


def test_redis_is_an_extra(monkeypatch):
    """Without the package the message says how to install it."""
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(MissingExtraError, match=r"dedup-crawler\[redis\]"):
        open_seen("redis://127.0.0.1:6379/0", None)


def test_a_seen_form_costs_less_than_60_bytes():
    """The form itself is not kept, nor its URL."""
    tracemalloc.start()
    try:
        seen = MemorySeenSet()
        for n in range(100_000):
            digest = form_digest(str(n))
            at_once(seen.claim([Claim(digest, n & 0xFFFF)]))
            seen.answered(digest)
        n_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert n_bytes / 100_000 < 60


def test_substitutes_are_bounded(monkeypatch):
    """The number of substitutes is bounded over all forms; a place is free once one was returned or claimed."""
    monkeypatch.setattr(memory, "MAX_SUBSTITUTES", 2)

    async def crawl():
        seen = MemorySeenSet()
        a, b = form_digest("/a"), form_digest("/b")
        at_once(seen.claim([Claim(a, 1), Claim(b, 1)]))
        assert await seen.wait(a, "/a?2", 2)
        assert await seen.wait(a, "/a?3", 3)
        assert await seen.wait(a, "/a?3", 3)
        assert not await seen.wait(b, "/b?2", 2)
        assert await seen.release(a) == "/a?2"
        assert await seen.wait(b, "/b?2", 2)
        assert not await seen.wait(b, "/b?3", 3)
        at_once(seen.claim([Claim(a, 3)]))
        assert await seen.wait(b, "/b?3", 3)
        seen.answered(b)
        assert await seen.wait(a, "/a?4", 4)
        assert await seen.wait(a, "/a?5", 5)
        assert not await seen.wait(a, "/a?6", 6)
        assert await seen.abandoned() == ["/a?4"]
        at_once(seen.claim([Claim(b, 9), Claim(a, 4)]))
        assert await seen.wait(a, "/a?7", 7)
        assert (await seen.clear()).waiting == ["/a?5", "/a?7"]
        at_once(seen.claim([Claim(a, 1)]))
        assert await seen.wait(a, "/a?2", 2)
        assert await seen.wait(a, "/a?3", 3)

    asyncio.run(crawl())
