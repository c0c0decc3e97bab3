"""Learns which URLs of a site lead to the same page; drops the duplicates of a Scrapy crawl before they are fetched.

In the settings of a Scrapy project::

    ADDONS = {"dedup_crawler.Addon": 500}
    DEDUP_MODEL = "models/forum.example.org"
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dedup_crawler.live.addon import Addon
    from dedup_crawler.live.middleware import DuplicateFilterMiddleware
    from dedup_crawler.live.spider_middleware import DuplicateFilterSpiderMiddleware

__version__ = "0.1.0"

__all__ = ["Addon", "DuplicateFilterMiddleware", "DuplicateFilterSpiderMiddleware", "__version__"]


_PLACES = {
    "Addon": "dedup_crawler.live.addon",
    "DuplicateFilterMiddleware": "dedup_crawler.live.middleware",
    "DuplicateFilterSpiderMiddleware": "dedup_crawler.live.spider_middleware",
}


def __getattr__(name: str) -> Any:
    """Import what needs Scrapy only when it is asked for: the command line starts without it."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)
