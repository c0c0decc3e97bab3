"""Seen set in Redis, which several crawlers can share.

One command claims a whole batch. Each crawler renews a key that expires by Redis's clock. When the key is gone, the
crawler's awaited forms are free, and one of the other crawlers receives its unfinished requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from dedup_crawler.errors import BadInputError, MissingExtraError, SeenError, SeenUnavailableError
from dedup_crawler.live.seen.protocol import DIGEST_SIZE, Claim, Cleared, Holder, SeenSet, Standing
from dedup_crawler.live.seen.redis_script import SCRIPTS

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

_CLAIMS_AT_ONCE = 500
_NEWS_AT_ONCE = 1_000
_MAX_NEWS = 100_000
_N_GIVEN = 1_000
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_VERSION = b"3"
_FIRST_PAUSE_S = 0.25
_MAX_PAUSE_S = 15.0


class RedisSeenSet(SeenSet):
    """Seen and awaited forms in Redis (at *url*, see :class:`RedisLink`), for any number of crawlers.

    A crawler counts as dead after *heartbeat_s* seconds without a heartbeat. Redis has *timeout_s* seconds to answer.
    """

    is_durable = True
    is_local = False

    def __init__(self, url: str, *, heartbeat_s: float = 30.0, timeout_s: float = 5.0) -> None:
        self._link = RedisLink(url, timeout_s=timeout_s)
        self._heartbeat_s = heartbeat_s
        self._heartbeat_ms = int(heartbeat_s * 1000)
        self.process = secrets.token_hex(4)  # random: a counter in Redis may be lost
        self._n = 0
        self._answered: set[bytes] = set()  # answered forms that Redis does not know as seen yet
        self._news: dict[int, tuple[str, bytes, str | bytes]] = {}  # pending news, in order: kind, subject, rest
        self._numbers = itertools.count()
        self._lives: dict[bytes, int] = {}  # other crawlers with unfinished forms -> remaining milliseconds
        self._known_alive: set[bytes] = set()
        self._sending = asyncio.Lock()
        self._has_news = asyncio.Event()
        self._is_closing = False

    async def open(self, *, queue_survives: bool = False, killed: str | None = None) -> list[str]:
        """Report that this crawler is alive; return up to 1,000 requests and 1,000 drops of crawlers that died."""
        try:
            await self._link.check_version()
            await self._beat()
            if killed is not None:
                await self._link.command("DEL", self._link.key(f"alive:{killed}"))
            texts = await self._run("rescue", _N_GIVEN)
        except SeenError:
            await self._link.close()
            raise
        self._task = asyncio.get_running_loop().create_task(self._keep_alive())
        return _as_texts(texts)

    async def claim(self, claims: Sequence[Claim], invalid: Collection[int] = ()) -> list[Holder]:
        """Return the finding of each claim."""
        codes = b"".join(map(_code, invalid))
        holders: list[Holder] = []
        for start in range(0, len(claims), _CLAIMS_AT_ONCE):
            portion = claims[start : start + _CLAIMS_AT_ONCE]
            arguments: list[str | bytes] = []
            for claim in portion:
                arguments += (claim.digest, _tag(claim.owner, claim.rules), claim.text() or "")
            self._n, *replies = await self._run("claim", self._heartbeat_ms, codes, *arguments)
            holders += [self._holder(claim, reply) for claim, reply in zip(portion, replies, strict=True)]
        return holders

    def _holder(self, claim: Claim, reply: int) -> Holder:
        standing = Standing(reply >> 16)
        if standing is Standing.NEW:
            self._answered.discard(claim.digest)
        elif claim.digest in self._answered:
            standing = Standing.OWN_SEEN if standing <= Standing.OWN_SEEN else Standing.SEEN
        return Holder(standing, reply & 0xFFFF)

    async def wait(self, digest: bytes, substitute: str, owner: int) -> bool:
        """Keep *substitute* in Redis."""
        if digest in self._answered:
            return True
        # not after all news: those of the drops on this page would be sent one by one
        return bool(await self._link.run(self.process, "wait", digest, owner.to_bytes(4, "big"), substitute))

    def answered(self, digest: bytes) -> None:
        """Note that the form is seen for this process; for others when its page is processed."""
        self._answered.add(digest)

    def processed(self, digests: Iterable[bytes]) -> None:
        """Note that the forms are seen; Redis is told within a moment."""
        self._tell("processed", b"".join(digests))
        self.flush()

    async def release(self, digest: bytes) -> str | None:
        """Free the form; return its oldest substitute, which Redis keeps until it is claimed."""
        self._n, text = await self._run("release", digest)
        self._answered.discard(digest)
        for number, (kind, digests, _) in self._news.items():
            if kind == "processed" and digest in _split(digests):
                self._news[number] = kind, b"".join(each for each in _split(digests) if each != digest), b""
        return None if text is None else text.decode()

    async def abandoned(self, *, is_idle: bool = True) -> list[str]:
        """Return the substitutes of unanswered requests (*is_idle*), and the requests of dead crawlers."""
        texts: list[bytes] = []
        if is_idle:
            texts = await self._run("swallowed", _N_GIVEN, *self._answered)
            await self._beat()  # to update the size of the set, which is smaller now
        texts += await self._run("rescue", _N_GIVEN)
        return _as_texts(texts)

    async def may_be_given_more(self) -> bool:
        """Return True if a crawler with unfinished forms may be dead: its key has not expired, and was not renewed."""
        left = await self._run("others")
        lives = dict(zip(left[::2], left[1::2], strict=True))
        renewed = {crawler for crawler, left_ms in lives.items() if left_ms > self._lives.get(crawler, left_ms)}
        alive = {crawler for crawler, left_ms in lives.items() if left_ms > 0}
        self._known_alive = (self._known_alive | renewed) & alive  # a crawler that has just died left requests
        self._lives = lives
        return not self._known_alive.issuperset(lives)

    def restore(self, claims: Sequence[Claim]) -> None:
        """Mark the forms as seen, unless they are claimed; Redis is told before the next question."""
        for claim in claims:
            self._tell("restored", claim.digest, _tag(claim.owner, claim.rules), is_bounded=False)

    async def share_tests(self, own: Mapping[str, tuple[int, int, bool]]) -> Mapping[str, tuple[int, int, bool]]:
        """Write the tests of this process; return the sums of all others, including ended ones."""
        if own:
            fields = {f"{self.process} {rule}": " ".join(str(int(each)) for each in told) for rule, told in own.items()}
            await self._link.command("HSET", self._link.key("tests"), *itertools.chain.from_iterable(fields.items()))
        others: dict[str, tuple[int, int, bool]] = {}
        for field, told in (await self._link.command("HGETALL", self._link.key("tests"))).items():
            process, _, rule = field.decode().partition(" ")
            if process != self.process:
                n_agreed, n_disagreed, is_off = others.get(rule, (0, 0, False))
                agreed, disagreed, off = map(int, told.split())
                others[rule] = n_agreed + agreed, n_disagreed + disagreed, is_off or bool(off)
        return others

    async def note(self, key: str, text: str) -> None:
        """Keep a fact."""
        await self._link.command("HSET", self._link.key("facts"), f"note {key}", text)

    async def noted(self, key: str) -> str | None:
        """Return the fact kept under *key*."""
        text = await self._link.command("HGET", self._link.key("facts"), f"note {key}")
        return None if text is None else text.decode()

    async def owner(self, digest: bytes) -> str | None:
        """Return the request that owns a seen form, if it is kept."""
        text = await self._run("owner", digest, int(digest in self._answered))
        return None if text is None else text.decode()

    def keep_dropped(self, rules: int, text: str) -> None:
        """Keep a drop; Redis is told with the next processed page."""
        self._tell("dropped", _code(rules), text)

    def forget_dropped(self, rules: Collection[int] | None = None) -> None:
        """Forget kept drops of this crawler; Redis is told within a moment."""
        for code in [b""] if rules is None else map(_code, rules):
            self._tell("forgotten", code)
        self.flush()

    async def clear(self) -> Cleared:
        """Forget all forms, for all crawlers; return the awaited requests and the substitutes."""
        if self._news:
            await self._beat()
        async with self._sending:  # an earlier heartbeat may be answered later, with the old number
            awaited, substitutes = await self._link.run(self.process, "clear", *self._answered)
            self._answered.clear()
            self._n = 0
        return Cleared(_as_texts(awaited), _as_texts(substitutes))

    def __len__(self) -> int:
        return self._n

    def flush(self) -> None:
        """Let the background task send all news."""
        self._has_news.set()

    async def close(self, *, is_clean: bool) -> None:
        """Send all news, and leave: the unfinished forms of this crawler are free at once."""
        self._is_closing = True
        self._has_news.set()
        await self._task
        try:
            await self._beat()
            await self._run("leave")
        except SeenUnavailableError as error:
            unsent = b"".join(digests for kind, digests, _ in self._news.values() if kind == "processed")
            logger.warning("%s; %d pages are not noted as seen", error, len(_split(unsent)))
        await self._link.close()

    async def _keep_alive(self) -> None:
        """Send heartbeats and news until the set is closed.

        It ends by an event, not by cancellation, which ``wait_for`` sometimes swallows before Python 3.12.
        """
        wait_s = self._heartbeat_s / 3
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._has_news.wait(), wait_s)
            self._has_news.clear()
            if self._is_closing:
                return
            with contextlib.suppress(SeenUnavailableError):  # the next claim reports it
                await self._beat()
            wait_s = self._link.seconds_to_next_try() or self._heartbeat_s / 3

    def _tell(self, kind: str, subject: bytes, rest: str | bytes = b"", *, is_bounded: bool = True) -> None:
        """Queue news for Redis, in order: the drops among a page's links are kept before the page is processed."""
        self._news[next(self._numbers)] = kind, subject, rest
        if is_bounded and len(self._news) > _MAX_NEWS:
            # Redis was unavailable for long: another process will find these pages unfinished and fetch them again
            kind, subject, _ = self._news.pop(next(iter(self._news)))
            if kind == "processed":
                self._answered.difference_update(_split(subject))

    async def _beat(self) -> None:
        """Report that this crawler is alive, and send all news."""
        async with self._sending:
            await self._send()
            while self._news:
                await self._send()

    async def _send(self) -> None:
        news = dict(itertools.islice(self._news.items(), _NEWS_AT_ONCE))
        words = itertools.chain.from_iterable(news.values())
        self._n = await self._link.run(self.process, "beat", self._heartbeat_ms, *words)
        for number, (kind, subject, _) in news.items():
            self._news.pop(number, None)
            if kind == "processed":
                self._answered.difference_update(_split(subject))

    async def _run(self, command: str, *arguments: str | bytes | int) -> Any:
        """Ask Redis, after all news: it must not hear that a page is seen when its form has gone to another URL."""
        if self._news:
            await self._beat()
        return await self._link.run(self.process, command, *arguments)


def _split(digests: bytes) -> list[bytes]:
    return [digests[start : start + DIGEST_SIZE] for start in range(0, len(digests), DIGEST_SIZE)]


def _code(rules: int) -> bytes:
    return rules.to_bytes(2, "big")


def _tag(owner: int, rules: int) -> bytes:
    return _code(rules) + owner.to_bytes(4, "big")


def _as_texts(texts: Iterable[bytes]) -> list[str]:
    return [text.decode() for text in texts]


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
        self.place = re.sub(r"//[^/@]*@", "//***@", url, count=1)  # without the password
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
