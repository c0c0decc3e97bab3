"""Names that users meet: the settings of the live parts, which only this file reads; stats and meta keys."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple
from weakref import WeakSet

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from dedup_crawler.errors import BadInputError, nearest

logger = logging.getLogger("dedup_crawler.live")

_PREFIX = "DEDUP_"

STATS = {
    "request/processed": "requests that the filter looked at: kept + dropped + explored + would_drop",
    "request/kept": "sent",
    "request/dropped": "not sent: the page is fetched through another URL",
    "request/explored": "sent although they were duplicates, to test the rules",
    "request/would_drop": "duplicates of a dry run, sent",
    "request/covered": "of these three: URLs of a shape that shows nothing new; no URL is fetched in their place",
    "request/released": "sent after all, because the URL fetched in their place failed",
    "request/frozen": "duplicates linked while one page answered for everything (a wall): decided at their turn",
    "request/late": "sent back to the end of the queue, because URLs of their kind mostly repeat pages or are new",
    "request/reloaded": "pages that were fetched twice, to find text that changes with every fetch",
    "request/skipped": "requests that the filter does not look at: robots.txt, media, POST, opted out",
    "dropped/rule/ID": "drops by rule, for the first 200 rules that drop anything; of several rules the first counts",
    "explored/agree": "explorations that found the page they were taken for",
    "explored/disagree": "explorations that found another page",
    "explored/undecided": "explorations whose pages could not be compared",
    "explored/owners": "pages of owners that were fetched once more, to compare an explored page with",
    "rules/switched_off": "rules that were switched off, because they merged different pages",
    "values/switched_off": "single values of candidates that were switched off in the same way",
    "site/frozen": "how often a site suddenly showed one page for everything",
    "models/learnt": "models that the crawl learnt itself and went on with",
    "dropped/unverified": "of the dropped: drops by rules without a decided exploration",
    "lost/estimate": "pages lost, by the explorations: dropped URLs with a page of their own; `unknown` without any",
    "lost/low": "the lower end of its 95 % interval",
    "lost/high": "the upper end",
    "seen/size": "forms known at the end",
    "seen/restored": "forms known from an earlier crawl",
    "seen/unavailable": "requests that passed because the seen set could not be asked",
    "model/unknown_host": "requests to hosts that no model knows; they pass",
}
"""Name below ``dedup/`` -> meaning, in the order of the documentation."""

META_KEYS = {
    "dedup": "`False` opts a request out",
    "dedup_canonical": "the canonical form of the request, for callbacks and errbacks",
    "dedup_reason": "why it was dropped",
}
"""Key of a request's meta -> meaning."""


def _setting(name: str, default: object, meaning: str, *, shown: str = "") -> Any:
    """Return one field of the options; *shown* describes its default if the value alone does not."""
    return field(default=default, metadata={"setting": name, "meaning": meaning, "shown": shown})


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of the filter in one crawl."""

    model: str | None = _setting(
        "DEDUP_MODEL",
        None,
        "model folder, or a folder of model folders, each named by its host; if one cannot be read, the crawl does not "
        "start",
    )
    learn_after: int | None = _setting(
        "DEDUP_LEARN_AFTER",
        None,
        "learn a model from the crawl itself after this many pages, and again whenever there are 15 % more (4 % more "
        "in a slow crawl); needs `pip install 'dedup-crawler[learn]'`, but no `DEDUP_MODEL`",
    )
    static_rules: tuple[str, ...] = _setting(
        "DEDUP_STATIC_RULES",
        (),
        "files of rules that people wrote (ClearURLs `data.min.json`, duplicate-url-discarder JSON), applied "
        "before the model on the hosts that it knows; needs `pip install 'dedup-crawler[static]'`",
        shown="not set",
    )
    is_enabled: bool = _setting("DEDUP_ENABLED", True, "`False` switches the filter off, and nothing else")
    is_dry_run: bool = _setting(
        "DEDUP_DRY_RUN",
        False,
        "decide and count, but drop nothing; report at the end how many of the drops would have been right",
    )
    exploration: float = _setting(
        "DEDUP_EXPLORATION",
        0.02,
        "share (0 to 1) of the duplicates that are fetched all the same, to test the rules; more for new rules, "
        "`0` for none",
    )
    dropped: str | None = _setting(
        "DEDUP_DROPPED",
        None,
        "file for the drops, one line of JSON each: url, form, rules, owner, referrer, time",
    )
    status: str | None = _setting(
        "DEDUP_STATUS",
        None,
        "HTML file with the drops so far and the state of each rule, written anew every few seconds",
    )
    is_debug: bool = _setting(
        "DEDUP_DEBUG", False, "log every drop at DEBUG; otherwise the first one of each rule, at INFO"
    )
    database: str | None = _setting(
        "DEDUP_COLLECT",
        None,
        "database (a path or an SQLAlchemy URL) that stores every page of the crawl, of any spider; the pages that it "
        "holds already count as seen",
    )
    seen: str | None = _setting(
        "DEDUP_SEEN",
        None,
        "where seen forms are kept: `memory`, the path of a file, `redis://HOST:PORT/DB?name=NAME`, see below",
        shown="`dedup.seen` in `JOBDIR`, or `memory`",
    )

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> Options:
        """Read the ``DEDUP_*`` settings; an empty string counts as not set.

        BadInputError if a number cannot be read, or is out of range.
        """
        learn_after = _number(settings, "DEDUP_LEARN_AFTER", at_least=50)
        exploration = _number(settings, "DEDUP_EXPLORATION", at_least=0, at_most=1)
        return cls(
            model=_text(settings, "DEDUP_MODEL"),
            learn_after=int(learn_after) if learn_after is not None else None,
            static_rules=tuple(map(str, settings.getlist("DEDUP_STATIC_RULES"))),
            is_enabled=settings.getbool("DEDUP_ENABLED", True),
            is_dry_run=settings.getbool("DEDUP_DRY_RUN"),
            exploration=exploration if exploration is not None else cls().exploration,
            dropped=_text(settings, "DEDUP_DROPPED"),
            status=_text(settings, "DEDUP_STATUS"),
            is_debug=settings.getbool("DEDUP_DEBUG"),
            database=_text(settings, "DEDUP_COLLECT"),
            seen=_text(settings, "DEDUP_SEEN"),
        )


class Setting(NamedTuple):
    """A setting as the documentation shows it, in Markdown."""

    name: str
    default: str
    meaning: str


def known_settings() -> list[Setting]:
    """Return all settings of the live parts, the most used first."""
    return [
        Setting(
            each.metadata["setting"],
            each.metadata["shown"] or ("not set" if each.default is None else f"`{each.default}`"),
            each.metadata["meaning"],
        )
        for each in fields(Options)
    ]


def warn_of_unknown_settings(crawler: Crawler) -> None:
    """Warn, once per crawl, of each unknown ``DEDUP_*`` setting: it may be misspelt."""
    if crawler not in _WARNED:
        _WARNED.add(crawler)
        for line in _about_unknown(str(name) for name in crawler.settings):
            logger.warning("%s", line)


def _about_unknown(names: Iterable[str]) -> Iterator[str]:
    known = [setting.name for setting in known_settings()]
    stems = [name.removeprefix(_PREFIX) for name in known]  # the prefix would make all names similar
    for name in names:
        start, _, stem = name.partition("_")
        # another plugin may call its settings DEDUPE_...
        if name in known or not (start == "DEDUP" or (start.startswith("DEDUP") and stem in stems)):
            continue
        near = nearest(stem, stems)
        hint = f"Did you mean {_PREFIX}{near}?" if near is not None else f"Known: {', '.join(known)}."
        yield f"{name} is no setting of dedup_crawler, and does nothing. {hint}"


def _text(settings: BaseSettings, name: str) -> str | None:
    return str(settings.get(name) or "") or None


def _number(settings: BaseSettings, name: str, *, at_least: float, at_most: float = sys.float_info.max) -> float | None:
    given = settings.get(name)
    if given is None or given == "":
        return None
    try:
        number = float(given)
    except (TypeError, ValueError):
        raise BadInputError(f"{name} = {given!r} is not a number.") from None
    if not at_least <= number <= at_most:  # not if it is no number, or infinite
        wanted = f"{at_least:g} or more" if at_most == sys.float_info.max else f"from {at_least:g} to {at_most:g}"
        raise BadInputError(f"{name} = {given!r}: it has to be {wanted}.")
    return number


_WARNED: WeakSet[Crawler] = WeakSet()
