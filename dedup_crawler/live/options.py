"""The settings of the live parts: the only place where they are read, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


@dataclass(frozen=True, slots=True)
class Options:
    """What a user says about the filter in the settings of a crawl."""

    is_enabled: bool = True
    """``DEDUP_ENABLED``: False switches the filter off and leaves everything else as it is."""
    model: str | None = None
    """``DEDUP_MODEL``: a model folder. Without one nothing is filtered."""
    is_dry_run: bool = False
    """``DEDUP_DRY_RUN``: decide and count, drop nothing."""
    is_debug: bool = False
    """``DEDUP_DEBUG``: log every drop at DEBUG; otherwise only the first one of each reason."""
    database: str | None = None
    """``DEDUP_COLLECT``: database (path or SQLAlchemy URL) that takes the pages of this crawl."""
    seen: str | None = None
    """``DEDUP_SEEN``: where seen forms are kept: ``memory``, the path of a file, ``redis://HOST:PORT/DB?name=NAME``."""

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Options:
        """Read the ``DEDUP_*`` settings; an empty string counts as not set."""
        return cls(
            is_enabled=settings.getbool("DEDUP_ENABLED", cls().is_enabled),
            model=str(settings.get("DEDUP_MODEL") or "") or None,
            is_dry_run=settings.getbool("DEDUP_DRY_RUN"),
            is_debug=settings.getbool("DEDUP_DEBUG"),
            database=str(settings.get("DEDUP_COLLECT") or "") or None,
            seen=str(settings.get("DEDUP_SEEN") or "") or None,
        )
