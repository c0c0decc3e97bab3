"""The walls of all sites: while one stands, its site is frozen, and the forms that it answered for are not seen."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dedup_crawler.live.walls.freeze import SiteFreeze, WatchedPage
from dedup_crawler.urls.normal import host_of

if TYPE_CHECKING:
    from dedup_crawler.live.comparing.owner_pages import FetchedPage
    from dedup_crawler.live.telling.drop_report import DropReport

_MAX_HOSTS = 100
_MAX_WALLED = 20_000


class Walls:
    """The walls in front of the sites of a crawl.

    Parameters
    ----------
    report
        Receives a log line when a wall begins or ends.
    """

    def __init__(self, report: DropReport) -> None:
        self._report = report
        self._freezes: OrderedDict[str, SiteFreeze] = OrderedDict()
        self._frozen: set[str] = set()
        self._forms: OrderedDict[bytes, None] = OrderedDict()  # forms that got a wall instead of a page

    def is_frozen(self, url: str) -> bool:
        """Return True if the site of *url* is frozen: nothing of it is dropped, and its pages are no evidence."""
        return bool(self._frozen) and host_of(url) in self._frozen

    def is_walled(self, form: bytes) -> bool:
        """Return True if a wall answered for *form* and still stands."""
        return form in self._forms

    def take_unwalled(self, *, is_idle: bool) -> list[bytes]:
        """Remove and return forms that a wall answered for, once no wall stands; *is_idle*: in any case."""
        if not self._forms or (self._frozen and not is_idle):
            return []
        forms = list(self._forms)
        self._forms.clear()
        return forms

    def saw(self, host: str, forms: Sequence[bytes], page: FetchedPage) -> set[bytes]:
        """Take in the page that answered for *forms*; return the forms for which it is a wall."""
        refused = self._refused(host, forms, page) if "html" in page.content_type else set()
        for form in refused:
            self._forms[form] = None
            if len(self._forms) > _MAX_WALLED:
                self._forms.popitem(last=False)
        return refused

    def _refused(self, host: str, forms: Sequence[bytes], page: FetchedPage) -> set[bytes]:
        freeze = self._freezes.get(host)
        if freeze is None:
            freeze = self._freezes[host] = SiteFreeze()
            if len(self._freezes) > _MAX_HOSTS:
                self._frozen.discard(self._freezes.popitem(last=False)[0])
        else:
            self._freezes.move_to_end(host)
        watched = WatchedPage(page)
        if freeze.see(forms[-1], watched):
            if not freeze.is_frozen:
                self._frozen.discard(host)
                self._report.inform(f"{host} shows different pages again: duplicates are filtered as before.")
                return set()
            self._frozen.add(host)
            self._report.count("site/frozen")
            self._report.warn(
                f"{host} suddenly answers with one page for many URLs (a login form, a captcha?), now {page.url}: "
                "nothing of it is dropped or counted as seen until that changes."
            )
            return {*forms, *freeze.wall_forms()}
        return set(forms) if freeze.is_frozen and freeze.is_wall(watched) else set()
