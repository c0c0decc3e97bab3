"""A copy of a crawl database to work on while the crawl goes on writing to the original."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from dedup_crawler.pages.database import Database
from dedup_crawler.pages.store import PageStore

if TYPE_CHECKING:
    from pathlib import Path


def take_snapshot(location: str, target: Path) -> None:
    """Copy the crawl database *location* (a path, or any SQLAlchemy URL) into a new SQLite file.

    Whoever writes to the original does not wait. SQLite is copied as it is at one moment; any other database page by
    page in crawl order, without what was found out about the pages, so that pages written meanwhile come along.

    Raises
    ------
    StoreError
        If the database is missing, damaged or not ours, or the copy cannot be written.
    """
    with closing(Database(location, create=False)) as database:
        if database.copy_to(target):
            return
    with PageStore(location, create=False) as pages, PageStore(target) as copy:
        copy.add_many(pages.pages())
