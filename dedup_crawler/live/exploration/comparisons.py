"""Comparison of explored duplicates with their owners' pages, which may come later or be fetched again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from scrapy.utils.datatypes import LocalCache

from dedup_crawler.evidence.site_text import N_BESIDE
from dedup_crawler.live.collecting.crawl_database import EarlierPages
from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.exploration.reloads import Reloads
from dedup_crawler.live.exploration.same_page import OwnerPages, PagesOfSite, frames_of_time, needs_site_text, same_page
from dedup_crawler.live.models.live_models import LiveModels

_MAX_ASKED = 20_000
_MAX_EARLY = 200
_MAX_FRAMED = 50_000
_MAX_HOSTS = 32  # the text of the least recently used site is forgotten

OnVerdict = Callable[[bytes, Sequence[str], "bool | None"], None]
"""Takes a form, the tested rules, and True if both pages are the same; None: undecided."""
MAX_BYTES = 16 * 2**20
_OVERHEAD = 500


class Comparisons:
    """Keeps the owners' pages and the duplicates that wait for them.

    *on_verdict* is called with the result of each comparison. The *models* know the text of their sites, and the
    *reloads* their rotating text.
    """

    def __init__(self, on_verdict: OnVerdict, models: LiveModels, earlier: EarlierPages, reloads: Reloads) -> None:
        self._on_verdict = on_verdict
        self._models = models
        self._earlier = earlier
        self._reloads = reloads
        self.owners = OwnerPages()
        """The pages of the owners, by form."""
        self._awaited = AwaitedOwners()
        self._early: list[tuple[bytes, FetchedPage, Duplicate]] = []
        self.asked_again: LocalCache[bytes, bool] = LocalCache(_MAX_ASKED)
        """Form -> True if the page of its owner is being fetched again; False: the owner is unknown, or failed."""
        self._site = lru_cache(_MAX_HOSTS)(lambda host: PagesOfSite())
        self._framed: set[bytes] = set()  # forms whose page counted for the frame; each counts once

    def has_no_owner(self, form: bytes) -> None:
        """Note that the owner of a form is unknown, or failed."""
        self.asked_again[form] = False
        for duplicate in self._awaited.take(form):
            self._on_verdict(form, duplicate.rules, None)

    def owner_came(self, form: bytes, page: FetchedPage) -> None:
        """Keep an owner's page, and compare its waiting duplicates."""
        self.asked_again.pop(form, None)
        self.owners.put(form, page)
        for duplicate in self._awaited.take(form):
            self._compare(form, page, duplicate)

    def learn_frame(self, form: bytes, page: FetchedPage) -> None:
        """Use the page of a form to learn its site's frame, the text that many pages share."""
        if form in self._framed:
            return
        if len(self._framed) >= _MAX_FRAMED:
            self._framed.clear()
        self._framed.add(form)
        self._site(page.host).offer(form, page)
        self._compare_early(may_wait=True)

    def explored(self, form: bytes, duplicate: Duplicate) -> None:
        """Compare a duplicate with its owner's page, now or when that comes."""
        self.learn_frame(form, duplicate.page)  # after relearning, a site may yield only such pages
        if (owner := self.owners.get(form)) is not None:
            self._compare(form, owner, duplicate)
        elif self.asked_again.get(form) is False:  # the next duplicate is compared with this one
            self.owners.put(form, duplicate.page, duplicate.rules)
            self._on_verdict(form, duplicate.rules, None)
        else:
            for given_up in self._awaited.add(form, duplicate):
                self._on_verdict(form, given_up.rules, None)

    def run_dry(self) -> None:
        """Compare what can be compared; no more pages will come."""
        self._compare_early(may_wait=False)
        for duplicate in self._awaited.take_all():
            self._on_verdict(b"", duplicate.rules, None)

    def clear(self) -> None:
        """Forget all pages: the forms now come from another model."""
        self._framed.clear()
        self.owners.clear()
        self.asked_again.clear()
        self._awaited.take_all()
        self._early.clear()

    def _compare(self, form: bytes, owner: FetchedPage, duplicate: Duplicate, *, may_wait: bool = True) -> None:
        if duplicate.page.url == owner.url:  # one URL, fetched twice: that tests no rule
            self._on_verdict(form, duplicate.rules, None)
            return
        site = None
        if needs_site_text(owner, duplicate.page):
            host = duplicate.page.host
            site = self._site(host).text(self.owners)
            if site is None and may_wait and len(self._early) < _MAX_EARLY:
                self._early.append((form, owner, duplicate))
                return
            model = self._models.of(host)
            if model is not None and (learnt := model.site_text) is not None:
                site = learnt.with_masked_lines_of(site) if site is not None else learnt
            if site is not None:
                site = site.with_rotating(self._reloads.rotating_text(host))
        is_same = same_page(owner, duplicate.page, site, duplicate.rules)
        if not is_same and site is not None:
            # for a stored owner, the database knows the pages of its time
            before, after = self._earlier.beside(owner.url, N_BESIDE)
            if not before and not after:
                before, after = self.owners.beside(form)
            beside = [before, after, self.owners.latest()]
            if frame := frames_of_time(owner, duplicate.page, beside):
                is_same = same_page(owner, duplicate.page, site.with_frame(frame), duplicate.rules)
        self._on_verdict(form, (*duplicate.rules, *self.owners.rules_of(form)), is_same)

    def _compare_early(self, *, may_wait: bool) -> None:
        """Compare the pairs of pages that came before the text of their site was known."""
        pairs, self._early = self._early, []
        for form, owner, duplicate in pairs:
            self._compare(form, owner, duplicate, may_wait=may_wait)


class Duplicate(NamedTuple):
    """The page of an explored duplicate."""

    rules: tuple[str, ...]
    page: FetchedPage


class AwaitedOwners:
    """Form -> its waiting duplicates; when memory is full, those of the longest waiting form are given up."""

    def __init__(self) -> None:
        self._of: dict[bytes, list[Duplicate]] = {}
        self._n_bytes = 0

    def add(self, form: bytes, duplicate: Duplicate) -> list[Duplicate]:
        """Keep a page until the owner of *form* comes; return the pages given up for lack of room."""
        self._of.setdefault(form, []).append(duplicate)
        self._n_bytes += _size(duplicate)
        given_up: list[Duplicate] = []
        while self._n_bytes > MAX_BYTES:
            given_up += self.take(next(iter(self._of)))
        return given_up

    def take(self, form: bytes) -> list[Duplicate]:
        """Remove and return the duplicates of *form*."""
        taken = self._of.pop(form, [])
        self._n_bytes -= sum(map(_size, taken))
        return taken

    def take_all(self) -> list[Duplicate]:
        """Remove and return all duplicates: no owner will come any more."""
        taken = [duplicate for each in self._of.values() for duplicate in each]
        self._of.clear()
        self._n_bytes = 0
        return taken


def _size(duplicate: Duplicate) -> int:
    return len(duplicate.page.packed) + _OVERHEAD
