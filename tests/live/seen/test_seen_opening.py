"""The setting that chooses a seen set."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dedup_crawler.errors import BadInputError, MissingExtraError
from dedup_crawler.live.seen.memory import MemorySeenSet, open_seen


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
