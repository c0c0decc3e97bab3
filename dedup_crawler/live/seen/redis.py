"""The seen set that several crawlers share: a Redis.

A claim is one script for the whole batch. Each crawler keeps a key alive that expires in Redis, by Redis's clock; when
it is gone, the forms that the crawler awaits are free, and what it had not finished is handed to one of the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import secrets
from typing import TYPE_CHECKING, Any

from dedup_crawler.errors import SeenError, SeenUnavailableError
from dedup_crawler.live.seen import redis_scripts as scripts
from dedup_crawler.live.seen.protocol import Claimant, Cleared, Holder, SeenSet, Standing
from dedup_crawler.live.seen.redis_link import RedisLink

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

logger = logging.getLogger(__name__)

_VERSION = b"3"
_CLAIMS_AT_ONCE = 500
_WRITES_AT_ONCE = 1_000
_MAX_UNSENT = 100_000
_N_GIVEN = 1_000
_ALL = b"*"


class RedisSeenSet(SeenSet[str]):
    """Seen and awaited forms in Redis, for any number of crawlers.

    Parameters
    ----------
    url
        See :class:`RedisLink`.
    heartbeat_s
        After how many seconds without a sign of life a crawler counts as dead.
    timeout_s
        How long an answer of Redis may take.
    """

    is_durable = True
    is_local = False

    def __init__(self, url: str, *, heartbeat_s: float = 30.0, timeout_s: float = 5.0) -> None:
        self._link = RedisLink(url, timeout_s=timeout_s)
        self._heartbeat_s = heartbeat_s
        self._heartbeat_ms = int(heartbeat_s * 1000)
        self.process = secrets.token_hex(4)  # no number from Redis: it may forget which ones it gave
        self._n = 0
        self._answered: set[bytes] = set()  # whose page is not known to Redis yet
        self._processed: dict[bytes, None] = {}  # to be sent, in this order
        self._restored: dict[bytes, bytes] = {}
        self._forgotten: list[bytes] = []  # codes of rules whose drops are let go, before those below are kept
        self._dropped: dict[tuple[bytes, str], None] = {}
        self._lives: dict[bytes, int] = {}  # other crawlers with unfinished forms -> milliseconds that they have left
        self._known_alive: set[bytes] = set()
        self._sending = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._is_closing = False

    async def open(self, *, queue_survives: bool = False, killed: str | None = None) -> list[str]:
        """Say that this crawler lives; gives what crawlers left that died, up to 1,000 requests and as many drops."""
        try:
            await self._check_writer()
            await self._beat()
            if killed is not None:
                await self._link.command("DEL", self._key(f"alive:{killed}"))
            texts = await self._run(scripts.RESCUE, _N_GIVEN)
        except SeenUnavailableError as error:
            await self._link.close()
            raise SeenError(str(error)) from error
        except SeenError:
            await self._link.close()
            raise
        self._has_news = asyncio.Event()
        self._task = asyncio.get_running_loop().create_task(self._keep_alive())
        return _as_texts(texts)

    async def claim(self, claims: Sequence[Claimant], invalid: Collection[int] = ()) -> list[Holder]:
        """What each claim found."""
        codes = b"".join(code.to_bytes(2, "big") for code in invalid)
        holders: list[Holder] = []
        for start in range(0, len(claims), _CLAIMS_AT_ONCE):
            holders += await self._claim(claims[start : start + _CLAIMS_AT_ONCE], codes)
        return holders

    async def _claim(self, claims: Sequence[Claimant], invalid: bytes) -> list[Holder]:
        arguments: list[str | bytes] = []
        for claim in claims:
            arguments += (claim.digest, _tag(claim.owner, claim.rules), claim.text() or "")
        self._n, *replies = await self._run(scripts.CLAIM, self._heartbeat_ms, invalid, *arguments)
        return [self._holder(claim, reply) for claim, reply in zip(claims, replies, strict=True)]

    def _holder(self, claim: Claimant, reply: int) -> Holder:
        standing = Standing(reply >> 16)
        if standing is Standing.NEW:
            self._answered.discard(claim.digest)
        elif standing is Standing.AWAITED and claim.digest in self._answered:
            standing = Standing.SEEN
        return Holder(standing, reply & 0xFFFF)

    async def wait(self, digest: bytes, substitute: str, owner: int) -> bool:
        """Keep *substitute* in Redis."""
        return digest in self._answered or bool(
            await self._run(scripts.WAIT, digest, owner.to_bytes(4, "big"), substitute)
        )

    async def is_awaited(self, digest: bytes) -> bool:
        """Whether the answer has not come."""
        return digest not in self._answered and bool(await self._link.command("HEXISTS", self._key("awaited"), digest))

    def answered(self, digest: bytes) -> None:
        """The form is seen for this process; for the others when its page is processed."""
        self._answered.add(digest)

    def processed(self, digests: Iterable[bytes]) -> None:
        """The forms are seen; Redis hears of it in a moment."""
        self._processed.update(dict.fromkeys(digests))
        while len(self._processed) > _MAX_UNSENT:
            # Redis has been away for long: these pages will be fetched again, by whoever finds them unfinished
            digest = next(iter(self._processed))
            del self._processed[digest]
            self._answered.discard(digest)
        self.flush()

    async def release(self, digest: bytes) -> str | None:
        """Free the form; gives its oldest substitute, which waits in Redis until it is claimed."""
        self._n, text = await self._run(scripts.RELEASE, digest)
        self._answered.discard(digest)
        self._processed.pop(digest, None)
        return None if text is None else _as_text(text)

    async def abandoned(self, *, is_idle: bool = True) -> list[str]:
        """What is to be fetched in place of requests that were swallowed (*is_idle*), and those of dead crawlers."""
        texts: list[bytes] = []
        if is_idle:
            await self._beat()
            texts = await self._run(scripts.SWALLOWED, _N_GIVEN, *self._answered)
            await self._beat()  # it tells the size of the set, which is smaller now
        texts += await self._run(scripts.RESCUE, _N_GIVEN)
        return _as_texts(texts)

    async def may_be_given_more(self) -> bool:
        """Whether a crawler that has unfinished forms may be dead: its time runs, and was not renewed since."""
        left = await self._run(scripts.OTHERS)
        lives = dict(zip(left[::2], left[1::2], strict=True))
        renewed = {crawler for crawler, left_ms in lives.items() if left_ms > self._lives.get(crawler, left_ms)}
        alive = {crawler for crawler, left_ms in lives.items() if left_ms > 0}
        self._known_alive = (self._known_alive | renewed) & alive  # one that died just now has left something
        self._lives = lives
        return not self._known_alive.issuperset(lives)

    def restore(self, digest: bytes, owner: int, rules: int = 0) -> None:
        """The form is seen, unless somebody has it; Redis hears of it before the next claim."""
        self._restored[digest] = _tag(owner, rules)

    async def note(self, key: str, text: str) -> None:
        """Keep a fact."""
        await self._link.command("HSET", self._key("facts"), f"note {key}", text)

    async def noted(self, key: str) -> str | None:
        """The fact kept under *key*."""
        text = await self._link.command("HGET", self._key("facts"), f"note {key}")
        return None if text is None else _as_text(text)

    async def owner(self, digest: bytes) -> str | None:
        """The request that owns a seen form, if it is kept."""
        text = await self._run(scripts.OWNER, digest, int(digest in self._answered))
        return None if text is None else _as_text(text)

    def keep_dropped(self, rules: int, text: str) -> None:
        """Keep a drop; Redis hears of it with the next processed page."""
        self._dropped[rules.to_bytes(2, "big"), text] = None
        if len(self._dropped) > _MAX_UNSENT:
            del self._dropped[next(iter(self._dropped))]

    def forget_dropped(self, rules: Collection[int] | None = None) -> None:
        """Let go of kept drops, of this crawler; Redis hears of it in a moment."""
        if rules is None:
            self._forgotten.append(_ALL)
            self._dropped.clear()
        else:
            codes = {code.to_bytes(2, "big") for code in rules}
            self._forgotten += codes
            for drop in [drop for drop in self._dropped if drop[0] in codes]:
                del self._dropped[drop]
        self.flush()

    async def clear(self) -> Cleared:
        """Forget all forms, for all crawlers; gives the requests that were awaited, and the substitutes that waited."""
        done = set(self._processed)
        answered = done | self._answered
        for waiting in (self._answered, self._processed, self._restored):
            waiting.clear()
        substitutes: list[str] = []
        script = scripts.FORGET_SUBSTITUTES
        async with self._sending:  # what is on its way must not arrive in the middle
            requests = await self._link.command("HGETALL", self._key("requests"))
            digests = await self._link.command("HKEYS", self._key("awaited"))
            for start in range(0, len(digests), _CLAIMS_AT_ONCE):
                portion = digests[start : start + _CLAIMS_AT_ONCE]
                found = iter(await self._link.run(script, self.process, *portion))
                for digest in portion:
                    texts = _as_texts(itertools.islice(found, next(found)))
                    substitutes += texts if digest not in answered else ()
            for first in range(256):
                keys = [self._key(f"seen:{first:02x}{second:02x}") for second in range(256)]
                await self._link.command("UNLINK", *keys)
            rest = ("awaited", "requests", "owners", "owned", "size", f"of:{self.process}")
            await self._link.command("UNLINK", *map(self._key, rest))
        self._n = 0
        awaited = [_as_text(text) for digest, text in requests.items() if digest not in done]
        return Cleared(awaited, substitutes)

    def __len__(self) -> int:
        return self._n

    def flush(self) -> None:
        """Have the background task send what is not sent yet."""
        if self._task is not None:
            self._has_news.set()

    async def close(self, *, is_clean: bool) -> None:
        """Send what is left, and leave: what this crawler had not finished is free at once."""
        if self._task is not None:
            self._is_closing = True
            self._has_news.set()
            await self._task
            self._task = None
        try:
            await self._beat()
            await self._run(scripts.LEAVE)
        except SeenUnavailableError as error:
            logger.warning("%s; %d pages are not noted as seen", error, len(self._processed))
        await self._link.close()

    async def _keep_alive(self) -> None:
        """Send heartbeats, and what was processed meanwhile.

        Ended by a word, not by a cancellation, which ``wait_for`` swallows at times before Python 3.12.
        """
        wait_s = self._heartbeat_s / 3
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._has_news.wait(), wait_s)
            self._has_news.clear()
            if self._is_closing:
                return
            with contextlib.suppress(SeenUnavailableError):  # whoever claims next says so
                await self._beat()
            wait_s = self._link.seconds_to_next_try() or self._heartbeat_s / 3

    async def _beat(self) -> None:
        """Say that this crawler lives, and send everything."""
        async with self._sending:
            await self._send()
            while self._processed or self._restored or self._dropped or self._forgotten:
                await self._send()

    async def _send(self) -> None:
        n_forgotten = len(self._forgotten)
        forgotten = _ALL if _ALL in self._forgotten else b"".join(self._forgotten)
        dropped = list(self._dropped)[:_WRITES_AT_ONCE]
        # a page is not processed before the drops among its links are kept
        processed = list(self._processed)[:_WRITES_AT_ONCE] if len(dropped) == len(self._dropped) else []
        restored = list(self._restored.items())[:_WRITES_AT_ONCE]
        numbers = (self._heartbeat_ms, len(processed), len(restored))
        words: list[str | bytes] = [forgotten, *processed]
        words += itertools.chain(*restored)
        for rules, text in dropped:
            words += (rules, text)
        self._n = await self._link.run(scripts.BEAT, self.process, *numbers, *words)
        for digest in processed:
            self._processed.pop(digest, None)
            self._answered.discard(digest)
        for digest, _ in restored:
            self._restored.pop(digest, None)
        if len(self._forgotten) == n_forgotten:  # else some of these may be forgotten, and kept again
            for drop in dropped:
                self._dropped.pop(drop, None)
        del self._forgotten[:n_forgotten]

    async def _run(self, script: str, *arguments: str | bytes | int) -> Any:
        if self._restored:
            await self._beat()
        return await self._link.run(script, self.process, *arguments)

    async def _check_writer(self) -> None:
        """Refuse keys of another version; an empty Redis gets ours."""
        await self._link.command("HSETNX", self._key("facts"), "version", _VERSION)
        version = await self._link.command("HGET", self._key("facts"), "version")
        if version != _VERSION:
            raise SeenError(
                f"{self._link.place}: the keys {self._key('*')} have version {version!r}, this program reads "
                f"{_VERSION!r}: give another ?name="
            )

    def _key(self, name: str) -> str:
        return f"{self._link.name}:{name}"


def _tag(owner: int, rules: int) -> bytes:
    return rules.to_bytes(2, "big") + owner.to_bytes(4, "big")


def _as_text(text: bytes) -> str:
    return text.decode("utf-8")


def _as_texts(texts: Iterable[bytes]) -> list[str]:
    return [_as_text(text) for text in texts]
