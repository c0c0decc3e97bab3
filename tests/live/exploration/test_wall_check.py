"""Walls over real HTTP: what seems to be one is checked, so that an empty list does not stop the filter."""

from __future__ import annotations

from functools import partial
from hashlib import sha1
from pathlib import Path

import pytest

from dedup_crawler.live.walls.walls import N_CHECKED, WallCheck, kind_of
from faulty_site import text
from live_site import Answer, Site, walk_filtered

N_ITEMS = 240
N_VIEWS = 3
FROM = 80
"""The first item without a page of its own, or with a wall in front of it."""
NO_WALL = "There is no wall at"


def views(n: int, *, is_hashed: bool = False) -> list[str]:
    name = f"/{sha1(str(n).encode()).hexdigest()[:12]}" if is_hashed else n
    return [f"/item{name}?v={v}" for v in range(N_VIEWS)]


class Shop(Site):
    """Items of three views, listed ten a page; the later ones are empty lists if *is_empty*."""

    def __init__(self, *, is_empty: bool, is_hashed: bool = False) -> None:
        super().__init__()
        self.robots()
        self.views = partial(views, is_hashed=is_hashed)
        for hub in range(N_ITEMS // 10):
            links = [url for n in range(10 * hub, 10 * hub + 10) for url in self.views(n)]
            self.page(f"/hub{hub}" if hub else "/", *links, f"/hub{hub + 1}", html=text(f"hub {hub}"))
        for n in range(N_ITEMS):
            for url in self.views(n):
                self.answers[url] = html("<p>No entries were found.</p>" if is_empty and n >= FROM else text(n))

    def is_shown(self, n: int) -> bool:
        """Return True if a URL of an item was fetched with its page."""
        return any(self.count(url) for url in self.views(n))


class Walled(Shop):
    """A log-in form answers for items from :data:`FROM` on: for every *every*-th request, until it did so *n* times."""

    def __init__(self, n: int, every: int) -> None:
        super().__init__(is_empty=False)
        self._n_left, self._every, self._n_asked = n, every, 0
        self.shown: set[str] = set()

    def lookup(self, path: str) -> Answer | list[Answer]:
        """Answer with the log-in form or the page."""
        if path in views(FROM):
            self._n_asked = max(self._n_asked, 1)
        if self._n_asked and path.startswith("/item"):
            self._n_asked += 1
            if self._n_left and self._n_asked % self._every == 0:
                self._n_left -= 1
                return html("<p>Please log in.</p><form action=/login><input name=user></form>")
        self.shown.add(path)
        return super().lookup(path)

    def is_shown(self, n: int) -> bool:
        """Return True if a URL of an item was fetched with its page."""
        return not self.shown.isdisjoint(views(n))


def html(content: str) -> Answer:
    return Answer(body=f"<html><head><title>Shop</title></head><body>{content}</body></html>".encode())


def crawled(site: Site, folder: Path, **settings: object) -> tuple[int, str]:
    """How often the site was taken for walled, and the log of the filter."""
    crawl = walk_filtered(site, folder, LOG_LEVEL="INFO", CONCURRENT_REQUESTS=4, **settings)
    return crawl.stats.get("dedup/site/frozen", 0), crawl.log


@pytest.mark.parametrize(("is_hashed", "is_durable"), [(False, True), (True, False)], ids=["numbers", "hashes"])
def test_an_empty_list_is_no_wall(tmp_path: Path, is_hashed: bool, is_durable: bool):
    """
    Lists without entries come one after another: eight pages are fetched once more, and the filter goes on. What came
    meanwhile counts as fetched. Their URLs are numbered, or named by hashes as in repositories; what was seen is on
    disk, or in memory.
    """
    with Shop(is_empty=True, is_hashed=is_hashed) as site:
        n_frozen, log = crawled(site, tmp_path, **({"JOBDIR": str(tmp_path / "job")} if is_durable else {}))
        assert all(map(site.is_shown, range(N_ITEMS)))
        n_items = sum(path.startswith("/item") for path in site.asked)
    assert n_frozen == 1
    assert NO_WALL in log
    assert n_items < 1.1 * N_ITEMS  # a site that stays frozen is fetched whole, three times as much


@pytest.mark.parametrize("every", [1, 2])
def test_a_wall_is_a_wall(tmp_path: Path, every: int):
    """It answers for every request, or for each second one, as one of two servers that does not know the session."""
    with Walled(100, every) as site:
        n_frozen, log = crawled(site, tmp_path)
        assert [n for n in range(N_ITEMS) if not site.is_shown(n)] == []
    assert n_frozen >= 1
    assert NO_WALL not in log


def test_urls_are_checked_with_others_of_their_kind():
    """A wall in front of the members' pages says nothing about public ones: without older ones nothing is checked."""
    walled = [f"/member/{n}?tab=a" for n in range(10)]
    assert WallCheck.of(1, walled, [f"/public/{n}?tab=a" for n in range(10)]) is None
    assert WallCheck.of(1, walled, [f"/member/{n + 10}?tab=b" for n in range(N_CHECKED - 1)]) is None
    check = WallCheck.of(1, walled, [f"/member/{n + 10}?tab=b" for n in range(N_CHECKED)])
    assert check is not None
    assert len(check.urls) == 2 * N_CHECKED
    assert kind_of("http://a.example/x1/2?b=1&a;c=") == kind_of("http://a.example/x33/4?c&a=2&b")
    assert kind_of("http://a.example/file/1aea6f3b2317") == kind_of("http://a.example/file/73f262139a56")
    assert kind_of("http://a.example/file/tip") != kind_of("http://a.example/file/73f262139a56")


@pytest.mark.parametrize("wrong", ["an old page shows the wall", "a walled page shows another", "none"])
def test_one_answer_that_does_not_fit_keeps_the_wall(wrong: str):
    """A wall is only refuted by all answers together; a page that was not asked for counts for nothing."""
    check = WallCheck.of(1, [f"/{n}" for n in range(5)], [f"/{n}" for n in range(10, 15)])
    assert check is not None
    assert check.answered("/unasked", 2) is None
    found = []
    for url in check.urls:
        shows_wall = int(url[1:]) < 10
        if (wrong, url) in (("an old page shows the wall", "/10"), ("a walled page shows another", "/1")):
            shows_wall = not shows_wall
        found.append(check.answered(url, 1 if shows_wall else 7))
    assert found == [None] * (2 * N_CHECKED - 1) + [wrong != "none"]
