"""A rule that turns out wrong, and a site behind a wall, in a crawl over real HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from faulty_site import SLOWLY, build_chain, pair, show, status, text
from live_site import Answer, Crawl, Site, walk_filtered

N_GOOD, N_BAD = 40, 40
N_WALLED = 60


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, Crawl, Path]:
    """A crawl in which the query starts to matter, the next crawl of the site, and the model's folder."""
    folder = tmp_path_factory.mktemp("broken")
    with Site() as site:
        build_chain(site, 0, N_GOOD + N_BAD, [True] * N_GOOD + [False] * N_BAD)
        crawl = walk_filtered(site, folder, DEDUP_EXPLORATION="0.5", **SLOWLY)
        build_chain(site, 0, 10, [True] * 10)
        again = walk_filtered(site, folder, DEDUP_EXPLORATION="0.5", **SLOWLY)
    return crawl, again, folder / "model"


def test_a_rule_that_becomes_wrong_is_switched_off_within_50_explorations(broken: tuple[Crawl, Crawl, Path]):
    """The rule is switched off despite its good past, with one warning."""
    crawl, _, _ = broken
    n_agreed, n_wrong = (int(str(crawl.stats[f"dedup/explored/{verdict}"])) for verdict in ("agree", "disagree"))
    assert n_agreed >= N_GOOD // 8
    assert 2 <= n_wrong <= 50
    assert crawl.stats["dedup/rules/switched_off"] == 1
    assert len([line for line in crawl.lines("WARNING") if "is switched off" in line]) == 1


def test_the_pages_that_it_dropped_are_fetched(broken: tuple[Crawl, Crawl, Path]):
    """Every page of the site reaches the spider in the end."""
    crawl, _, _ = broken
    assert crawl.stats["dedup/request/dropped"] > N_GOOD // 4
    assert [n for n in range(N_GOOD + N_BAD) if status(crawl, pair(n)[0]) != 200] == []
    assert [n for n in range(N_GOOD, N_GOOD + N_BAD) if status(crawl, pair(n)[1]) != 200] == []


def test_the_next_crawl_starts_without_the_rule(broken: tuple[Crawl, Crawl, Path]):
    """The verdict is stored beside the model, so that the next crawl need not repeat it."""
    crawl, again, model = broken
    written = json.loads(model.with_name("model.evidence.json").read_text())
    assert written["rules"]["strip-query"]["switched_off"] is True
    assert written["rules"]["strip-query"]["disagreed"] == crawl.stats["dedup/explored/disagree"]
    assert "dedup/request/dropped" not in again.stats
    assert "dedup/rules/switched_off" not in again.stats
    assert [status(again, pair(n)[1]) for n in range(10)] == [200] * 10


def test_a_redirect_to_the_owner_says_as_much_as_its_page(tmp_path: Path):
    """In a spider that follows redirects itself; a redirect elsewhere is no evidence about the rule."""
    with Site() as site:
        build_chain(site, 0, 30, [True] * 30)
        for n in range(30):
            one, other = pair(n)
            site.redirect(other, one if n < 20 else f"/elsewhere{n}")
        crawl = walk_filtered(site, tmp_path, DEDUP_EXPLORATION=1, REDIRECT_ENABLED=False, **SLOWLY)
    assert crawl.stats["dedup/request/explored"] == 30
    assert "dedup/request/dropped" not in crawl.stats
    assert crawl.stats["dedup/explored/agree"] == 20
    assert crawl.stats["dedup/explored/undecided"] == 10
    assert "dedup/explored/disagree" not in crawl.stats


def test_a_dry_run_tells_the_precision(tmp_path: Path):
    """All 30 duplicates are fetched; one was another page, as the summary says."""
    with Site() as site:
        build_chain(site, 0, 30, [True] * 29 + [False])
        crawl = walk_filtered(site, tmp_path, DEDUP_DRY_RUN="True", DEDUP_EXPLORATION="0", **SLOWLY)
    assert [status(crawl, pair(n)[1]) for n in range(30)] == [200] * 30
    n_agreed = int(str(crawl.stats["dedup/explored/agree"]))
    n_judged = n_agreed + 1
    assert n_agreed >= 15  # the first pages come before the frame is known
    said = f"precision {n_agreed / n_judged:.4f} ({n_agreed} of {n_judged} compared were the same page, of 30)"
    assert said in crawl.log


class WalledSite(Site):
    """Answers with a log-in form, status 200, from the first item of one group until the first of another."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__()
        self._first, self._last = pair(first)[0], pair(last)[0]
        self.is_walled = False
        self.walled: list[str] = []

    def lookup(self, path: str) -> Answer | list[Answer]:
        """Return the page, or the wall."""
        if path in (self._first, self._last):
            self.is_walled = path == self._first
        if self.is_walled and path.startswith("/item"):
            self.walled.append(path)
            form = f"<form action='/login?next={path}'>Who are you?</form>"
            return Answer(body=f"<html><title>Log in</title><body>{form}</body></html>".encode())
        return super().lookup(path)


GROUP = 20
LINKED = {2: 0, 3: 3, 5: 1, 10: 6}
"""Hub -> the group whose second URLs it links."""


def crawl_walled(folder: Path, **settings: object) -> tuple[Crawl, WalledSite]:
    """
    Crawl eleven groups, each followed by its hub. The wall answers for groups 3, 4 and 5.

    It is recognized when group 5 is fetched, and its end when group 8 is.
    """
    with WalledSite(3 * GROUP, 6 * GROUP) as site:
        site.robots()
        links = []
        for group in range(11):
            numbers = numbers_of(group)
            for n in numbers:
                for url in pair(n):
                    show(site, url, n)
            links += [*(pair(n)[0] for n in numbers), f"/hub{group}"]
            later = LINKED.get(group)
            seconds = seconds_of(later) if later is not None else []
            site.page(f"/hub{group}", *seconds, html=text(f"hub {group}"))
        site.page("/", *links)
        crawl = walk_filtered(site, folder, **SLOWLY, **settings)
    return crawl, site


@pytest.fixture(scope="module")
def walled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Crawl, WalledSite]:
    """A crawl that follows the links of a hub at once."""
    return crawl_walled(tmp_path_factory.mktemp("walled"), DEPTH_PRIORITY=-1)


def numbers_of(group: int) -> range:
    """The pairs of a group."""
    return range(GROUP * group, GROUP * group + GROUP)


def seconds_of(group: int) -> list[str]:
    """The second URLs of a group."""
    return [pair(n)[1] for n in numbers_of(group)]


def test_a_wall_in_front_of_the_site_is_said_once(walled: tuple[Crawl, WalledSite]):
    """One warning when it is recognized, one line when it is gone."""
    crawl, _ = walled
    assert crawl.log.count("suddenly answers with one page for many URLs") == 1
    assert crawl.log.count("shows different pages again") == 1


def test_nothing_is_dropped_while_the_wall_stands(walled: tuple[Crawl, WalledSite]):
    """
    Before and after the wall, the duplicates of seen pages are dropped except for a sample; during it none is.

    A page in flight when the wall ends may still meet it: then its duplicate is fetched, rightly.
    """
    crawl, site = walled
    assert [site.count(path) for path in seconds_of(1)] == [1] * GROUP
    for group in (0, 6):
        n_fetched = sum(site.count(pair(n)[1]) for n in numbers_of(group) if pair(n)[0] not in site.walled)
        assert n_fetched <= min(GROUP / 4, int(str(crawl.stats.get("dedup/request/explored", 0))))
    assert crawl.stats["dedup/request/frozen"] == GROUP


def test_links_that_come_while_the_wall_stands_are_decided_when_their_turn_comes(tmp_path: Path):
    """
    Breadth-first, the duplicates of group 1 are linked during the wall, and their turn comes when it is gone.

    Their pages had been fetched before the wall, so they are dropped then, except for a sample.
    """
    crawl, site = crawl_walled(tmp_path)
    assert crawl.stats["dedup/request/frozen"] == GROUP
    n_fetched = sum(site.count(path) for path in seconds_of(1))
    assert n_fetched <= min(GROUP / 4, int(str(crawl.stats.get("dedup/request/explored", 0))))
    behind = [pair(n)[1] for n in numbers_of(3) if pair(n)[0] in site.walled]
    assert {status(crawl, path) for path in behind} == {200}


def test_what_the_wall_answered_for_does_not_count_as_seen(walled: tuple[Crawl, WalledSite]):
    """
    The duplicates of group 3 were dropped before the wall was recognized: they are fetched when it is gone.
    """
    crawl, site = walled
    # pages in flight when the wall began may have passed, more of them where threads have to wait for a core
    behind = [pair(n)[1] for n in numbers_of(3) if pair(n)[0] in site.walled]
    assert len(behind) >= GROUP / 2
    assert {status(crawl, path) for path in behind} == {200}
    assert [path for path in seconds_of(3) if path in site.walled] == []
