"""Wrong rules that nothing had contradicted: crawls over real HTTP in which every page must reach the spider."""

from __future__ import annotations

import json
import random
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dedup_crawler.methods import make_method
from killing import stop_after
from live_site import Crawl, Site, strip_query_model, walk
from test_faults_exploration import SLOWLY, show, text

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
    assert crawl.stats["dedup/explored/agree"] >= 5
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


def variants(n: int) -> list[str]:
    """URLs of one form, side by side."""
    return [f"/item{n}?v={v}" for v in range(4)]


def build_variants(site: Site, n_right: int, n_wrong: int) -> None:
    """A list of items with their variants side by side; the variants of the last items show other pages."""
    site.robots()
    n_items = n_right + n_wrong
    n_hubs = -(-n_items // 10)
    for hub in range(n_hubs):
        links = [url for n in range(10 * hub, min(n_items, 10 * hub + 10)) for url in variants(n)]
        onward = [f"/hub{hub + 1}"] if hub + 1 < n_hubs else []
        site.page(f"/hub{hub}" if hub else "/", *links, *onward, html=text(f"hub {hub}"))
    for n in range(n_items):
        for v, url in enumerate(variants(n)):
            show(site, url, n if n < n_right else f"{n}, {v}")


def test_duplicates_of_an_owner_that_is_awaited_are_explored(tmp_path: Path):
    """Each waits for its owner's page and for the frame of the site: all are compared."""
    with Site() as site:
        build_variants(site, 40, 0)
        model = strip_query_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION=1)
        assert shown(site, [url for n in range(40) for url in variants(n)]) == []
    assert crawl.stats["dedup/request/explored"] == 120
    assert crawl.stats["dedup/explored/agree"] == 120
    assert "dedup/request/dropped" not in crawl.stats


def test_links_to_what_was_fetched_to_test_a_rule_are_no_further_tests(tmp_path: Path):
    """Every page links to the same variants. Each is fetched at most once, and no link stays undecided."""
    with Site() as site:
        site.robots()
        links = [url for n in range(8) for url in variants(n)]
        for hub in range(30):
            onward = [f"/hub{hub + 1}"] if hub < 29 else []
            site.page(f"/hub{hub}" if hub else "/", *links, *onward, html=text(f"hub {hub}"))
        for n in range(8):
            for url in variants(n):
                show(site, url, n)
        model = strip_query_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.5")
        n_fetched = len({*links}.intersection(site.asked))
        n_again = len([url for url in site.asked if url != "/robots.txt"]) - len({*site.asked} - {"/robots.txt"})
    assert n_again == crawl.stats["dedup/request/reloaded"]
    assert crawl.stats["dedup/request/explored"] == n_fetched - 8
    assert crawl.stats["dedup/explored/agree"] == n_fetched - 8
    assert "dedup/explored/undecided" not in crawl.stats


def test_variants_that_stand_side_by_side_refute_their_rule(tmp_path: Path):
    """Every variant is a page of its own from the start; the first drops are sent too."""
    with Site() as site:
        build_variants(site, 0, 60)
        model = strip_query_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02")
        assert shown(site, [url for n in range(60) for url in variants(n)]) == []
    assert crawl.stats["dedup/request/dropped"] > 0
    assert crawl.stats["dedup/rules/switched_off"] == 1


def test_a_rule_that_has_dropped_little_is_verified_before_the_crawl_ends(tmp_path: Path):
    """Six drops are too few to be explored during the crawl; at its end they are."""
    with Site() as site:
        build_variants(site, 0, 2)
        model = strip_query_model(tmp_path / "model", site.host)
        walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02")
        assert shown(site, [url for n in range(2) for url in variants(n)]) == []


def one_form(n: int) -> str:
    """Return URLs that have the form of ``/item``."""
    return f"/item?id={n}"


def build_one_form(site: Site, numbers: Iterable[int]) -> None:
    """A start page with these items, each a page of its own."""
    site.robots()
    links = [one_form(n) for n in numbers]
    site.page("/", *links, *(f"/other{n}" for n in range(30)), html=text("start"))
    for n in range(30):
        site.page(f"/other{n}", html=text(f"other {n}"))
    for n in numbers:
        show(site, one_form(n), n)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_resumed_crawl_can_refute_a_rule_whose_owners_were_fetched_before(tmp_path: Path, how: signal.Signals):
    """The rule gives sixty pages one form. Its owner was fetched before the stop, and is fetched again to compare."""
    settings = {
        "DEDUP_MODEL": tmp_path / "model",
        "DEDUP_EXPLORATION": "0.02",
        "JOBDIR": tmp_path / "job",
        "CONCURRENT_REQUESTS": 2,
    }
    with Site() as site:
        strip_query_model(tmp_path / "model", site.host)
        build_one_form(site, range(60))
        site.delay_s = 0.02
        stop_after(site, tmp_path, 12, how, **settings)
        assert len(shown(site, map(one_form, range(60)))) > 40
        crawl = walk(site, tmp_path, **settings)
        assert shown(site, map(one_form, range(60))) == []
    assert crawl.stats["dedup/explored/disagree"] >= 2


def test_what_a_wrong_rule_dropped_before_a_kill_is_sent_by_the_next_process(tmp_path: Path):
    """The first process drops and is killed before any verification; no remaining page links its drops."""
    settings = {"DEDUP_MODEL": tmp_path / "model", "DEDUP_EXPLORATION": "0.02", "JOBDIR": tmp_path / "job"}
    with Site() as site:
        strip_query_model(tmp_path / "model", site.host)
        site.robots()
        site.page("/", "/list", html=text("start"))
        site.page("/list", *map(one_form, range(8)), *(f"/other{n}" for n in range(60)), html=text("list"))
        for n in range(60):
            site.page(f"/other{n}", html=text(f"other {n}"), delay_s=0.2)
        for n in range(8):
            show(site, one_form(n), n)
        stop_after(site, tmp_path, 30, signal.SIGKILL, CONCURRENT_REQUESTS=4, **settings)
        assert shown(site, map(one_form, range(8)))
        asked = len(site.asked)
        walk(site, tmp_path, **settings)
        assert site.asked[asked:].count("/list") == 0
        assert shown(site, map(one_form, range(8))) == []


def test_a_crawl_says_how_far_it_has_come(tmp_path: Path):
    """As often as Scrapy's progress line: drops, tests, and the rule with most drops."""
    with Site() as site:
        build_variants(site, 40, 0)
        site.delay_s = 0.05
        model = strip_query_model(tmp_path / "model", site.host)
        crawl = walk(
            site, tmp_path, DEDUP_MODEL=model, CONCURRENT_REQUESTS="1", DEDUP_EXPLORATION="0.1", LOGSTATS_INTERVAL="0.3"
        )
        silent = walk(site, tmp_path, DEDUP_MODEL=model, LOGSTATS_INTERVAL="0")
    said = [line.partition("Filter so far: ")[2] for line in crawl.log.splitlines() if "Filter so far: " in line]
    assert len(said) >= 2
    assert re.fullmatch(
        r"\d+ fetched, \d+ dropped, \d+ explored \(0 of \d+ compared were other pages\), [01] of 1 rules that dropped "
        r"something are verified\. Most by rule strip-query: \d+ URLs \(.+\)\.",
        said[-1],
    )
    assert "Filter so far" not in silent.log


def warnings_of(crawl: Crawl) -> str:
    return "\n".join(crawl.lines("WARNING"))


def test_a_crawl_that_verified_nothing_says_so(tmp_path: Path):
    """With exploration switched off the drops give a warning, the losses are unknown, and the rule is named."""
    with Site() as site:
        build_variants(site, 10, 0)
        model = strip_query_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION=0, LOG_LEVEL="INFO")
    assert crawl.stats["dedup/request/dropped"] == 30
    assert "'dedup/lost/estimate': 'unknown'" in crawl.log
    assert "pages lost by estimate: unknown (95 %: 0 to 30)" in warnings_of(crawl)
    assert "30 dropped, none of them verified" in warnings_of(crawl)
    assert "Rule strip-query dropped 30 requests, and none of them was verified" in warnings_of(crawl)


def test_a_crawl_that_verified_its_drops_warns_of_nothing(tmp_path: Path):
    """The interval includes the undecided drops."""
    with Site() as site:
        build_variants(site, 40, 0)
        model = strip_query_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02", LOG_LEVEL="INFO")
    assert " pages lost by estimate: 0 (95 %: 0 to " in crawl.log
    assert "'dedup/dropped/unverified': 0" in crawl.log
    assert warnings_of(crawl) == ""


def test_a_crawl_ends_though_what_it_would_verify_has_been_answered(tmp_path: Path):
    """The first URLs fail, the second ones replace them: they were dropped once, but no longer count as drops."""
    with Site() as site:
        site.robots()
        site.page("/", *[url for n in range(12) for url in variants(n)[:2]], html=text("start"))
        for n in range(12):
            one, other = variants(n)[:2]
            site.page(one, status=503)
            show(site, other, n)
        model = strip_query_model(tmp_path / "model", site.host)
        walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02", CONCURRENT_REQUESTS=2)
        assert {site.count(variants(n)[1]) for n in range(12)} == {1}


def test_a_short_wall_is_found_when_the_crawl_runs_dry(tmp_path: Path):
    """A log-in page answers for eight items, once each: their other URLs are fetched."""
    with Site() as site:
        build_variants(site, 40, 0)
        for n in range(10, 18):
            page = site.answers[variants(n)[0]]
            log_in = b"<html><title>Log in</title><body>Please log in first.</body></html>"
            site.answers[variants(n)[0]] = [type(page)(body=log_in), page]
        model = strip_query_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02")
        assert [n for n in range(40) if not shown_well(site, n)] == []
    assert crawl.stats["dedup/request/dropped"] > 40
    assert "dedup/site/frozen" not in crawl.stats


def shown_well(site: Site, n: int) -> bool:
    """Return True if a URL of an item was requested while it showed its page."""
    return any(site.count(url) > (10 <= n < 18 and v == 0) for v, url in enumerate(variants(n)))


def test_a_page_that_links_to_itself_is_tested_once(tmp_path: Path):
    """
    The link is on each page that tests the rule: it must not be tested, or the crawl would never end.
    """
    with Site() as site:
        build_items(site, 40)
        for n in range(40):
            answer = site.answers[item(n)]
            answer.body = answer.body.replace(b"</body>", f'<a href="{item(n)}">here</a></body>'.encode())
        model = covering_model(tmp_path / "model", site.host)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION="0.02")
        n_reloaded = int(str(crawl.stats["dedup/request/reloaded"]))
        counts = [site.count(item(n)) for n in range(40)]
        assert min(counts) == 1
        assert sum(counts) <= 40 + n_reloaded
