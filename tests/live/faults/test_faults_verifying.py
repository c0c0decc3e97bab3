"""Rules that a crawl has to verify while it runs, across kills and until it runs dry: no page may be lost."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_faults_rules import build_items, covering_model, item, shown

from faulty_site import show, text
from killing import stop_after
from live_site import Crawl, Site, strip_query_model, walk, walk_filtered

if TYPE_CHECKING:
    from collections.abc import Iterable


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
        crawl = walk_filtered(site, tmp_path, DEDUP_EXPLORATION=1)
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
        crawl = walk_filtered(site, tmp_path, DEDUP_EXPLORATION="0.5")
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
        crawl = walk_filtered(site, tmp_path, DEDUP_EXPLORATION="0.02")
        assert shown(site, [url for n in range(60) for url in variants(n)]) == []
    assert crawl.stats["dedup/request/dropped"] > 0
    assert crawl.stats["dedup/rules/switched_off"] == 1


def test_a_rule_that_has_dropped_little_is_verified_before_the_crawl_ends(tmp_path: Path):
    """Six drops are too few to be explored during the crawl; at its end they are."""
    with Site() as site:
        build_variants(site, 0, 2)
        walk_filtered(site, tmp_path, DEDUP_EXPLORATION="0.02")
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
        crawl = walk_filtered(site, tmp_path, CONCURRENT_REQUESTS="1", DEDUP_EXPLORATION="0.1", LOGSTATS_INTERVAL="0.3")
        silent = walk_filtered(site, tmp_path, LOGSTATS_INTERVAL="0")
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
    """
    With exploration switched off every duplicate is dropped. That gives a warning, the losses are unknown, and the rule
    is named; there is no evidence for the next crawl.
    """
    with Site() as site:
        build_variants(site, 10, 0)
        crawl = walk_filtered(site, tmp_path, DEDUP_EXPLORATION=0, LOG_LEVEL="INFO")
    assert crawl.stats["dedup/request/dropped"] == 30
    assert not (tmp_path / "model.evidence.json").exists()
    assert "'dedup/lost/estimate': 'unknown'" in crawl.log
    assert "pages lost by estimate: unknown (95 %: 0 to 30)" in warnings_of(crawl)
    assert "30 dropped, none of them verified" in warnings_of(crawl)
    assert "Rule strip-query dropped 30 requests, and none of them was verified" in warnings_of(crawl)


def test_a_crawl_that_verified_its_drops_warns_of_nothing(tmp_path: Path):
    """The interval includes the undecided drops."""
    with Site() as site:
        build_variants(site, 40, 0)
        crawl = walk_filtered(site, tmp_path, DEDUP_EXPLORATION="0.02", LOG_LEVEL="INFO")
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
        walk_filtered(site, tmp_path, DEDUP_EXPLORATION="0.02", CONCURRENT_REQUESTS=2)
        assert {site.count(variants(n)[1]) for n in range(12)} == {1}


def test_a_short_wall_is_found_when_the_crawl_runs_dry(tmp_path: Path):
    """A log-in page answers for eight items, once each: their other URLs are fetched."""
    with Site() as site:
        build_variants(site, 40, 0)
        for n in range(10, 18):
            page = site.answers[variants(n)[0]]
            log_in = b"<html><title>Log in</title><body>Please log in first.</body></html>"
            site.answers[variants(n)[0]] = [type(page)(body=log_in), page]
        crawl = walk_filtered(site, tmp_path, DEDUP_EXPLORATION="0.02")
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
