"""Rows of consecutive answers that are alike: the pages themselves, or a short wall that went unnoticed.

:mod:`~dedup_crawler.live.walls.walls` needs a fifth of the last 200 pages to notice a wall, so it misses a log-in page
that answers for a few URLs only. A wall answers for everything while it stands, so its answers are consecutive. When
nothing else is left to do, one dropped URL is fetched for each such row, the longest first. If it shows another page,
the other forms of the row are fetched again too. Most sites have no wall: the search ends after a few rows of real
pages.

A process that ends before that stores its latest rows as text, and the next process fetches their forms again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache

from scrapy.utils.datatypes import LocalCache

from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.exploration.shown_text import signature_of

MIN_ROW = 3
"""Least number of answers in a row."""
MAX_GAP = 4
"""Largest distance, in answers of the site, between two answers of a row, since answers come slightly out of order."""
MAX_IN_VAIN = 5
"""The search ends after this many rows of real pages."""
MAX_LEFT = 100
"""Maximum of forms left to the next process; each costs it a fetch."""
_MAX_ROWS = 1_000
_MAX_SITES = 100


class AlikeAnswers:
    """Rows of alike answers: the latest rows, and the probed ones with their results."""

    def __init__(self) -> None:
        self._rows: LocalCache[int, int] = LocalCache(_MAX_ROWS)  # signature -> length of its longest row
        # probed form -> signature of its row, other forms
        self._awaited: dict[bytes, tuple[int, tuple[bytes, ...]]] = {}
        self._probed: set[int] = set()
        self._n_in_vain = 0
        # host -> signatures of its latest answers, each with the latest forms of its row
        self._latest = lru_cache(_MAX_SITES)(lambda host: deque[tuple[int, deque[bytes]]](maxlen=MAX_GAP))
        self._left: LocalCache[bytes, str] = LocalCache(MAX_LEFT)  # forms of the latest rows -> request, if it is known
        self._has_news = False

    def answered(self, form: bytes, page: FetchedPage) -> tuple[bytes, ...]:
        """Note the answer to a form; return the other forms of its row if it was probed and showed another page."""
        self._has_news |= self._left.pop(form, None) is not None
        if "html" in page.content_type:
            self._note_row(form, page)
        if form not in self._awaited:
            return ()
        signature, others = self._awaited.pop(form)
        if signature_of(page) == signature:
            self._n_in_vain += 1
            return ()
        return others

    def probes(
        self, pages: Iterable[tuple[bytes, FetchedPage]], has_alternative: Callable[[bytes], bool]
    ) -> list[bytes]:
        """Choose the forms to fetch again, each on behalf of all forms of its row; each row is probed once.

        *pages* are form and page of all kept pages. *has_alternative* tells if another URL of a form was dropped.
        """
        n_more = MAX_IN_VAIN - self._n_in_vain
        rows = {signature: length for signature, length in self._rows.items() if signature not in self._probed}
        if n_more <= 0 or not rows:
            return []
        groups: dict[int, list[bytes]] = defaultdict(list)
        for form, page in pages:
            if "html" in page.content_type and has_alternative(form):
                groups[signature_of(page)].append(form)
        found = []
        for signature in sorted(filter(rows.__contains__, groups), key=lambda each: -rows[each])[:n_more]:
            form, *others = groups[signature]
            self._probed.add(signature)
            self._awaited[form] = signature, tuple(others)
            found.append(form)
        return found

    def go_on(self, requests: Mapping[bytes, str]) -> None:
        """Keep the forms that the previous process left, with their requests, until they are answered."""
        self._has_news = True
        self._left.update(requests)

    def take_news(self) -> bool:
        """Return True if :meth:`left` has changed since the last call."""
        has_news, self._has_news = self._has_news, False
        return has_news

    def left(self) -> str:
        """Return the forms of the latest rows, as text for the next process."""
        return "\n".join(f"{form.hex()} {request}" for form, request in self._left.items())

    def _note_row(self, form: bytes, page: FetchedPage) -> None:
        signature, latest = signature_of(page), self._latest(page.host)
        row = next((row for each, row in latest if each == signature), deque[bytes](maxlen=MAX_LEFT))
        row.append(form)
        latest.append((signature, row))
        if len(row) >= MIN_ROW:
            self._rows[signature] = max(len(row), self._rows.get(signature, 0))
            self._has_news = True
            for each in row:
                self._left.setdefault(each, "")


def forms_left(text: str) -> dict[bytes, str]:
    """Read the text of :meth:`AlikeAnswers.left`: form -> request (empty if unknown); empty if damaged."""
    with suppress(ValueError):
        words = (line.partition(" ") for line in text.splitlines())
        return {bytes.fromhex(form): request for form, _, request in words}
    return {}
