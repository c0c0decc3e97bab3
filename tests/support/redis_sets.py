"""Seen sets of several crawlers on one Redis."""

from __future__ import annotations

import asyncio
import functools

from dedup_crawler.live.seen.protocol import Claim
from dedup_crawler.live.seen.redis import RedisSeenSet


def on_a_loop(test):
    """Run a coroutine function as a test."""
    return functools.wraps(test)(lambda *given, **named: asyncio.run(test(*given, **named)))


async def opened(url, **options):
    seen = RedisSeenSet(url, timeout_s=2.0, **options)
    await seen.open()
    return seen


async def standing(seen, digest, owner=1):
    return (await seen.claim([Claim(digest, owner, 0, f"request {owner}")]))[0].standing


async def until(condition):
    """Wait until the coroutine function *condition* returns a true value; return it."""
    deadline = asyncio.get_running_loop().time() + 600
    while not (found := await condition()):
        assert asyncio.get_running_loop().time() < deadline
        await asyncio.sleep(0.05)
    return found
