"""Answers that are not the page of their URL: walls, sinks, and empty pages.

A wall is one page, such as a log-in form or a captcha, that suddenly answers for very many URLs. While it stands,
fetched pages are no evidence for rules or forms. So the host is frozen: nothing of it is dropped, and forms that got
the wall instead of their page are fetched again.

A search without results or a list without entries is one page for many URLs, too, and a crawl may reach them all at
once. A wall that stands also answers for URLs of the same kind that showed other pages before. So as many of these are
fetched again as of those that it answered for. There is no wall if all show what they showed before.

Nor is a form seen whose owner redirects to a sink: a page to which many different URLs redirect, such as a log-in form
or an error page with status 200. Overloaded sites and broken caches send empty pages with status 200.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple
from urllib.parse import urlsplit

from scrapy.utils.datatypes import LocalCache

from dedup_crawler.live.collecting.response_page import FetchedPage
from dedup_crawler.live.drop_report import DropReport
from dedup_crawler.live.exploration.shown_text import signature_of
from dedup_crawler.urls.normal import host_of, normal_form

WINDOW = 200
"""Number of latest forms whose pages are watched."""
WALL_SHARE = 0.2
"""A signature on more than this share (0-1) of the window is a wall, if it was rare before."""
BEFORE_SHARE = 0.05
"""A signature on less than this share (0-1) of the pages before the window was rare."""
MIN_BEFORE = 20
"""Least number of pages before the window."""
LAST = 50
"""Number of latest forms that show whether a wall is gone."""
GONE_SHARE = 0.1
"""A wall is gone if less than this share (0-1) of them has its signature."""
MAX_WALLS = 16
"""Maximum of remembered walls, which are recognized when they come again."""
N_FIRST = 4
"""If so many first pages of a kind of URLs are one page, it is no wall for this kind."""
MAX_KINDS = 2_000
"""Maximum of kinds of URLs whose first pages are kept."""
MAX_SIGNATURES = 20_000
N_CHECKED = 4
"""URLs of either sort. If a site shows a wall by chance, for half of all requests, one check in 256 misses it, and the
pages behind it are lost."""
_MAX_HOSTS = 100
_MAX_WALLED = 20_000
MIN_SOURCES = 5
"""Least number of different forms that redirect to a sink."""
_MAX_TARGETS = 10_000
_WORD = re.compile(r"\w+")


class Walls:
    """The walls in front of the sites of a crawl; the log tells when one begins or ends."""

    def __init__(self, report: DropReport) -> None:
        self._report = report
        self._freezes: LocalCache[str, SiteFreeze] = LocalCache(_MAX_HOSTS)  # the least recently seen host first
        # form that got a wall instead of a page -> URL, signature of the wall
        self._forms: LocalCache[bytes, tuple[str, int]] = LocalCache(_MAX_WALLED)
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
            self._forms.update((form, (url, signature)) for form, url in refused.items())
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


class _Watched(NamedTuple):
    """The page of a form."""

    url: str
    """As requested."""
    kind: str
    signature: int


class SiteFreeze:
    """Watches the pages of one site for walls."""

    def __init__(self) -> None:
        self.wall: int | None = None
        """Signature of the wall that stands, if any."""
        self.check: WallCheck | None = None
        """The latest check, until all of its answers have come."""
        self._window: OrderedDict[bytes, _Watched] = OrderedDict()  # form -> its page, the latest last
        self._before: Counter[int] = Counter()  # signature -> number of pages before the window
        self._n_before = 0
        self._walls: LocalCache[int, None] = LocalCache(MAX_WALLS)
        self._no_walls: LocalCache[int, set[str]] = LocalCache(MAX_WALLS)  # signature -> kinds that really show it
        self._first: LocalCache[str, list[int]] = LocalCache(MAX_KINDS)  # kind of URLs -> signatures of its first pages

    def wall_forms(self) -> dict[bytes, str]:
        """Return the forms of the window that got the wall instead of a page, with their URLs, the earliest first."""
        return {form: page.url for form, page in self._window.items() if page.signature == self.wall}

    def begin_check(self) -> list[str]:
        """Begin a check of the present wall, unless the window has too few pages of these kinds; return its URLs."""
        pages = self._window.values()
        others = [page.url for page in pages if page.signature != self.wall]
        walled = [page.url for page in pages if page.signature == self.wall and not self._really_shows(page)]
        if self.wall is None or (check := WallCheck.of(self.wall, walled, others)) is None:
            return []
        self.check = check
        return check.urls

    def end_by(self, check: WallCheck) -> bool:
        """Note that a check found no wall, and end its freeze; return False if another wall stands by now, or none."""
        self._walls.pop(check.wall, None)
        self._no_walls.setdefault(check.wall, set()).update(check.kinds)
        if check.wall != self.wall:
            return False
        self._end()
        return True

    def see(self, form_digest: bytes, page: FetchedPage) -> bool:
        """Take in the page of a form; return True if the freeze began or ended with it."""
        self._window.pop(form_digest, None)  # a form counts once
        signature = signature_of(page)
        self._window[form_digest] = _Watched(page.url, kind_of(page.url), signature)
        if len(self._window) > WINDOW:
            _, old = self._window.popitem(last=False)
            if self.wall is None and len(known := self._first.setdefault(old.kind, [])) < N_FIRST:
                known.append(old.signature)
            if old.signature not in self._walls and not self._really_shows(old):
                self._before[old.signature] += 1
                if len(self._before) > MAX_SIGNATURES:
                    self._before = Counter(dict(self._before.most_common(MAX_SIGNATURES // 2)))
                self._n_before += 1
        return self._freeze(signature) if self.wall is None else self._thaw(self.wall)

    def _freeze(self, signature: int) -> bool:
        is_known = signature in self._walls
        n_wanted = WALL_SHARE * (LAST if is_known else WINDOW)
        alike = [page for page in self._window.values() if page.signature == signature]
        if len(alike) <= n_wanted or not (is_known or self._is_sudden(signature)):
            return False
        if sum(not self._really_shows(page) for page in alike) <= n_wanted:
            return False
        self.wall = signature
        self._walls[signature] = None
        self._walls.move_to_end(signature)
        return True

    def _really_shows(self, page: _Watched) -> bool:
        """Return True if the page is known to be no wall for such URLs, or was their page from the beginning."""
        is_checked = page.kind in self._no_walls.get(page.signature, ())
        return is_checked or self._first.get(page.kind) == [page.signature] * N_FIRST

    def _is_sudden(self, signature: int) -> bool:
        """Return True if enough other pages came before the first page of the window with *signature*."""
        n_before = self._n_before
        if n_before < MIN_BEFORE:
            n_before += [page.signature for page in self._window.values()].index(signature)
        return n_before >= MIN_BEFORE and self._before[signature] < BEFORE_SHARE * n_before

    def _thaw(self, wall: int) -> bool:
        latest = [page.signature for page in islice(reversed(self._window.values()), LAST)]
        if len(latest) < LAST or latest.count(wall) >= GONE_SHARE * LAST:
            return False
        self._end()
        return True

    def _end(self) -> None:
        for form in self.wall_forms():  # they are fetched again; in the window they would count as the next wall
            del self._window[form]
        self.wall = None


class WallCheck:
    """The URLs that are fetched again, and their answers so far."""

    def __init__(self, wall: int, walled: Sequence[str], others: Sequence[str]) -> None:
        self.wall = wall
        """Signature of the page that answered for the *walled* URLs."""
        self.kinds = {*map(kind_of, walled)}
        self._awaited = {**dict.fromkeys(walled, True), **dict.fromkeys(others, False)}  # URL -> does it show the wall?
        self._is_wall = False

    @classmethod
    def of(cls, wall: int, walled: Sequence[str], others: Iterable[str]) -> WallCheck | None:
        """Choose URLs at even distances, and for each another of its kind; None if a kind has too few."""
        of_kind: defaultdict[str, deque[str]] = defaultdict(deque)
        for url in others:
            of_kind[kind_of(url)].append(url)
        chosen = [walled[place * len(walled) // N_CHECKED] for place in range(N_CHECKED)] if walled else []
        beside = [found.popleft() for url in chosen if (found := of_kind[kind_of(url)])]
        return cls(wall, chosen, beside) if chosen and len(beside) == len(chosen) else None

    @property
    def urls(self) -> list[str]:
        """The URLs whose answers are awaited, those without a wall first: a short wall may end meanwhile."""
        return sorted(self._awaited, key=self._awaited.__getitem__)

    def answered(self, url: str, signature: int) -> bool | None:
        """Take in the page of a URL; return True if there is a wall, None while more answers are awaited."""
        shows_wall = self._awaited.pop(url, None)
        if shows_wall is not None:
            self._is_wall |= (signature == self.wall) != shows_wall
        return None if self._awaited else self._is_wall


def kind_of(url: str) -> str:
    """Return the path of a URL, with words that have a digit masked (numbers, hashes), and its query keys."""
    path, query = urlsplit(url)[2:4]
    keys = sorted({part.partition("=")[0] for part in re.split("[&;]", query)})
    return f"{_WORD.sub(_masked, path)}?{'&'.join(keys)}"


def _masked(word: re.Match[str]) -> str:
    return "0" if any(map(str.isdigit, word.group())) else word.group()
