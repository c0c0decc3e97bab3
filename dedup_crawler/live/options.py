"""The settings of the live parts: the only place where they are read, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedup_crawler.errors import BadInputError

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


@dataclass(frozen=True, slots=True)
class Options:
    """What a user says about the filter in the settings of a crawl."""

    is_enabled: bool = True
    """``DEDUP_ENABLED``: False switches the filter off and leaves everything else as it is."""
    model: str | None = None
    """``DEDUP_MODEL``: a model folder, or a folder of them, one for each host. Without one nothing is filtered."""
    is_dry_run: bool = False
    """``DEDUP_DRY_RUN``: decide and count, drop nothing."""
    is_debug: bool = False
    """``DEDUP_DEBUG``: log every drop at DEBUG; otherwise only the first one of each rule."""
    database: str | None = None
    """``DEDUP_COLLECT``: database (path or SQLAlchemy URL) that takes the pages of this crawl."""
    exploration: float = 0.02
    """``DEDUP_EXPLORATION``: share (0-1) of the duplicates that are fetched all the same, to see whether they are."""
    seen: str | None = None
    """``DEDUP_SEEN``: where seen forms are kept: ``memory``, the path of a file, ``redis://HOST:PORT/DB?name=NAME``."""
    dropped: str | None = None
    """``DEDUP_DROPPED``: JSON-lines file that takes every drop."""
    learn_after: int | None = None
    """``DEDUP_LEARN_AFTER``: learn a model from the crawl itself after this many pages; needs no ``DEDUP_MODEL``."""

    static_rules: tuple[str, ...] = ()
    """``DEDUP_STATIC_RULES``: files of ClearURLs or duplicate-url-discarder rules, applied before any model."""

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Options:
        """Read the ``DEDUP_*`` settings; an empty string counts as not set.

        Raises
        ------
        BadInputError
            If a number is none, or out of its range.
        """
        learn_after = _number(settings, "DEDUP_LEARN_AFTER", None, at_least=50, at_most=None)
        exploration = _number(settings, "DEDUP_EXPLORATION", cls().exploration, at_least=0, at_most=1)
        return cls(
            is_enabled=settings.getbool("DEDUP_ENABLED", cls().is_enabled),
            model=str(settings.get("DEDUP_MODEL") or "") or None,
            is_dry_run=settings.getbool("DEDUP_DRY_RUN"),
            is_debug=settings.getbool("DEDUP_DEBUG"),
            database=str(settings.get("DEDUP_COLLECT") or "") or None,
            exploration=exploration if exploration is not None else cls().exploration,
            seen=str(settings.get("DEDUP_SEEN") or "") or None,
            dropped=str(settings.get("DEDUP_DROPPED") or "") or None,
            learn_after=int(learn_after) if learn_after is not None else None,
            static_rules=tuple(map(str, settings.getlist("DEDUP_STATIC_RULES"))),
        )


def _number(
    settings: BaseSettings, name: str, default: float | None, *, at_least: float, at_most: float | None
) -> float | None:
    given = settings.get(name)
    if given is None or given == "":
        return default
    try:
        number = float(given)
    except (TypeError, ValueError):
        raise BadInputError(f"{name} = {given!r} is not a number.") from None
    if not (at_least <= number and (at_most is None or number <= at_most)):
        wanted = f"from {at_least:g} to {at_most:g}" if at_most is not None else f"{at_least:g} or more"
        raise BadInputError(f"{name} = {given!r}: it has to be {wanted}.")
    return number
