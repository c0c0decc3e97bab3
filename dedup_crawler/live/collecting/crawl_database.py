"""The database of a crawl: where it is, and the pages that earlier crawls stored in it."""

from __future__ import annotations

import atexit
import contextlib
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.utils.job import job_dir

from dedup_crawler.errors import StoreError
from dedup_crawler.live.collecting.response_page import Beside, FetchedPage
from dedup_crawler.live.options import Options
from dedup_crawler.pages.records import Page

if TYPE_CHECKING:
    from dedup_crawler.pages.store import PageStore

logger = logging.getLogger(__name__)

_NAME = "dedup.db"


def database_of(crawler: Crawler) -> str | None:
    """Return the database that stores the pages of a crawl; None if they are not collected.

    ``DEDUP_COLLECT`` names it. A crawl that learns by itself (``DEDUP_LEARN_AFTER``) and names none uses ``dedup.db``
    in its JOBDIR. Without a JOBDIR it uses a temporary file, which is removed when the engine has stopped; the log
    says so. Later calls return the same value.

    BadInputError if a ``DEDUP_*`` setting cannot be read.
    """
    if crawler not in _DATABASES:
        _DATABASES[crawler] = _database(crawler, Options.from_settings(crawler.settings))
    return _DATABASES[crawler]


def models_folder(database: str, model: str | None) -> Path:
    """Folder for the models of a crawl that learns by itself: *model* (``DEDUP_MODEL``), or beside its database.

    >>> models_folder("crawls/forum.db", None).as_posix(), models_folder("mysql://me@host/forum", None).as_posix()
    ('crawls/forum.models', 'forum.models')
    """
    if model is not None:
        return Path(model)
    if "://" not in database:
        path = Path(database)
        return path.parent / f"{path.stem}.models"
    scheme, _, rest = database.partition("://")
    name = Path(rest.partition("/")[2].partition("?")[0] or "crawl")
    return (name.parent if scheme.partition("+")[0] == "sqlite" else Path()) / f"{name.stem}.models"


def _database(crawler: Crawler, options: Options) -> str | None:
    if options.database is not None or options.learn_after is None or not options.is_enabled:
        return options.database
    jobs = job_dir(crawler.settings)
    if jobs is not None:
        return str(Path(jobs) / _NAME)
    folder = tempfile.mkdtemp(prefix="dedup-crawl-")

    def remove() -> None:
        shutil.rmtree(folder, ignore_errors=True)

    crawler.signals.connect(remove, signal=signals.engine_stopped, weak=False)
    atexit.register(remove)  # a crawl that never started
    what = "pages" if options.model is not None else "pages and the models learnt from them"
    way_out = "DEDUP_COLLECT" if options.model is not None else "DEDUP_COLLECT (and DEDUP_MODEL)"
    logger.info(
        "The %s of this crawl are kept in %s and removed at its end; set %s to keep them.", what, folder, way_out
    )
    return str(Path(folder) / _NAME)


class EarlierPages:
    """The stored pages of a *database* (a path or an SQLAlchemy URL; None: no pages)."""

    def __init__(self, database: str | None) -> None:
        self._database = database
        self._store: PageStore | None = None

    def urls(self) -> Iterator[tuple[str, int]]:
        """Yield the URLs that were answered with a page or a redirect, each with its status, in crawl order.

        StoreError if the database does not exist or cannot be read.
        """
        if (store := self._opened()) is not None:
            for page in store.page_facts():
                if page.status < 400:
                    yield page.url, page.status

    def page(self, url: str) -> FetchedPage | None:
        """Return the stored page of *url*; None if there is none, or it cannot be read."""
        return next(iter(self._fetched(lambda store: [store.get(url)])), None)

    def beside(self, url: str, n: int) -> Beside:
        """Return up to *n* pages fetched just before that of *url* and up to *n* just after it, the nearest first."""
        return self._fetched(lambda store: store.before(url, n)), self._fetched(lambda store: store.after(url, n))

    def _fetched(self, asked: Callable[[PageStore], Iterable[Page | None]]) -> list[FetchedPage]:
        """Return the good answers among the pages that *asked* reads; none if the database cannot be read."""
        try:
            store = self._opened()
            pages = [] if store is None else [*asked(store)]
        except StoreError:
            return []
        return [
            FetchedPage.of(page.url, page.url, page.content_type or "", page.content)
            for page in pages
            if page is not None and page.status < 300 and page.content
        ]

    def _opened(self) -> PageStore | None:
        if self._store is None and self._database is not None:
            from dedup_crawler.pages.store import PageStore  # not loaded by a crawl without a database

            self._store = PageStore(self._database, create=False)
        return self._store

    def close(self) -> None:
        """Close the database."""
        if self._store is not None:
            with contextlib.suppress(StoreError):
                self._store.close()
            self._store = None


_DATABASES: WeakKeyDictionary[Crawler, str | None] = WeakKeyDictionary()
