"""Seen sets whose Redis stops, hangs, forgets, or cannot be used."""

from __future__ import annotations

import asyncio
import signal

import pytest

from dedup_crawler.errors import BadInputError, SeenError, SeenUnavailableError
from dedup_crawler.live.seen.memory import open_seen
from dedup_crawler.live.seen.protocol import form_digest
from redis_server import RedisServer, require_redis

pytest.importorskip("redis")

from dedup_crawler.live.seen.redis import RedisLink, RedisSeenSet
from redis_sets import on_a_loop, opened, standing, until
from seen_sets import AWAITED, NEW, SEEN, A, B

C = form_digest("/c")


@pytest.fixture
def own_server(tmp_path, request):
    """A Redis that a test may stop; persistent if requested."""
    require_redis()
    server = RedisServer(tmp_path, is_persistent=getattr(request, "param", False))
    yield server
    server.stop()


@on_a_loop
@pytest.mark.parametrize("own_server", [True, False], ids=["persistent", "forgetful"], indirect=True)
async def test_redis_is_stopped_and_started_again(own_server, request):
    """
    While Redis is unavailable a claim fails soon, and processed pages are remembered. Afterwards claims work again, the
    processed page is seen if Redis remembers its claim, and a missing key is no error.
    """
    is_persistent = "persistent" in request.node.name
    seen, other = await opened(own_server.url("away")), await opened(own_server.url("away"))
    assert [await standing(seen, digest) for digest in (A, B)] == [NEW, NEW]
    seen.answered(A)
    own_server.stop()
    for _ in range(3):
        with pytest.raises(SeenUnavailableError, match="start Redis"):
            await standing(seen, C)
    with pytest.raises(SeenUnavailableError):
        await seen.wait(B, "/b?2", 2)
    seen.processed([A])
    assert await seen.wait(A, "/a?2", 2)
    own_server.start()

    async def is_back():
        try:
            await standing(seen, form_digest("/probe"))
            return not seen._news  # the pages processed meanwhile were sent
        except SeenUnavailableError:
            return False

    await until(is_back)
    assert await standing(other, A, 2) is (SEEN if is_persistent else NEW)
    assert await standing(other, B, 2) is (AWAITED if is_persistent else NEW)
    assert await seen.release(B) is None
    assert await standing(seen, C) is NEW
    assert await seen.abandoned() == []
    await seen.close(is_clean=True)
    await other.close(is_clean=True)


def test_a_crawl_ends_without_its_redis(own_server, caplog):
    """Closing while Redis is unavailable is no failure; one line says how many pages were not noted."""

    async def crawl():
        seen = await opened(own_server.url("end"))
        await standing(seen, A)
        own_server.stop()
        seen.answered(A)
        seen.processed([A])
        await seen.close(is_clean=True)

    asyncio.run(crawl())

    assert "1 pages are not noted" in caplog.text


@on_a_loop
async def test_what_cannot_be_sent_is_bounded(own_server, monkeypatch):
    """If Redis is unavailable for long, the oldest processed pages are forgotten; they will be fetched again."""
    monkeypatch.setattr("dedup_crawler.live.seen.redis._MAX_NEWS", 10)
    seen = await opened(own_server.url("long"))
    own_server.stop()
    for n in range(100):
        digest = form_digest(str(n))
        seen.answered(digest)
        seen.processed([digest])
    assert len(seen._news) == len(seen._answered) == 10
    await seen.close(is_clean=False)


def test_a_crawler_does_not_wait_for_a_redis_that_hangs(own_server):
    """A Redis that never answers counts as unavailable: after the time limit, and then at once."""

    async def crawl():
        seen = RedisSeenSet(own_server.url("hangs"), timeout_s=0.2)
        await seen.open()
        own_server._process.send_signal(signal.SIGSTOP)
        loop = asyncio.get_running_loop()
        start = loop.time()
        for _ in range(5):
            with pytest.raises(SeenUnavailableError):
                await standing(seen, A)
        took_s = loop.time() - start
        own_server._process.send_signal(signal.SIGCONT)
        await seen.close(is_clean=True)
        return took_s

    assert asyncio.run(crawl()) < 5


def test_a_redis_that_cannot_be_used(own_server):
    """No Redis, keys of a newer version, an invalid URL: one line, without the password."""
    with pytest.raises(SeenError, match="start Redis") as caught:
        asyncio.run(open_seen("redis://:secret@127.0.0.1:1/0", None).open())
    assert "secret" not in str(caught.value)

    own_server.ask("HSET newer:facts version 4")
    with pytest.raises(SeenError, match="name="):
        asyncio.run(open_seen(own_server.url("newer"), None).open())

    for url in ("redis://127.0.0.1:port/0", "redis://127.0.0.1/0?name=a*b", "redis://127.0.0.1/0?name="):
        with pytest.raises(BadInputError):
            RedisLink(url, timeout_s=1.0)
