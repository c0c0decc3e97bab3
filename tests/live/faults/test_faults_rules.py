"""Wrong rules that nothing had contradicted: crawls over real HTTP in which every page must reach the spider."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dedup_crawler.methods import make_method
from faulty_site import SLOWLY, show, text
from live_site import Site, walk

if TYPE_CHECKING:
    from collections.abc import Iterable

N_ITEMS = 150


def item(n: int) -> str:
    return f"/item/{n}"


def shown(site: Site, paths: Iterable[str]) -> list[str]:
    """Return those of *paths* that were never requested."""
    asked = set(site.asked)
    return [path for path in paths if path not in asked]


def covering_model(folder: Path, host: str, n_learnt: int = 200) -> Path:
    """Return a model with a coverage rule for items: in an old crawl each was reached under /old/N too."""
    home = f"http://{host}"
    visits = [(f"{home}/", 0)]
    for n in range(n_learnt):
        visits += [(f"{home}{item(10_000 + n)}", n + 1), (f"{home}/old/{n}", n + 1)]
    urls, clusters = zip(*visits, strict=True)
    model = make_method("verified").fit(urls, clusters, [None, *[f"{home}/"] * (len(urls) - 1)])
    assert model.is_covered(f"{home}{item(1)}")
    assert not model.is_covered(f"{home}/old/1")
    return Path(model.save(folder))


def build_items(site: Site, n_items: int = N_ITEMS) -> None:
    """Hubs in a chain, five items each; each item has its own text."""
    site.robots()
    n_hubs = n_items // 5
    for hub in range(n_hubs):
        items = [item(n) for n in range(5 * hub, 5 * hub + 5)]
        onward = [f"/hub/{hub + 1}"] if hub + 1 < n_hubs else []
        site.page(f"/hub/{hub}" if hub else "/", *items, *onward, html=text(f"hub {hub}"))
    for n in range(n_items):
        show(site, item(n), n)


def test_a_right_rule_is_not_blamed_for_what_an_earlier_crawl_fetched_by_a_wrong_one(tmp_path: Path):
    """
    An earlier crawl fetched two URLs of each item, which are different pages, though a rule that is wrong by now gives
    them one form. A third URL, which gets the form by a right rule, is compared with the first of them: the seen set
    keeps the rules of that one.
    """
    with Site() as site:
        home = f"http://{site.host}"
        ways = ["", "&v={0:017x}", "&s={0:017x}"]
        draw = random.Random(0)
        visits = [
            (f"{home}/item?n={n}{way.format(draw.getrandbits(64))}", n)
            for n in range(100, 500)
            for way in (*ways, *ways[1:])
        ]
        model = make_method("verified").fit([url for url, _ in visits], [n for _, n in visits])
        assert len({model.canonicalize(f"{home}/item?n=7{way.format(7)}") for way in ways}) == 1
        settings = {"DEDUP_COLLECT": tmp_path / "crawl.db", **SLOWLY}

        site.robots()
        for n in range(20):
            show(site, f"/item?n={n}", n)
            show(site, f"/item?n={n}{ways[1].format(n)}", f"another {n}")
            show(site, f"/item?n={n}{ways[2].format(n)}", n)
        site.page("/", *[f"/item?n={n}{way.format(n)}" for way in ways[:2] for n in range(20)], html=text(1))
        walk(site, tmp_path, **settings)
        site.page("/", *[f"/item?n={n}{ways[2].format(n)}" for n in range(20)], html=text(1))
        crawl = walk(site, tmp_path, DEDUP_MODEL=model.save(tmp_path / "model"), DEDUP_EXPLORATION=1, **settings)
    assert crawl.stats["dedup/explored/agree"] > 15
    assert "dedup/explored/disagree" not in crawl.stats


def test_a_covered_page_says_nothing_of_the_rules_about_its_form(tmp_path: Path):
    """A right rule drops the session ids of items; the coverage rule for items is wrong, and switched off."""
    with Site() as site:
        build_items(site)
        home = f"http://{site.host}"
        draw = random.Random(0)
        visits = [(f"{home}/", 0)]
        for n in range(400):
            urls = [f"{home}{item(10_000 + n)}", f"{home}/old/{n}"]
            visits += [(url, n + 1) for url in urls]
            visits += [(f"{urls[0]}?s={draw.getrandbits(64):016x}", n + 1)]
        urls, clusters = zip(*visits, strict=True)
        model = make_method("verified").fit(urls, clusters, [None, *[f"{home}/"] * (len(urls) - 1)])
        asked = f"{home}{item(1)}?s={draw.getrandbits(64):016x}"
        assert model.is_covered(asked)
        assert model.canonicalize(asked) == f"{home}{item(1)}"
        for hub in range(N_ITEMS // 5):
            paths = [f"{item(n)}?s={draw.getrandbits(64):016x}" for n in range(5 * hub, 5 * hub + 5)]
            for n, path in enumerate(paths, 5 * hub):
                show(site, path, n)
            site.page(f"/hub/{hub}" if hub else "/", *paths, f"/hub/{hub + 1}", html=text(f"hub {hub}"))
        crawl = walk(site, tmp_path, DEDUP_MODEL=model.save(tmp_path / "model"), DEDUP_EXPLORATION="0.02")
    assert crawl.stats["dedup/rules/switched_off"] == 1
    told = json.loads((tmp_path / "model.evidence.json").read_text())["rules"]
    assert [rule for rule, counts in told.items() if counts["disagreed"]] == [*model.covering(asked)]


@pytest.mark.parametrize("alias", ["no other way", "redirects into the template"])
def test_a_covered_page_that_answers_in_place_refutes_its_rule(tmp_path: Path, alias: str):
    """
    Nothing else shows the content of the items, though some other URLs redirect to items. The rule is switched off,
    and its drops are fetched.
    """
    with Site() as site:
        build_items(site)
        if alias != "no other way":
            site.page("/hub/1", *[item(n) for n in range(5, 10)], *[f"/old/{n}" for n in range(20)], "/hub/2")
            for n in range(20):
                site.redirect(f"/old/{n}", item(n))
        model = covering_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02")
        assert shown(site, map(item, range(N_ITEMS))) == []
    assert crawl.stats["dedup/request/dropped"] > 0
    assert crawl.stats["dedup/explored/disagree"] >= 2
    assert crawl.stats["dedup/rules/switched_off"] == 1


def test_covered_pages_whose_text_is_shown_elsewhere_agree_with_their_rule(tmp_path: Path):
    """Each item shows the text of another page: most items are dropped, and the rule stays."""
    with Site() as site:
        build_items(site)
        for hub in range(N_ITEMS // 5):
            path = f"/hub/{hub}" if hub else "/"
            stories = "".join(f'<a href="/story/{n}">{n}</a>' for n in range(5 * hub, 5 * hub + 5))
            answer = site.answers[path]
            answer.body = answer.body.replace(b"</body>", stories.encode() + b"</body>")
        for n in range(N_ITEMS):
            show(site, f"/story/{n}", n)
        model = covering_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02")
        assert shown(site, [f"/story/{n}" for n in range(N_ITEMS)]) == []
        assert len(shown(site, map(item, range(N_ITEMS)))) > N_ITEMS // 2
    assert crawl.stats["dedup/explored/agree"] >= 3
    assert "dedup/rules/switched_off" not in crawl.stats


def test_covered_pages_that_redirect_to_pages_fetched_before_agree_with_their_rule(tmp_path: Path):
    """Each item redirects to a story that a link has reached: that verifies the rule, which drops the rest."""
    with Site() as site:
        build_items(site)
        site.page("/", "/hub/1", *[f"/story/{n}" for n in range(N_ITEMS)], html=text("home"))
        for n in range(N_ITEMS):
            show(site, f"/story/{n}", n)
            site.redirect(item(n), f"/story/{n}")
        model = covering_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02", CONCURRENT_REQUESTS="1")
        assert shown(site, [f"/story/{n}" for n in range(N_ITEMS)]) == []
        assert len(shown(site, map(item, range(N_ITEMS)))) > N_ITEMS // 2
    assert crawl.stats["dedup/explored/agree"] >= 3
    assert "dedup/explored/undecided" not in crawl.stats


@pytest.mark.parametrize("addon", [True, False], ids=["both middlewares", "downloader middleware alone"])
def test_covered_pages_that_redirect_to_pages_linked_later_agree_with_their_rule(tmp_path: Path, addon: bool):
    """
    A link to a story comes after a test has redirected to it: while the story is queued, on its way, or answered. The
    dupefilter drops the link, which says all the same that the story is reached without the item.
    """
    alone = {"DOWNLOADER_MIDDLEWARES": json.dumps({"dedup_crawler.DuplicateFilterMiddleware": 120})}
    with Site() as site:
        build_items(site)
        n_hubs = N_ITEMS // 5
        for hub in range(n_hubs):
            ids = range(5 * hub, 5 * hub + 5)
            stories = [f"/story/{n - 5}" for n in ids if n >= 5]
            path, onward = f"/hub/{hub}" if hub else "/", [f"/hub/{hub + 1}"] if hub + 1 < n_hubs else ["/end"]
            site.page(path, *map(item, ids), *onward, *stories, html=text(f"hub {hub}"))
        site.page("/end", *[f"/story/{n}" for n in range(N_ITEMS - 5, N_ITEMS)], html=text("end"))
        for n in range(N_ITEMS):
            show(site, f"/story/{n}", n)
            site.answers[f"/story/{n}"].delay_s = 0.2 * (n % 3)
            site.redirect(item(n), f"/story/{n}")
        model = covering_model(tmp_path / "model", site.host)
        crawl = walk(
            site, tmp_path, addon=addon, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02", **({} if addon else alone)
        )
        assert shown(site, [f"/story/{n}" for n in range(N_ITEMS)]) == []
        assert len(shown(site, map(item, range(N_ITEMS)))) > N_ITEMS // 2
    assert crawl.stats["dedup/explored/agree"] >= 8
    assert "dedup/explored/disagree" not in crawl.stats


def test_what_redirected_to_a_page_fetched_before_is_not_sent_a_second_time(tmp_path: Path):
    """Every third item has a page of its own, so the rule is switched off; the others redirect to known stories."""
    with Site() as site:
        build_items(site)
        stories = [n for n in range(N_ITEMS) if n % 3]
        site.page("/", "/hub/1", *[f"/story/{n}" for n in stories], html=text("home"))
        for n in stories:
            show(site, f"/story/{n}", n)
            site.redirect(item(n), f"/story/{n}")
        model = covering_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02", CONCURRENT_REQUESTS="1")
        items = [*map(item, range(5, N_ITEMS))]  # the others stand on the first hub, which is replaced
        assert shown(site, items) == []
        assert {site.count(path) for path in items} == {1}
    assert crawl.stats["dedup/rules/switched_off"] == 1


def moving_model(folder: Path, host: str) -> Path:
    """Return a model with two rules: neither `from` nor `print` matters."""
    home = f"http://{host}"
    queries = ["", "?from={0}", "?print={1}", "?from={0}&print={1}"]
    paths = [(n, f"{home}{item(n)}{query.format(n % 97, n % 89)}") for n in range(300, 1000) for query in queries]
    pages, urls = zip(*random.Random(0).sample(paths, len(paths)), strict=True)
    model = make_method("verified").fit(urls, pages)
    assert {model.canonicalize(f"{home}{item(1)}{query}") for query in ("?from=1", "?print=1")} == {home + item(1)}
    return Path(model.save(folder))


@pytest.mark.parametrize("disallowed", [(), ("/*print",)])
def test_a_redirect_to_another_url_of_the_form_says_as_much_as_a_redirect_to_the_owner(
    tmp_path: Path, disallowed: tuple[str, ...]
):
    """
    Links with `from` redirect to URLs with `print`, whose pages are not fetched: links have led there before, or
    robots.txt forbids it.
    """
    n_items = 30
    with Site() as site:
        build_items(site, n_items)
        site.robots(*disallowed)
        for n in range(n_items):
            show(site, f"{item(n)}?print=1", n)
            site.redirect(f"{item(n)}?from=1", f"{item(n)}?print=1")
        site.page(f"/hub/{n_items // 5 - 1}", *map(item, range(n_items - 5, n_items)), "/late", html=text("last"))
        site.page("/late", *[f"{item(n)}?print=1" for n in range(n_items)], "/later", html=text("late"))
        site.page("/later", *[f"{item(n)}?from=1" for n in range(n_items)], html=text("later"))
        model = moving_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION=1, CONCURRENT_REQUESTS="1")
        assert shown(site, [f"{item(n)}?from=1" for n in range(n_items)]) == []
    n_of_print = 0 if disallowed else n_items
    assert crawl.stats["dedup/explored/agree"] == n_items + n_of_print
    assert crawl.stats.get("dedup/explored/undecided", 0) == n_items - n_of_print
    assert crawl.stats["dedup/request/explored"] == 2 * n_items


def test_other_rules_know_what_was_fetched_before_a_rule_was_switched_off(tmp_path: Path):
    """
    A wrong rule leads from `/item/N?from=1` to `/item/N`. When it is switched off, the page is that of its own URL, so
    `/item/N?from=1&print=1` is a duplicate of it.
    """
    n_items = 30
    with Site() as site:
        site.robots()
        site.page("/", *[f"{item(n)}?from=1" for n in range(n_items)], "/wrong", html=text("home"))
        site.page("/wrong", *[f"{item(n)}?from=2" for n in range(n_items)], "/right", html=text("wrong"))
        site.page("/right", *[f"{item(n)}?from=1&print=1" for n in range(n_items)], html=text("right"))
        for n in range(n_items):
            show(site, f"{item(n)}?from=1", n)
            show(site, f"{item(n)}?from=1&print=1", n)
            show(site, f"{item(n)}?from=2", f"another {n}")
        model = moving_model(tmp_path / "model", site.host)
        settings = {"DEDUP_COLLECT": tmp_path / "pages.db", "DEDUP_EXPLORATION": "0.02", "CONCURRENT_REQUESTS": "1"}
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, **settings)
        assert shown(site, [f"{item(n)}?from={v}" for n in range(n_items) for v in (1, 2)]) == []
        assert len(shown(site, [f"{item(n)}?from=1&print=1" for n in range(n_items)])) > n_items // 2
    assert crawl.stats["dedup/rules/switched_off"] == 1


def test_dead_links_do_not_hold_a_rule_back(tmp_path: Path):
    """Two of three covered items are gone, the others redirect to pages that were fetched before."""
    with Site() as site:
        build_items(site, 300)
        site.page("/", "/hub/1", *[f"/story/{n}" for n in range(300)], html=text("home"))
        for n in range(300):
            show(site, f"/story/{n}", n)
            if n % 3:
                site.page(item(n), status=404)
            else:
                site.redirect(item(n), f"/story/{n}")
        model = covering_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02", CONCURRENT_REQUESTS="1")
        assert shown(site, [f"/story/{n}" for n in range(300)]) == []
        assert len(shown(site, map(item, range(300)))) > 150
    assert "dedup/explored/undecided" not in crawl.stats
