"""Protocol of every seen set: the first URL of a canonical form *owns* it.

While the owner's answer is awaited, every other URL of the form may wait as its *substitute*. A good answer makes the
form *seen*, and all substitutes are forgotten together. A failure *releases* the form: it is free, and the oldest
substitute is to be fetched in the owner's place. The others stay with the form while it is free, and when another URL
claims it: as long as one of them is left, an unanswered form is asked for again.

No set looks at a clock to decide anything, and none knows Scrapy. What waits is a request as text; a set that dies
with its process takes request objects too, where no text can be written.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import IntEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

T = TypeVar("T")

DIGEST_SIZE = 16
"""Bytes of a form's digest: two of a billion forms have the same one with a chance of 1e-21."""


class Standing(IntEnum):
    """Finding of a claim."""

    NEW = 0
    """Nobody had the form: it is this URL's from now on, until it is answered or released."""
    OWN = 1
    """It was claimed by this very URL in this process before."""
    AWAITED = 2
    """It is another URL's (or this one's in another process), whose page has not come yet."""
    SEEN = 3
    """It is another URL's (or this one's in an earlier run or in another crawler), and the page is there."""


class Claimant(Protocol):
    """A URL that is about to be fetched, as every set asks about it."""

    @property
    def digest(self) -> bytes:
        """:func:`form_digest` of its canonical form."""

    @property
    def owner(self) -> int:
        """:func:`owner_tag` of the URL."""

    @property
    def rules(self) -> int:
        """16 bits, chosen by the caller: which rules led from the URL to the form; 0: none."""

    def text(self) -> str | None:
        """The request as text, for durable sets; None where it cannot be written."""


class Claim(NamedTuple):
    """A :class:`Claimant` that is nothing else."""

    digest: bytes
    owner: int
    rules: int = 0
    request: str | Callable[[], str | None] | None = None
    """The request as text, for durable sets, or what writes it when it is needed; None where it cannot be written."""

    def text(self) -> str | None:
        """The request as text."""
        return self.request() if callable(self.request) else self.request


class Holder(NamedTuple):
    """State of a form, and the rules of its owner."""

    standing: Standing
    rules: int
    """Rules that led the owner to the form."""


class Cleared(NamedTuple):
    """Requests that a set knew when it was cleared."""

    awaited: list[str]
    """Requests that are on their way, as text, from a durable set: a queue that is lost has no others of them, so that
    they have to be claimed anew."""
    waiting: list[Any]
    """Substitutes, requests or texts, that waited for forms without an answer: nobody else has them, so they have to be
    sent again."""


NEW_HOLDER = Holder(Standing.NEW, 0)
"""Finding of most claims that no rule led to."""


_NOTHING = blake2b(digest_size=DIGEST_SIZE)


def form_digest(form: str) -> bytes:
    """16 bytes that stand for a canonical form; cryptographic, because forms are made of strangers' URLs."""
    hashed = _NOTHING.copy()  # quicker than one that is made anew
    hashed.update(form.encode("utf-8", "surrogatepass"))
    return hashed.digest()


def owner_tag(url: str) -> int:
    """32 bits that tell the URLs of one form apart.

    Of an owner the lower 16 bits are kept: a URL that shares these with the owner of its form is fetched as well, 1 in
    65,536, or as many as somebody wants to make. Two substitutes of one form that share all 32 bits count as one.
    """
    return zlib.crc32(url.encode("utf-8", "surrogatepass"))


class SeenSet(ABC, Generic[T]):
    """Canonical form -> owner; *T* is what waits as a substitute (``str`` in durable sets).

    All methods are to be called from one thread, and the asynchronous ones from one event loop. These raise
    :class:`SeenUnavailableError` where the set cannot be asked at present: nothing was learnt, and nothing may be
    dropped. What cannot be written is said once in the log, and kept.
    """

    is_durable: bool
    """Outlives the process: claims should carry their request as text, and substitutes are text."""
    is_local: bool
    """Answers at once: its coroutines never wait."""
    process: str = ""
    """The name of this process among others that have the same set; empty where there are no others."""

    @abstractmethod
    async def open(self, *, queue_survives: bool = False, killed: str | None = None) -> list[str]:
        """Make the set ready, or raise :class:`SeenError`; gives the requests that are to be sent again.

        These are the requests that an earlier process left unanswered; the oldest substitute of each form that nobody
        owns any more; and the drops that :meth:`keep_dropped` kept. The forms of the first two are free. A request that
        is not claimed after it was given, and a drop that is not forgotten, is given again by the next :meth:`open`.

        With *queue_survives* the crawl's own queue outlives a clean stop: after one only what no queue has is given,
        the substitutes of free forms and the kept drops. *killed* is the :attr:`process` of one known to be dead.
        """

    @abstractmethod
    async def claim(self, claims: Sequence[Claimant], invalid: Collection[int] = ()) -> list[Holder]:
        """Note that URLs are about to be fetched; gives what each claim found, in order.

        The second claim for a form in one call meets the first. A request that an earlier process left, and whose form
        another URL claims, is kept as one of the drops of that claim's rules (:meth:`keep_dropped`). A form whose owner
        came by *invalid* rules, which were switched off, counts as free and is taken over.
        """

    @abstractmethod
    async def wait(self, digest: bytes, substitute: T, owner: int) -> bool:
        """Keep *substitute*, whose URL has the tag *owner*, for an awaited form; tells whether its URL may be dropped.

        All substitutes of a form are kept, each URL once. True: it is kept, or the form has been answered since. False:
        there is no room, or nobody has the form any more; the URL is to be fetched.
        """

    @abstractmethod
    async def is_awaited(self, digest: bytes) -> bool:
        """Return True if a form is claimed and its answer has not come."""

    @abstractmethod
    def answered(self, digest: bytes) -> None:
        """Note a good answer: the form is seen for this process at once, and nothing waits for it any more.

        The substitutes are forgotten, by a durable set when the page is processed: until then a process that dies, or
        :meth:`release`, needs them. Nothing happens to a form that nobody has.
        """

    @abstractmethod
    def processed(self, digests: Iterable[bytes]) -> None:
        """Note that the spider is through with the pages of these forms: they are seen for good.

        To be called after the claims (and :meth:`wait`) for the links of the page: a durable set writes all of them
        together, so that a process that dies leaves the page to be fetched again, or its links known.
        """

    @abstractmethod
    async def release(self, digest: bytes) -> T | None:
        """Free a form, whose owner failed or whose page is to be forgotten; gives its oldest substitute.

        The other substitutes stay with the form. They are there when it is claimed again, but for the one whose own URL
        claims it, and :meth:`abandoned` gives them if nobody does. Nothing happens to a form that is free, or that a
        living crawler elsewhere awaits. A durable set keeps the substitute until its own claim comes, so that it
        survives this process.
        """

    @abstractmethod
    async def abandoned(self, *, is_idle: bool = True) -> list[T | str]:
        """Free the forms whose answer will not come; return the requests to fetch in place of their owners.

        With *is_idle* (nothing is in flight or queued in this process) all forms of this process that await an answer
        are freed, and of every form that is free one substitute is given; the next call gives the next one. A durable
        set gives requests of an earlier process that were not claimed in this one once more. In any case forms of other
        crawlers that died are freed, and what these had not finished is given, kept drops and all, to one crawler only.

        A durable set gives at most 1,000 requests of either kind a call: call again until nothing comes. That ends, as
        each request is given twice at most.
        """

    async def may_be_given_more(self) -> bool:
        """Return True if another crawler has unfinished forms and gave no sign of life since this was first asked.

        To be asked by a crawler that has run dry, again and again: it ends when every such crawler turned out to live,
        or to be dead, which takes the time that a crawler is given. Then :meth:`abandoned` gives what it left.
        """
        return False

    @abstractmethod
    def restore(self, digest: bytes, owner: int, rules: int = 0) -> None:
        """Note that the page of a form was fetched by an earlier crawl, from the URL with the tag *owner*.

        In a local set that URL itself may be fetched again (``OWN``): whoever crawls a site anew wants its pages anew.
        Nothing happens to a form that somebody has.
        """

    async def owner(self, digest: bytes) -> str | None:
        """The request, as text, of the URL that owns a *seen* form, to fetch its page once more; None where it is gone.

        Durable sets keep those of the 20,000 forms that were processed last.
        """
        return None

    def keep_dropped(self, rules: int, text: str) -> None:
        """Keep a request that was dropped by rules which are not verified yet, so that a later process can send it.

        Nothing in a set that dies with its process. *rules* is their code; the same *text* kept again is one. Written
        together with the claims for the links of the page.
        """

    def forget_dropped(self, rules: Collection[int] | None = None) -> None:
        """Let go of the drops of verified *rules*; None: of all that this process has kept or was given."""

    async def share_tests(self, own: Mapping[str, tuple[int, int, bool]]) -> Mapping[str, tuple[int, int, bool]]:
        """Tell the other crawlers how tests of this one ended; gives how those of all others ended, taken together.

        Rule -> tests that agreed, tests that disagreed, and whether the rule was switched off. What this process has
        told of a rule before is replaced. Nothing in a set that nobody shares.
        """
        return {}

    @abstractmethod
    async def note(self, key: str, text: str) -> None:
        """Keep a small fact that belongs to the set, such as the digest of the model that made the forms."""

    @abstractmethod
    async def noted(self, key: str) -> str | None:
        """The fact that was kept under *key*, if any."""

    @abstractmethod
    async def clear(self) -> Cleared:
        """Forget all forms, because the model that made them was replaced; facts and kept drops stay.

        Gives what is on its way and what waited: the forms are forgotten, not the pages.
        """

    @abstractmethod
    def __len__(self) -> int:
        """Forms that are seen or owned, as far as this process knows."""

    def flush(self) -> None:
        """Write unwritten changes; to be called about once a second while a crawl runs."""

    @abstractmethod
    async def close(self, *, is_clean: bool) -> None:
        """Write unwritten changes and let go.

        *is_clean*: the crawl stopped in order, and everything that was queued is still in its queue, or was fetched.
        """
