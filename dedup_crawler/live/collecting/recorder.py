"""Writing the pages of a running crawl: the store, its periodic flush, and the handling of write errors."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from dedup_crawler.errors import StoreError
from dedup_crawler.live.scrapy_compat import create_looping_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from dedup_crawler.pages.records import Page
    from dedup_crawler.pages.store import PageStore

_FLUSH_S = 5.0
"""A slow crawl that is killed loses at most the pages of this time, in seconds."""


class PageRecorder:
    """Stores the pages of a crawl in *location*.

    The first failing write ends the recording: *on_error* is called once with the error, and later pages are ignored.
    The recorder never stops the crawl.

    Raises
    ------
    StoreError
        If the database cannot be opened.
    """

    def __init__(self, location: str, on_error: Callable[[StoreError], None]) -> None:
        from dedup_crawler.pages.store import PageStore  # not loaded by a crawl that stores nothing

        self._store: PageStore | None = PageStore(location)
        self._on_error = on_error
        self._clock: AsyncioLoopingCall | LoopingCall | None = None

    def start(self) -> None:
        """Flush every few seconds from now on; needs a running event loop."""
        self._clock = create_looping_call(self.flush)
        self._clock.start(_FLUSH_S, now=False)

    def add(self, page: Page) -> None:
        """Store *page* with the next flush, or earlier."""
        self._guard(lambda store: store.add(page))

    def close(self) -> None:
        """Write the remaining pages."""
        if self._clock is not None and self._clock.running:
            self._clock.stop()
        self._guard(lambda store: store.close())
        self._store = None

    def flush(self) -> None:
        """Write the pages added since the last flush."""
        self._guard(lambda store: store.flush())

    def _guard(self, action: Callable[[PageStore], None]) -> None:
        store = self._store
        if store is None:
            return
        try:
            action(store)
        except StoreError as error:
            self._store = None
            with contextlib.suppress(StoreError):  # the first error is reported
                store.close()
            self._on_error(error)
