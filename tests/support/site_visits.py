"""Visits to a live site, each in a process of its own, because Scrapy's reactor starts once in a process."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dedup_crawler.evaluation.log_mining import SiteValidation, SiteValidator
from dedup_crawler.labels.main_text import TextReader
from dedup_crawler.pages import fetcher
from dedup_crawler.pages.records import Page
from dedup_crawler.rules.language.rule import AnyRule

T = TypeVar("T")
FORBIDDEN = "forbidden"


@dataclass
class Visit:
    """Result of fetching some pages."""

    answers: list[Page | str | None] = field(default_factory=list)
    n_fetches: int = 0
    is_spent: bool = False
    seconds: float = 0.0
    """From the first page to the last, without robots.txt."""


def fetched(url: str, *rests: str, **options: Any) -> Visit:
    """Fetch some pages of a site; *options* are those of visit_site, and ``timeout_s``."""
    return _in_a_process(_fetched, url, rests, {"delay_s": 0, "max_fetches": 1000, **options})


def validated(url: str, urls: Sequence[str], rules: Sequence[AnyRule], *, n: int) -> SiteValidation:
    """Try rules on a site."""
    return _in_a_process(_validated, url, urls, rules, n)


def _in_a_process(function: Callable[..., T], *arguments: Any) -> T:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def _fetched(url: str, rests: Sequence[str], options: dict[str, Any]) -> Visit:
    visit = Visit()
    fetcher._SETTINGS["DOWNLOAD_TIMEOUT"] = options.pop("timeout_s", 30.0)

    async def fetch_all(site: fetcher.PoliteFetcher) -> None:
        started = time.monotonic()
        for rest in rests:
            visit.answers.append(await _fetch(site, rest))
        visit.seconds = time.monotonic() - started
        visit.n_fetches, visit.is_spent = site.n_fetches, site.is_spent

    fetcher.visit_site(url, fetch_all, **options)
    return visit


async def _fetch(site: fetcher.PoliteFetcher, rest: str) -> Page | str | None:
    try:
        return await site.fetch(rest)
    except fetcher.ForbiddenError:
        return FORBIDDEN


def _validated(url: str, urls: Sequence[str], rules: Sequence[AnyRule], n: int) -> SiteValidation:
    outcomes = []

    async def validate(site: fetcher.PoliteFetcher) -> None:
        validator = SiteValidator(urls, site, reader, n=n)
        await validator.validate(rules)
        outcomes.append(validator.outcome)

    with TextReader(n_workers=1) as reader:
        fetcher.visit_site(url, validate, delay_s=0, max_fetches=1000)
    return outcomes[0]
