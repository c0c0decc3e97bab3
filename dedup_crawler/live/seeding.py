"""What an earlier crawl has left in the database, for a crawl that goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def earlier_urls(database: str) -> Iterator[str]:
    """URLs of *database* that were answered well (status below 300: a redirect shows no page), in crawl order.

    Raises
    ------
    StoreError
        If there is no such database, or it cannot be read.
    """
    from dedup_crawler.pages.store import PageStore  # a crawl without a database need not load one

    with PageStore(database, create=False) as store:
        for page in store.labelled_pages():
            if page.status < 300:
                yield page.url
