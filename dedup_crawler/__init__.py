"""Learns which URLs of a site lead to the same page; drops the duplicates of a Scrapy crawl before they are fetched.

In the settings of a Scrapy project::

    ADDONS = {"dedup_crawler.Addon": 500}
    DEDUP_MODEL = "models/forum.example.org"

In a script or a notebook::

    from dedup_crawler import load

    model = load("models/forum.example.org")
    model.canonicalize(url)  # a key: URLs with equal keys are believed to be one page
    pandas.DataFrame(model.records(urls))  # with rules and reasons
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dedup_crawler.live.middleware import Addon, DuplicateFilterMiddleware, DuplicateFilterSpiderMiddleware
    from dedup_crawler.methods import load_model as load

__version__ = "0.1.0"

__all__ = ["Addon", "DuplicateFilterMiddleware", "DuplicateFilterSpiderMiddleware", "__version__", "load"]


def __getattr__(name: str) -> Any:
    """Import names that need Scrapy only when they are used: the command line starts without it."""
    if name == "load":
        return import_module("dedup_crawler.methods").load_model
    if name in __all__:
        return getattr(import_module("dedup_crawler.live.middleware"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
