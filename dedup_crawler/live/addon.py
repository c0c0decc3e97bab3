"""Scrapy add-on that enables the filter and the collector with one line of settings."""

from __future__ import annotations

from scrapy.settings import BaseSettings

from dedup_crawler.live.collecting.collector import Collector
from dedup_crawler.live.middleware import DuplicateFilterMiddleware
from dedup_crawler.live.spider_middleware import DuplicateFilterSpiderMiddleware


class Addon:
    """Scrapy add-on: ``ADDONS = {"dedup_crawler.Addon": 500}``.

    Each component stays inactive until its setting is given (``DEDUP_MODEL``, ``DEDUP_LEARN_AFTER``,
    ``DEDUP_COLLECT``). A component that the project has placed itself keeps its place.
    """

    def update_settings(self, settings: BaseSettings) -> None:
        """Add the components to those of the project."""
        # 120: after robots.txt (100), so that a forbidden URL owns no form, and long before the HTTP cache (900)
        settings.setdefault_in_component_priority_dict("DOWNLOADER_MIDDLEWARES", DuplicateFilterMiddleware, 120)
        # closer to the engine than Scrapy's own, to see only the requests that these let through
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", DuplicateFilterSpiderMiddleware, 40)
        settings.setdefault_in_component_priority_dict("SPIDER_MIDDLEWARES", Collector, 45)
