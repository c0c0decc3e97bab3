"""The site of a spec: the page of each URL, the links of each page, and its text.

The name of a page, such as ``0/17``, has its family and number, and the number of the URL if each URL is a page of its
own. The name is in the head of the page, which the filter ignores, so that the spider can report its page.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from random import Random
from typing import NamedTuple

from .spec import (
    APART,
    CHAIN,
    COVERED,
    DEFAULT,
    IN_END,
    IN_PATH,
    IN_PATHS,
    LATE,
    ONE_FORM,
    PLAIN,
    QUERY,
    SESSION,
    SIBLINGS,
    SLUG,
    TRACKING,
    Family,
    Spec,
)

PER_HUB = 6
"""Pages that one list links."""
N_LINES = 5
"""Number of own lines of a page; a thin page has only its title."""
HOME = "home"
_LETTERS = {
    QUERY: "view",
    SESSION: "visit",
    SLUG: "story",
    DEFAULT: "start",
    TRACKING: "news",
    PLAIN: "page",
    ONE_FORM: "one",
    COVERED: "topic",
    IN_PATH: "inner",
    IN_END: "inner",
}
_SOUNDS = [a + b for a in "bcdfghklmnprstvwz" for b in "aeiou"]
_WORDS = [first + second + last for first in _SOUNDS for second in _SOUNDS[::7] for last in "nrst"]
_CHROME = (
    "<div>The house of pages</div><div>News and lists for everybody</div><footer>All rights are kept by us</footer>"
)


class Shown(NamedTuple):
    """A page."""

    page: str


class Redirect(NamedTuple):
    """Another URL."""

    status: int
    target: str


@lru_cache(maxsize=50_000)
def text_of(page: str, n_lines: int) -> str:
    """Return the text of a page: a title and some lines of its own."""
    draw = Random(page)
    lines = "".join(f"<p>{' '.join(draw.choices(_WORDS, k=12))}</p>" for _ in range(n_lines))
    return f"<h1>{name_of(page)}</h1>{lines}"


@lru_cache(maxsize=50_000)
def name_of(page: str) -> str:
    """Return the name of a page."""
    return " ".join(Random(f"name {page}").choices(_WORDS, k=3))


class Site:
    """The site that a spec describes, without faults; paths have no host.

    Parameters
    ----------
    spec
        The crawl.
    """

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.answers: dict[str, Shown | Redirect] = {"/": Shown(HOME)}
        self.links: dict[str, list[str]] = {HOME: []}
        self.family_of: dict[str, int] = {}
        """Page -> place of its family; includes lists."""
        self.way_of: dict[str, tuple[int, int, int]] = {}
        """Path -> family, page, and number of the URL; without paths that only redirects lead to."""
        for number, family in enumerate(spec.families):
            self._add_pages(number, family)
            self._add_lists(number, family)

    def lookup(self, path: str) -> Shown | Redirect | None:
        """Return the answer to a path, with or without a session."""
        return self.answers.get(without_session(path))

    def pages(self) -> list[str]:
        """All pages."""
        return list(self.links)

    def path(self, number: int, page: int, way: int) -> str:
        """One of the URLs of a page."""
        family = self.spec.families[number]
        name = f"/{_LETTERS[family.kind]}{number}"
        if family.kind == QUERY:
            return f"{name}?id={page}&v={way}"
        if family.kind == SESSION:
            return f"{name}/{page}?sid={Random(f'{number} {page} {way}').getrandbits(64):016x}"
        if family.kind == SLUG:
            return f"{name}/{page}/{_WORDS[(page * 31 + way) % len(_WORDS)]}"
        if way and family.kind == DEFAULT:
            return f"{name}/{page}?page=1"
        if way and family.kind == TRACKING:
            return f"{name}/{page}?utm={_WORDS[way]}"
        if way and family.kind == COVERED:
            return f"/post{number}/{page}"
        return f"{name}/{page}"

    def _add_pages(self, number: int, family: Family) -> None:
        for page in range(family.n_pages):
            matters = family.matters_at is not None and page >= family.matters_at
            for way in range(family.n_ways):
                path = self.path(number, page, way)
                self.way_of[path] = (number, page, way)
                shown = f"{number}/{page}" if not (way and matters) else f"{number}/{page}/{way}"
                self.answers[path] = Shown(shown)
                self.family_of[shown] = number
                self.links[shown] = self._links_on(number, family, page)
                if way and family.redirects:
                    self._redirect(path, number, family, page, way)

    def _redirect(self, path: str, number: int, family: Family, page: int, way: int) -> None:
        """Redirect a later URL of a page to its first, or to a covered URL.

        The covered page has no other links to it.
        """
        if self.answers[path] == Shown(f"{number}/{page}"):
            nearer = way - 1 if family.redirects == "chain" else 0
            status = 302 if family.redirects == "chain" else int(family.redirects)
            self.answers[path] = Redirect(status, self.path(number, page, nearer))
        else:
            target = f"{path}-full"
            self.answers[target] = self.answers[path]
            self.answers[path] = Redirect(302, target)

    def _links_on(self, number: int, family: Family, page: int) -> list[str]:
        if family.links == CHAIN and page + 1 < family.n_pages:
            return [self.path(number, page + 1, way) for way in range(family.n_ways)]
        if family.links == SIBLINGS:
            return [self.path(number, page, way) for way in range(1, family.n_ways)]
        return []

    def _add_lists(self, number: int, family: Family) -> None:
        """Return lists of pages, each linked from the previous one."""
        lists = self._listed(number, family)
        for place, links in enumerate(lists):
            page = f"{number}/list/{place}"
            path = f"/list{number}?page={place}"
            self.answers[path] = Shown(page)
            self.family_of[page] = number
            self.links[page] = links + [f"/list{number}?page={place + 1}"] * (place + 1 < len(lists))
        self.links[HOME].append(f"/list{number}?page=0")

    def _listed(self, number: int, family: Family) -> list[list[str]]:
        if family.links == CHAIN:
            return [[self.path(number, 0, way) for way in range(family.n_ways)]]
        groups = [range(at, min(at + PER_HUB, family.n_pages)) for at in range(0, family.n_pages, PER_HUB)]
        first = [[self.path(number, page, 0) for page in group] for group in groups]
        others = [
            [self.path(number, page, way) for page in group for way in range(1, family.n_ways)] for group in groups
        ]
        if family.links == SIBLINGS or family.n_ways == 1:
            return first
        if family.kind in IN_PATHS:  # the session of a page is the list that links it
            n_lists = len(first) + family.n_ways - 1
            return [[*chain.from_iterable(first[max(0, at - family.n_ways + 1) : at + 1])] for at in range(n_lists)]
        if family.links == LATE:
            return [one + other for one, other in zip([*first, [], []], [[], [], *others], strict=True)]
        if family.links == APART:
            return [*first, [*chain.from_iterable(others)]]
        return [[self.path(number, page, way) for page in group for way in range(family.n_ways)] for group in groups]

    def html(self, page: str, n_shown: int) -> bytes:
        """Return the page as the *n_shown*-th answer of the site."""
        noise = self.spec.noise
        session = f"{n_shown * 7919:012x}"
        kind = next((family.kind for family in self.spec.families if family.kind in IN_PATHS), "")
        is_thin = page in self.family_of and self.spec.families[self.family_of[page]].is_thin
        clock = (
            f"<p>It is {n_shown // 3600 % 24:02}:{n_shown // 60 % 60:02}:{n_shown % 60:02}</p>"
            if "clock" in noise
            else ""
        )
        counter = f"<p>Visitors so far: {1000 + n_shown}</p>" if "counter" in noise else ""
        column = (
            "".join(f"<div>{_WORDS[(n_shown * 7 + k) % 60]} is new</div>" for k in range(3))
            if "column" in noise
            else ""
        )
        hrefs = [(path, _escaped(with_session(path, session, kind))) for path in self.links[page]]
        links = "".join(f'<li><a href="{href}">{self._label(path)}</a></li>' for path, href in hrefs)
        return (
            f'<html><head><meta name="page" content="{page}"><title>{name_of(page)}</title></head><body>{_CHROME}'
            f"{clock}{text_of(page, 0 if is_thin else N_LINES)}<ul>{links}</ul>{column}{counter}</body></html>"
        ).encode()

    def _label(self, path: str) -> str:
        way = self.way_of.get(path)
        return name_of(f"{way[0]}/{way[1]}") if way is not None else "onward"


def with_session(path: str, session: str, kind: str) -> str:
    """Return a path with a session in the place for this kind of family."""
    if kind == IN_PATH:
        return f"/(S({session})){path}"
    if kind == IN_END:
        path, mark, query = path.partition("?")
        return f"{path};jsessionid={session}{mark}{query}"
    return path


def without_session(path: str) -> str:
    """Return a path without its session."""
    if path.startswith("/(S(") and "))/" in path:
        return path[path.index("))/") + 2 :]
    head, mark, tail = path.partition(";jsessionid=")
    return head + "".join(tail.partition("?")[1:]) if mark else path


def _escaped(path: str) -> str:
    return path.replace("&", "&amp;")
