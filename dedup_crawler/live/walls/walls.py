"""Answers that are not the page of their URL: walls, sinks, and empty pages.

While a wall stands, its site is frozen, and the forms that it answered for are not seen. Nor is a form whose owner
redirects to a sink: a page to which many different URLs redirect, such as a log-in form or an error page with status
200. Overloaded sites and broken caches send empty pages with status 200.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scrapy.utils.datatypes import LocalCache

from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.drop_report import DropReport
from dedup_crawler.live.exploration.shown_text import signature_of
from dedup_crawler.live.walls.freeze import SiteFreeze, kind_of
from dedup_crawler.urls.normal import host_of, normal_form

_MAX_HOSTS = 100
_MAX_WALLED = 20_000
MIN_SOURCES = 5
"""Least number of different forms that redirect to a sink."""
_MAX_TARGETS = 10_000


class _Walled(NamedTuple):
    """A URL that got a wall instead of its page."""

    url: str
    wall: int
    """Signature of the wall."""


class Walls:
    """The walls in front of the sites of a crawl; the log tells when one begins or ends."""

    def __init__(self, report: DropReport) -> None:
        self._report = report
        self._freezes: LocalCache[str, SiteFreeze] = LocalCache(_MAX_HOSTS)  # the least recently seen host first
        self._forms: LocalCache[bytes, _Walled] = LocalCache(_MAX_WALLED)  # forms that got a wall instead of a page
        self._to_check: list[str] = []

    def is_frozen(self, url: str) -> bool:
        """Return True if the site of *url* is frozen: nothing of it is dropped, and its pages are no evidence."""
        freeze = self._freezes.get(host_of(url))
        return freeze is not None and freeze.wall is not None

    def is_walled(self, form: bytes) -> bool:
        """Return True if a wall answered for *form* and still stands."""
        return form in self._forms

    def take_unwalled(self, *, is_idle: bool) -> list[bytes]:
        """Remove and return forms that a wall answered for, once none stands or is checked; *is_idle*: in any case."""
        if not self._forms:
            return []
        if not is_idle and any(freeze.wall is not None or freeze.check for freeze in self._freezes.values()):
            return []
        forms = list(self._forms)
        self._forms.clear()
        return forms

    def take_urls_to_check(self) -> list[str]:
        """Remove and return the URLs to fetch once more, because a wall seems to stand since the last answer."""
        urls, self._to_check = self._to_check, []
        return urls

    def checked(self, page: FetchedPage) -> list[tuple[bytes, str]]:
        """Take in a page that was fetched once more; if there is no wall, the site is filtered again.

        Return the forms, with their URLs, that are known by now to show what was taken for a wall.
        """
        host = host_of(normal_form(page.url))
        freeze = self._freezes.get(host)
        if freeze is None or (check := freeze.check) is None:
            return []
        is_wall = check.answered(page.url, signature_of(page))
        if is_wall is not None:
            freeze.check = None
        if is_wall is not False:
            return []
        # the page is that of the forms for which it was taken for a wall, if their URLs are of a checked kind
        shown = [
            (form, url)
            for form, (url, wall) in self._forms.items()
            if wall == check.wall and kind_of(url) in check.kinds and host_of(normal_form(url)) == host
        ]
        for form, _ in shown:
            del self._forms[form]
        if freeze.end_by(check):
            self._report.say(
                f"There is no wall at {host}: fetched once more, these URLs show that page again, and others of their "
                "kind show their own. Duplicates are filtered as before."
            )
        return shown

    def saw(self, forms: Sequence[bytes], page: FetchedPage) -> set[bytes]:
        """Take in the page that answered for *forms*; return the forms for which it is a wall."""
        if "html" not in page.content_type:
            return set()
        host = page.host
        freeze = self._freezes.setdefault(host, SiteFreeze())
        self._freezes.move_to_end(host)
        refused: dict[bytes, str] = {}
        has_changed = freeze.see(forms[-1], page)
        if has_changed and freeze.wall is None:
            self._report.say(f"{host} shows different pages again: duplicates are filtered as before.")
        elif has_changed:
            self._report.count("site/frozen")
            self._report.warn(
                f"{host} suddenly answers with one page for many URLs (a login form, a captcha?), now {page.url}: "
                "nothing of it is dropped or counted as seen until that changes."
            )
            self._to_check += freeze.begin_check()
            refused = freeze.wall_forms()
        if (signature := signature_of(page)) == freeze.wall:
            refused |= dict.fromkeys(forms, page.url)
            self._forms.update((form, _Walled(url, signature)) for form, url in refused.items())
        return {*refused}


class Sinks:
    """Counts the redirects to each page."""

    def __init__(self) -> None:
        self._sources: LocalCache[bytes, set[bytes]] = LocalCache(_MAX_TARGETS)  # the least recently used first
        self._sinks: set[bytes] = set()

    def note(self, target: bytes, sources: Iterable[bytes]) -> set[bytes]:
        """Note that *sources* redirect to *target*; if it is a sink, return the forms that it swallowed."""
        its_sources = set(sources) - {target}
        if not its_sources:
            return set()
        if target in self._sinks:
            return its_sources
        known = self._sources.setdefault(target, set())
        self._sources.move_to_end(target)
        known |= its_sources
        if len(known) >= MIN_SOURCES:
            del self._sources[target]
            if len(self._sinks) < _MAX_TARGETS:
                self._sinks.add(target)
            return known
        return set()
