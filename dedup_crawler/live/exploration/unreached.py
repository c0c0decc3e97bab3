"""Explored pages behind covered templates that wait until it is known whether their content is reached otherwise.

A crawl may meet the same content later by another way, so nothing speaks against a rule before PATIENCE further answers
have come, or the crawl has run dry.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

PATIENCE = 1_000
"""Answers after which content that nothing else has shown counts as lost."""
MAX_WAITING = 5_000
"""Pages that wait; the oldest get their verdict before their time."""


class Waiting(NamedTuple):
    """One explored page."""

    n_answers: int
    """Answers of the crawl when it came."""
    form: bytes
    """The digest of the form whose page it redirected to, or of its own."""
    rules: tuple[str, ...]
    texts: dict[bytes, int] | None
    """Its texts (:func:`~dedup_crawler.live.comparing.shown_text.texts_of`) if it answered in place."""


class Unreached:
    """A queue of pages that wait, the oldest first.

    Parameters
    ----------
    has_shown
        Says of the texts of a page whether pages that were fetched otherwise show them; None if that is not known.
    """

    def __init__(self, has_shown: Callable[[dict[bytes, int]], bool | None]) -> None:
        self._has_shown = has_shown
        self._waiting: deque[Waiting] = deque()
        self.n_redirected = 0
        """Waiting pages that redirected, so that a link to their target decides."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, page: Waiting) -> None:
        """Add a page that waits."""
        self._waiting.append(page)
        self.n_redirected += page.texts is None

    def reached(self, form: bytes) -> Waiting | None:
        """Note that a link led to *form*; gives the page that redirected to it, which waits no longer."""
        for place, page in enumerate(self._waiting):
            if page.texts is None and page.form == form:
                del self._waiting[place]
                self.n_redirected -= 1
                return page
        return None

    def shown_by_now(self) -> Iterator[Waiting]:
        """Give the pages whose content other pages have shown since they came; they wait no longer."""
        for _ in range(len(self._waiting)):
            page = self._waiting.popleft()
            if page.texts is not None and self._has_shown(page.texts):
                yield page
            else:
                self._waiting.append(page)

    def due(self, n_answers: int, *, is_idle: bool) -> Iterator[tuple[Waiting, bool | None]]:
        """Give the pages that have waited long enough (*is_idle*: all), each with whether it was reached otherwise."""
        while self._waiting:
            page = self._waiting[0]
            if not is_idle and len(self._waiting) <= MAX_WAITING and n_answers - page.n_answers <= PATIENCE:
                return
            self._waiting.popleft()
            self.n_redirected -= page.texts is None
            yield page, self._has_shown(page.texts) if page.texts is not None else False

    def clear(self) -> None:
        """Forget all: the forms are those of another model."""
        self._waiting.clear()
        self.n_redirected = 0
