"""Answers that are not the page of their URL: walls, sinks, and empty pages.

While a wall stands, its site is frozen, and the forms that it answered for are not seen. Nor is a form whose owner
redirects to a sink: a page to which many different URLs redirect, such as a log-in form or an error page with status
200. Overloaded sites and broken caches send empty pages with status 200.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.drop_report import DropReport
from dedup_crawler.live.exploration.shown_text import page_signature
from dedup_crawler.live.walls.freeze import SiteFreeze, WallCheck, WatchedPage, kind_of
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
        self._freezes: OrderedDict[str, SiteFreeze] = OrderedDict()
        self._frozen: set[str] = set()
        self._forms: OrderedDict[bytes, _Walled] = OrderedDict()  # forms that got a wall instead of a page
        self._shown: list[tuple[bytes, str]] = []  # forms that were cleared by a check, with their URLs
        self._checks: dict[str, WallCheck] = {}
        self._to_check: list[str] = []

    def is_frozen(self, url: str) -> bool:
        """Return True if the site of *url* is frozen: nothing of it is dropped, and its pages are no evidence."""
        return bool(self._frozen) and host_of(url) in self._frozen

    def is_walled(self, form: bytes) -> bool:
        """Return True if a wall answered for *form* and still stands."""
        return form in self._forms

    def take_unwalled(self, *, is_idle: bool) -> list[bytes]:
        """Remove and return forms that a wall answered for, once none stands or is checked; *is_idle*: in any case."""
        if not self._forms or ((self._frozen or self._checks) and not is_idle):
            return []
        forms = list(self._forms)
        self._forms.clear()
        return forms

    def take_shown(self) -> list[tuple[bytes, str]]:
        """Remove and return forms, with their URLs, that show what was taken for a wall."""
        shown, self._shown = self._shown, []
        return shown

    def take_urls_to_check(self) -> list[str]:
        """Remove and return the URLs to fetch once more, because a wall seems to stand since the last answer."""
        urls, self._to_check = self._to_check, []
        return urls

    def checked(self, page: FetchedPage) -> None:
        """Take in a page that was fetched once more; if there is no wall, the site is filtered again."""
        host = host_of(normal_form(page.url))
        check = self._checks.get(host)
        if check is None:
            return
        is_no_wall = check.answered(page.url, page_signature(page.body))
        if check.is_over:
            del self._checks[host]
        if not is_no_wall:
            return
        self._confirm(host, check)
        if host in self._freezes and self._freezes[host].end_by(check):
            self._frozen.discard(host)
            self._report.say(
                f"There is no wall at {host}: fetched once more, these URLs show that page again, and others of their "
                "kind show their own. Duplicates are filtered as before."
            )

    def _confirm(self, host: str, check: WallCheck) -> None:
        """Count the page that was taken for a wall as that of its forms, if their URLs are of a checked kind."""
        for form, (url, wall) in [*self._forms.items()]:
            if wall == check.wall and kind_of(url) in check.kinds and host_of(normal_form(url)) == host:
                del self._forms[form]
                self._shown.append((form, url))

    def saw(self, host: str, forms: Sequence[bytes], page: FetchedPage) -> set[bytes]:
        """Take in the page that answered for *forms*; return the forms for which it is a wall."""
        refused = self._refused(host, forms, page) if "html" in page.content_type else {}
        for form, walled in refused.items():
            self._forms[form] = walled
            if len(self._forms) > _MAX_WALLED:
                self._forms.popitem(last=False)
        return {*refused}

    def _refused(self, host: str, forms: Sequence[bytes], page: FetchedPage) -> dict[bytes, _Walled]:
        freeze = self._freezes.get(host)
        if freeze is None:
            freeze = self._freezes[host] = SiteFreeze()
            if len(self._freezes) > _MAX_HOSTS:
                forgotten, _ = self._freezes.popitem(last=False)
                self._frozen.discard(forgotten)
                self._checks.pop(forgotten, None)
        else:
            self._freezes.move_to_end(host)
        watched = WatchedPage(page)
        if freeze.see(forms[-1], watched):
            if not freeze.is_frozen:
                self._frozen.discard(host)
                self._report.say(f"{host} shows different pages again: duplicates are filtered as before.")
                return {}
            self._frozen.add(host)
            self._report.count("site/frozen")
            if (check := freeze.check()) is not None:
                self._checks[host] = check
                self._to_check += check.urls
            self._report.warn(
                f"{host} suddenly answers with one page for many URLs (a login form, a captcha?), now {page.url}: "
                "nothing of it is dropped or counted as seen until that changes."
            )
            walled = {**freeze.wall_forms(), **dict.fromkeys(forms, page.url)}
        else:
            walled = dict.fromkeys(forms, page.url) if freeze.is_wall(watched) else {}
        return {form: _Walled(url, watched.signature) for form, url in walled.items()}


class Sinks:
    """Counts the redirects to each page."""

    def __init__(self) -> None:
        self._sources: OrderedDict[bytes, set[bytes]] = OrderedDict()  # least recently used first
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
        if len(self._sources) > _MAX_TARGETS:
            self._sources.popitem(last=False)
        return set()
