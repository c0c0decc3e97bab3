"""Protocol of every seen set: the first URL of a canonical form *owns* it.

While the owner's answer is awaited, every other URL of the form may wait as its *substitute*. A good answer makes the
form *seen*, and all its substitutes are forgotten. A failure *releases* the form: it becomes free, and the oldest
substitute is to be fetched in the owner's place. The other substitutes stay with the form, also after another URL has
claimed it: as long as one is left, an unanswered form is fetched again.

No set uses a clock for a decision, and none knows Scrapy. A waiting request is stored as text; a set in memory also
accepts request objects that cannot be written as text.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

DIGEST_SIZE = 16
"""Bytes of a form's digest: among a billion forms, two share one with a probability of 1e-21."""

OWNER_MASK = 0xFFFF
"""The bits of an owner's tag that are kept with its form."""


class Standing(IntEnum):
    """Finding of a claim."""

    NEW = 0
    """The form was free: this URL owns it from now on, until it is released."""
    OWN = 1
    """This URL claimed the form earlier in this process, and its page has not come yet."""
    OWN_SEEN = 2
    """This URL claimed the form earlier in this process, and its page has come."""
    AWAITED = 3
    """Another URL (or this one in another process) owns the form, and its page has not come yet."""
    SEEN = 4
    """Another URL (or this one in an earlier run or another crawler) owns the form, and its page has come."""


@dataclass(slots=True)
class Claim:
    """A URL that is about to be fetched."""

    digest: bytes
    """:func:`form_digest` of its canonical form."""
    owner: int
    """:func:`owner_tag` of the URL."""
    rules: int = 0
    """16-bit code, chosen by the caller, of the rules that led from the URL to the form; 0: none."""
    written: str | Callable[[], str | None] | None = None
    """The request as text, for durable sets, or a function that writes it; None if it cannot be written."""

    def text(self) -> str | None:
        """Return the request as text; it is written at most once."""
        if callable(self.written):
            self.written = self.written()
        return self.written


class Holder(NamedTuple):
    """Standing of a form, and the rules of its owner."""

    standing: Standing
    rules: int
    """Code of the rules that led from the owner to the form."""


class Cleared(NamedTuple):
    """Requests that a cleared set held."""

    awaited: list[str]
    """Requests in flight or queued, as text, from a durable set. They must be claimed again if the queue is lost."""
    waiting: list[Any]
    """Substitutes, requests or texts, of unanswered forms. They are stored nowhere else, so they must be sent again."""


def form_digest(form: str) -> bytes:
    """Return the 16-byte digest of a canonical form; cryptographic, because attackers may choose URLs."""
    return blake2b(form.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).digest()


def owner_tag(url: str) -> int:
    """Return 32 bits that tell the URLs of one form apart.

    A URL that shares the :data:`OWNER_MASK` bits with the owner of its form is fetched as well (by chance 1 in 65,536;
    an attacker may make more). Two substitutes of one form that share all 32 bits count as one.
    """
    return zlib.crc32(url.encode("utf-8", "surrogatepass"))


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never suspends, such as those of a local seen set.

    RuntimeError if it suspends.
    """
    try:
        coroutine.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    coroutine.close()
    raise RuntimeError(f"{coroutine!r} suspended: a local seen set must not")


class SeenSet(ABC):
    """Canonical form -> owner, and the requests that wait for its answer: text in durable sets, else any object.

    Call all methods from one thread, and the asynchronous ones from one event loop. These raise
    :class:`SeenUnavailableError` if the set is unavailable: its answer is unknown, and nothing may be dropped. A
    failing write is logged once, and its data is kept in memory.
    """

    is_durable: bool
    """True if the set outlives the process: claims should carry their request as text, and substitutes are text."""
    is_local: bool
    """True if the set's coroutines never suspend."""
    process: str = ""
    """Name of this process among those that share the set; empty if the set is not shared."""

    @abstractmethod
    async def open(self, *, queue_survives: bool = False, killed: str | None = None) -> list[str]:
        """Make the set ready, or raise :class:`SeenError`; return the requests to send again.

        These are the requests that an earlier process left unanswered; the oldest substitute of each free form; and the
        drops kept by :meth:`keep_dropped`. The forms of the first two are free. The next :meth:`open` returns again
        each request that was not claimed, and each drop that was not forgotten.

        With *queue_survives* the crawl's own queue outlives a clean stop, after which queued requests are not returned.
        *killed* is the :attr:`process` name of a process known to be dead.
        """

    @abstractmethod
    async def claim(self, claims: Sequence[Claim], invalid: Collection[int] = ()) -> list[Holder]:
        """Claim the forms of URLs that are about to be fetched; return the finding of each claim, in order.

        A second claim for a form in one call sees the first. If a URL claims the form of a request that an earlier
        process left, that request is kept as a drop by the claim's rules (:meth:`keep_dropped`). A form whose owner has
        *invalid* rules, which were switched off, counts as free and is taken over.
        """

    @abstractmethod
    async def wait(self, digest: bytes, substitute: Any, owner: int) -> bool:
        """Keep *substitute*, whose URL has the tag *owner*, for an awaited form; return True if its URL may be dropped.

        All substitutes of a form are kept, each URL once. True: it is kept, or the form has been answered since. False:
        there is no room, or the form is free; the URL must be fetched.
        """

    @abstractmethod
    def answered(self, digest: bytes) -> None:
        """Note a good answer: the form is seen for this process at once. A free form is left unchanged.

        A durable set keeps the substitutes until the page is processed, in case the process dies.
        """

    @abstractmethod
    def processed(self, digests: Iterable[bytes]) -> None:
        """Note that the spider has processed the pages of these forms: they are seen for good.

        Call it after the claims (and :meth:`wait`) for the links of the page. A durable set writes all of them at once:
        after a kill either the links are known, or the page is fetched again.
        """

    @abstractmethod
    async def release(self, digest: bytes) -> Any:
        """Free a form whose owner failed or whose page is to be forgotten; return its oldest substitute.

        A form that is free, or awaited by another living crawler, is left unchanged. A durable set keeps the returned
        substitute until its URL claims the form, so that it survives this process.
        """

    @abstractmethod
    async def abandoned(self, *, is_idle: bool = True) -> list[Any]:
        """Free the forms whose answer will not come; return the requests to fetch in place of their owners.

        With *is_idle* (nothing is in flight or queued in this process) all awaited forms of this process are freed, and
        one substitute of every free form is returned. A durable set then returns once more the requests of an earlier
        process that were not claimed in this one. In any case the unfinished requests and kept drops of crawlers that
        died are returned, to one crawler only.

        A durable set returns at most 1,000 requests of either kind per call: call again until it returns none. This
        ends, because each request is returned at most twice.
        """

    async def may_be_given_more(self) -> bool:
        """Return True if a crawler with unfinished forms has given no sign of life since the first call.

        A crawler that has run dry calls this until every such crawler has proved alive, or dead. Then :meth:`abandoned`
        returns the requests of the dead ones.
        """
        return False

    @abstractmethod
    def restore(self, claims: Sequence[Claim]) -> None:
        """Note that an earlier crawl fetched the pages of these URLs.

        In a local set the URLs themselves may be fetched again (``OWN_SEEN``), because a new crawl wants new pages. A
        form that is owned already is left unchanged.
        """

    async def owner(self, digest: bytes) -> str | None:
        """Return the request, as text, of the owner of a *seen* form, to fetch its page again; None if it is not kept.

        Durable sets keep the requests of the 20,000 forms that were processed last.
        """
        return None

    def keep_dropped(self, rules: int, text: str) -> None:  # noqa: B027 - a set in memory does nothing
        """Keep a request dropped by unverified rules (by their code), once, so that a later process can send it.

        It is written together with the claims for the links of the page. A set in memory does nothing.
        """

    def forget_dropped(self, rules: Collection[int] | None = None) -> None:  # noqa: B027 - a set in memory does nothing
        """Forget the drops of verified *rules*; None: all drops that this process has kept or received."""

    async def share_tests(self, own: Mapping[str, tuple[int, int, bool]]) -> Mapping[str, tuple[int, int, bool]]:
        """Publish this crawler's test results; return the sums of all other crawlers' results.

        Both map a rule to tests that agreed, tests that disagreed, and True if the rule was switched off. New results
        of a rule replace earlier ones of this process. A set that is not shared does nothing.
        """
        return {}

    @abstractmethod
    async def note(self, key: str, text: str) -> None:
        """Keep a small fact that belongs to the set, such as the digest of the model that made the forms."""

    @abstractmethod
    async def noted(self, key: str) -> str | None:
        """Return the fact kept under *key*, if any."""

    @abstractmethod
    async def clear(self) -> Cleared:
        """Forget all forms, because the model that made them was replaced; requests, facts and kept drops stay."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of seen or owned forms, as far as this process knows."""

    def flush(self) -> None:  # noqa: B027 - a set in memory does nothing
        """Write pending changes; called about once a second while a crawl runs."""

    @abstractmethod
    async def close(self, *, is_clean: bool) -> None:
        """Write pending changes and close the set.

        *is_clean*: the crawl stopped in order, and all queued requests are still in its queue, or were fetched.
        """
