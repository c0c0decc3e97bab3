"""Pages and URLs that earlier crawls stored in the database."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from dedup_crawler.errors import StoreError
from dedup_crawler.live.comparing.owner_pages import Beside, FetchedPage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dedup_crawler.pages.records import Page
    from dedup_crawler.pages.store import PageStore


def earlier_urls(database: str) -> Iterator[str]:
    """Yield the URLs of *database* with a good answer (status below 300: a redirect shows no page), in crawl order.

    StoreError if the database does not exist or cannot be read.
    """
    from dedup_crawler.pages.store import PageStore  # not loaded by a crawl without a database

    with PageStore(database, create=False) as store:
        for page in store.labelled_pages():
            if page.status < 300:
                yield page.url


class EarlierPages:
    """The stored pages of a *database* (a path or an SQLAlchemy URL; None: no pages), to compare with."""

    def __init__(self, database: str | None) -> None:
        self._database = database
        self._store: PageStore | None = None

    def page(self, url: str) -> FetchedPage | None:
        """Return the stored page of *url*; None if there is none, or it cannot be read."""
        return next(iter(self._fetched(lambda store: [store.get(url)])), None)

    def beside(self, url: str, n: int) -> Beside:
        """Return up to *n* pages fetched just before that of *url* and up to *n* just after it, the nearest first."""
        return self._fetched(lambda store: store.before(url, n)), self._fetched(lambda store: store.after(url, n))

    def _fetched(self, asked: Callable[[PageStore], Iterable[Page | None]]) -> list[FetchedPage]:
        """Return the good answers among the pages that *asked* reads; none if the database cannot be read."""
        if self._database is None:
            return []
        from dedup_crawler.pages.store import PageStore

        try:
            if self._store is None:
                self._store = PageStore(self._database, create=False)
            pages = [*asked(self._store)]
        except StoreError:
            return []
        return [
            FetchedPage.of(page.url, page.url, page.content_type or "", page.content)
            for page in pages
            if page is not None and page.status < 300 and page.content
        ]

    def close(self) -> None:
        """Close the database."""
        if self._store is not None:
            with contextlib.suppress(StoreError):
                self._store.close()
            self._store = None
