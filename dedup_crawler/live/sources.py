"""The sources of a filtered crawl, opened from its ``DEDUP_*`` settings: models, seen set, JOBDIR."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy.utils.job import job_dir

from dedup_crawler.errors import ModelError
from dedup_crawler.live.collecting.crawl_database import database_of, models_folder
from dedup_crawler.live.killed_job import KilledJob
from dedup_crawler.live.learning.learner import check_learning
from dedup_crawler.live.models.live_models import LiveModels
from dedup_crawler.live.models.model_shelf import ModelShelf
from dedup_crawler.live.options import Options, warn_of_unknown_settings
from dedup_crawler.live.seen.opening import open_seen
from dedup_crawler.live.seen.protocol import SeenSet
from dedup_crawler.rules.static_rules.layer import StaticLayer, read_rule_files

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger("dedup_crawler.live")


class Sources(NamedTuple):
    """Sources of one crawl."""

    options: Options
    models: LiveModels
    seen: SeenSet[Any]
    job: KilledJob | None
    """The JOBDIR, if the crawl can be resumed."""
    learnt: Path | None
    """Folder for the models of a crawl that learns by itself."""


def open_sources(crawler: Crawler) -> Sources | None:
    """Open what the settings of a crawl name; None if the filter is off, or has no model and learns none.

    DedupError if a setting cannot be used.
    """
    warn_of_unknown_settings(crawler)
    options = Options.from_settings(crawler.settings)
    if not options.is_enabled:
        return None
    if options.model is None and options.learn_after is None:
        logger.info("DEDUP_MODEL is not set: no duplicates are filtered.")
        return None
    layer = read_rule_files([Path(file) for file in options.static_rules]) if options.static_rules else None
    learnt = _learning_folder(crawler, options)
    models = LiveModels(_shelf(options, learnt, layer), options.exploration, logger.error)
    # such a spider resumes from its database, which knows the seen URLs
    jobs = None if getattr(crawler.spidercls, "yields_pages", False) else job_dir(crawler.settings)
    seen = open_seen(options.seen, Path(jobs) if jobs else None)
    job = KilledJob(Path(jobs)) if jobs and seen.is_durable else None
    if job is not None:
        job.put_aside()
    return Sources(options, models, seen, job, learnt)


def _learning_folder(crawler: Crawler, options: Options) -> Path | None:
    database = database_of(crawler)
    if options.learn_after is None or database is None:
        return None
    check_learning()
    return models_folder(database, options.model)


def _shelf(options: Options, learnt: Path | None, layer: StaticLayer | None) -> ModelShelf:
    """Return the models of the crawl at its start."""
    try:
        return ModelShelf(learnt or options.model or "", may_be_empty=learnt is not None, layer=layer)
    except ModelError as error:
        raise ModelError(f"DEDUP_MODEL = {str(options.model or learnt)!r}: {error}") from error
