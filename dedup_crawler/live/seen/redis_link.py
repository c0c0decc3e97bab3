"""The connection to Redis of one crawler: commands with a time limit, and a pause after each failure."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from dedup_crawler.errors import BadInputError, MissingExtraError, SeenError, SeenUnavailableError
from dedup_crawler.live.seen.redis_script import SCRIPTS

if TYPE_CHECKING:
    from redis.asyncio import Redis

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_VERSION = b"3"
_FIRST_PAUSE_S = 0.25
_MAX_PAUSE_S = 15.0


class RedisLink:
    """Sends commands to the Redis at *url*; after a failure, all raise :class:`SeenUnavailableError` for a while.

    The *url* is ``redis://[user:password@]host:port/db?name=NAME`` (also ``rediss://`` and ``unix://``); *name*
    (default ``dedup``) is the prefix of all keys. Redis has *timeout_s* seconds to answer.

    BadInputError if *url* cannot be parsed. MissingExtraError if the package ``redis`` is not installed.
    """

    def __init__(self, url: str, *, timeout_s: float) -> None:
        try:
            from redis.asyncio import Redis
            from redis.asyncio.retry import Retry
            from redis.backoff import NoBackoff
            from redis.exceptions import RedisError
        except ImportError as error:
            raise MissingExtraError("a seen set in Redis", "redis", "redis") from error
        self.place = _without_password(url)
        address, self.name = _split_name(url, self.place)
        self._failures = (RedisError, OSError, asyncio.TimeoutError)
        try:
            self._redis: Redis = Redis.from_url(
                address,
                socket_timeout=timeout_s,
                socket_connect_timeout=timeout_s,
                retry=Retry(NoBackoff(), 1),  # reopens at once a connection that Redis has closed
            )
        except (ValueError, TypeError) as error:
            raise BadInputError(f"{self.place} is no Redis URL ({error}): give redis://HOST:PORT/DB") from error
        self._scripts = {command: self._redis.register_script(script) for command, script in SCRIPTS.items()}
        self._pause_s = _FIRST_PAUSE_S
        self._next_try = 0.0
        self._failure = ""

    async def run(self, crawler: str, command: str, *arguments: str | bytes | int) -> Any:
        """Run one of our commands, and return its result."""
        return await self._ask(self._scripts[command], args=(self.name, crawler, *arguments))

    async def command(self, *words: str | bytes) -> Any:
        """Run a command of Redis, and return its result."""
        return await self._ask(self._redis.execute_command, *words)

    def key(self, name: str) -> str:
        """Return the name of a key, with the prefix."""
        return f"{self.name}:{name}"

    async def check_version(self) -> None:
        """Refuse keys of another version; write our version to an empty Redis."""
        await self.command("HSETNX", self.key("facts"), "version", _VERSION)
        version = await self.command("HGET", self.key("facts"), "version")
        if version != _VERSION:
            raise SeenError(
                f"{self.place}: the keys {self.key('*')} have version {version!r}, this program reads {_VERSION!r}: "
                "give another ?name="
            )

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    def seconds_to_next_try(self) -> float:
        """Seconds until Redis is asked again; 0 if it can be asked now."""
        return max(0.0, self._next_try - asyncio.get_running_loop().time())

    async def _ask(self, ask: Callable[..., Awaitable[Any]], *arguments: Any, **named: Any) -> Any:
        loop = asyncio.get_running_loop()
        if loop.time() < self._next_try:
            raise SeenUnavailableError(self._failure)
        try:
            answer = await ask(*arguments, **named)
        except self._failures as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            self._next_try = loop.time() + self._pause_s
            self._pause_s = min(2 * self._pause_s, _MAX_PAUSE_S)
            self._failure = f"{self.place}: {reason}: start Redis, or look at its log"
            raise SeenUnavailableError(self._failure) from error
        self._pause_s = _FIRST_PAUSE_S
        return answer


def _split_name(url: str, shown: str) -> tuple[str, str]:
    """Return the address for Redis's client, and the prefix of the keys."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    name = dict(query).get("name", "dedup")
    if not _NAME.fullmatch(name):
        raise BadInputError(f"{shown}: {name!r} is no name for keys: use letters, digits and any of _.- (up to 100)")
    rest = urlencode([(key, value) for key, value in query if key != "name"])
    return urlunsplit(parts._replace(query=rest)), name


def _without_password(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//***@", url, count=1)
