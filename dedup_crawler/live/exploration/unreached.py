"""Explored covered pages that wait until it is known whether their content is reached otherwise.

A crawl may reach the same content later. So nothing counts against a rule before PATIENCE further answers have come, or
the crawl has run dry.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

PATIENCE = 1_000
"""Number of answers after which content that no other page has shown counts as lost."""
MAX_WAITING = 5_000
"""Maximum of waiting pages; beyond it the oldest get their verdict early."""


class Waiting(NamedTuple):
    """One explored page."""

    n_answers: int
    """Number of answers of the crawl when the page came."""
    form: bytes
    """Digest of the form that it redirected to, or of its own form."""
    rules: tuple[str, ...]
    texts: dict[bytes, int] | None
    """Its texts (:func:`~dedup_crawler.live.comparing.shown_text.shown_texts`); None if it redirected."""


class Unreached:
    """Queue of waiting pages, the oldest first.

    Parameters
    ----------
    has_shown
        Returns True if other fetched pages show the texts of a page; None if unknown.
    """

    def __init__(self, has_shown: Callable[[dict[bytes, int]], bool | None]) -> None:
        self._has_shown = has_shown
        self._waiting: deque[Waiting] = deque()
        self.n_redirected = 0
        """Number of waiting pages that redirected: a link to their target decides about them."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, page: Waiting) -> None:
        """Add a page."""
        self._waiting.append(page)
        self.n_redirected += page.texts is None

    def reached(self, form: bytes) -> Waiting | None:
        """Note that a link led to *form*; remove and return the page that redirected to it."""
        for place, page in enumerate(self._waiting):
            if page.texts is None and page.form == form:
                del self._waiting[place]
                self.n_redirected -= 1
                return page
        return None

    def shown_by_now(self) -> Iterator[Waiting]:
        """Remove and yield the pages whose content other pages have shown by now."""
        for _ in range(len(self._waiting)):
            page = self._waiting.popleft()
            if page.texts is not None and self._has_shown(page.texts):
                yield page
            else:
                self._waiting.append(page)

    def due(self, n_answers: int, *, is_idle: bool) -> Iterator[tuple[Waiting, bool | None]]:
        """Remove and yield pages that waited long enough (*is_idle*: all), each with its verdict."""
        while self._waiting:
            page = self._waiting[0]
            if not is_idle and len(self._waiting) <= MAX_WAITING and n_answers - page.n_answers <= PATIENCE:
                return
            self._waiting.popleft()
            self.n_redirected -= page.texts is None
            yield page, self._has_shown(page.texts) if page.texts is not None else False

    def clear(self) -> None:
        """Remove all pages: the forms now come from another model."""
        self._waiting.clear()
        self.n_redirected = 0
