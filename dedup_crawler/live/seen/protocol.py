"""What every seen set can do: the first URL of a canonical form *owns* it.

While the owner's answer is awaited, one other URL of the form may wait as its *substitute*. A good answer makes the
form *seen* and the substitute is forgotten; a failure *releases* the form, and the substitute is to be fetched in its
place. No set looks at a clock to decide anything, and none knows Scrapy. What waits is a request object for a set that
dies with its process, and text for one that outlives it (*durable*).
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import IntEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

T = TypeVar("T")

DIGEST_SIZE = 16
"""Bytes of a form's digest: two of a billion forms have the same one with a chance of 1e-21."""


class Standing(IntEnum):
    """What a claim found."""

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
    """Who has a form."""

    standing: Standing
    rules: int
    """Rules that led the owner to the form."""
    has_substitute: bool = False
    """Whether another URL is known to wait in case the owner fails: then this one need not."""


NEW_HOLDER = Holder(Standing.NEW, 0)
"""What most claims find that no rule led to."""


_NOTHING = blake2b(digest_size=DIGEST_SIZE)


def form_digest(form: str) -> bytes:
    """16 bytes that stand for a canonical form; cryptographic, because forms are made of strangers' URLs."""
    hashed = _NOTHING.copy()  # quicker than one that is made anew
    hashed.update(form.encode("utf-8", "surrogatepass"))
    return hashed.digest()


def owner_tag(url: str) -> int:
    """16 bits that tell the URLs of one form apart.

    Two URLs of a form that have the same tag are both fetched: 1 pair in 65,536, or as many as somebody wants to make.
    """
    return zlib.crc32(url.encode("utf-8", "surrogatepass")) & 0xFFFF


class SeenSet(ABC, Generic[T]):
    """Canonical form -> owner; *T* is what waits as a substitute (``str`` in durable sets).

    All methods are to be called from one thread, and the asynchronous ones from one event loop.
    """

    is_durable: bool
    """Outlives the process: claims should carry their request as text, and substitutes are text."""
    is_local: bool
    """Answers at once: its coroutines never wait."""
    process: str = ""
    """What tells this process from others that have the same set; empty where there are no others."""

    @abstractmethod
    async def open(self, *, queue_survives: bool = False, killed: str | None = None) -> list[str]:
        """Make the set ready; gives the requests that are to be sent again.

        These are the requests that an earlier process left unanswered, and substitutes whose form nobody owns any more.
        Their forms are free. A request that is not claimed after it was given is given again by the next :meth:`open`.

        Parameters
        ----------
        queue_survives
            Whether the crawl's own queue outlives a clean stop. Then nothing is given after one: the queue has them.
        killed
            The :attr:`process` of one that is known to be dead, if there is one.

        Raises
        ------
        SeenError
            If the set cannot be used.
        """

    @abstractmethod
    async def claim(self, claims: Sequence[Claimant], invalid: Collection[int] = ()) -> list[Holder]:
        """Say that URLs are about to be fetched; gives what each claim found, in order.

        Parameters
        ----------
        claims
            The second claim for a form in one call meets the first.
        invalid
            Rule codes that were switched off: a form whose owner came by one of them counts as free and is taken over.

        Raises
        ------
        SeenUnavailableError
            If the set cannot be asked at present: nothing was learnt, and nothing may be dropped.
        """

    @abstractmethod
    async def wait(self, digest: bytes, substitute: T, owner: int = 0) -> bool:
        """Keep *substitute*, whose URL has the tag *owner*, for an awaited form; whether its URL may be dropped.

        True: it is kept, or another one waits already, or the form has been answered since. False: there is no room, or
        nobody has the form any more; the URL is to be fetched.

        Raises
        ------
        SeenUnavailableError
            If the set cannot be asked at present.
        """

    @abstractmethod
    async def is_awaited(self, digest: bytes) -> bool:
        """Whether somebody has a form whose answer has not come.

        Raises
        ------
        SeenUnavailableError
            If the set cannot be asked at present.
        """

    @abstractmethod
    def answered(self, digest: bytes) -> None:
        """A good answer came: the form is seen for this process at once, and its substitute is forgotten.

        Nothing happens to a form that nobody has.
        """

    @abstractmethod
    def processed(self, digests: Iterable[bytes]) -> None:
        """The spider is through with the pages of these forms: they are seen for good.

        To be called after the claims (and :meth:`wait`) for the links of the page: a durable set writes all of them
        together, so that a process that dies leaves the page to be fetched again, or its links known.
        """

    @abstractmethod
    async def release(self, digest: bytes) -> T | None:
        """The owner of a form failed, or a seen form is to be forgotten: it is free; gives the substitute to fetch.

        Nothing happens to a form that a living crawler elsewhere awaits. A durable set keeps the substitute until its
        own claim comes, so that it survives this process.

        Raises
        ------
        SeenUnavailableError
            If the set cannot be asked at present.
        """

    @abstractmethod
    async def abandoned(self, *, is_idle: bool = True) -> list[T | str]:
        """Free the forms whose answer will not come; gives what is to be fetched in place of their owners.

        With *is_idle* (nothing is in flight or queued in this process) these are all forms of this process that await
        an answer. In any case they are the forms of other crawlers that died: what these had not finished is given, to
        one crawler only, at most 1,000 requests a call; call again until nothing comes.

        Raises
        ------
        SeenUnavailableError
            If the set cannot be asked at present.
        """

    async def may_be_given_more(self) -> bool:
        """Whether another crawler has unfinished forms and gave no sign of life since this was first asked.

        To be asked by a crawler that has run dry, again and again: it ends when every such crawler turned out to live,
        or to be dead, which takes the time that a crawler is given. Then :meth:`abandoned` gives what it left.

        Raises
        ------
        SeenUnavailableError
            If the set cannot be asked at present.
        """
        return False

    @abstractmethod
    def restore(self, digest: bytes, owner: int, rules: int = 0) -> None:
        """The page of a form was fetched by an earlier crawl, from the URL with the tag *owner*.

        In a local set that URL itself may be fetched again (``OWN``): whoever crawls a site anew wants its pages anew.
        Nothing happens to a form that somebody has.
        """

    @abstractmethod
    async def note(self, key: str, text: str) -> None:
        """Keep a small fact that belongs to the set, such as the digest of the model that made the forms."""

    @abstractmethod
    async def noted(self, key: str) -> str | None:
        """The fact that was kept under *key*, if any."""

    @abstractmethod
    async def clear(self) -> list[str]:
        """Forget all forms, because the model that made them was replaced; facts stay.

        Returns
        -------
        list[str]
            Requests that were awaited, as text, for a durable set: a queue that is lost has no others of them, so that
            they have to be claimed anew.
        """

    @abstractmethod
    def __len__(self) -> int:
        """Forms that are seen or owned, as far as this process knows."""

    def flush(self) -> None:
        """Write what is not written yet; to be called about once a second while a crawl runs.

        Never raises: what cannot be written is said once in the log and kept.
        """

    @abstractmethod
    async def close(self, *, is_clean: bool) -> None:
        """Write what is left and let go.

        Parameters
        ----------
        is_clean
            Whether the crawl stopped in order: everything that was queued is still in its queue, or was fetched.
        """
