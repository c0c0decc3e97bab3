"""The database that a crawl learns from, and the folder for its models."""

from __future__ import annotations

import atexit
import logging
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.utils.job import job_dir

from dedup_crawler.live.options import Options

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

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


_DATABASES: WeakKeyDictionary[Crawler, str | None] = WeakKeyDictionary()
