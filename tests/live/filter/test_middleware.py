"""The filter in real crawls over real HTTP: each known way to lose a page is a test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dedup_crawler.methods import make_method
from dedup_crawler.methods.model.training_data import default_model_folder
from dedup_crawler.pages.store import PageStore
from faulty_site import show
from live_site import Answer, Crawl, Site, crawl_content, needs_bare_asyncio, strip_query_model, walk, walk_filtered
from planted_forum import forum

SLOW_S = 0.6


def build_many_cases(site: Site) -> None:
    """One page for each case; the model gives /x?1 and /x?2 one form."""
    site.robots("/private?1")
    redirecting = [f"/p{n}" for n in range(10)]
    pairs = [f"/twin{n}?{side}" for n in range(5) for side in "ab"]
    untouched = [(how, f"/{how}?{n}") for how in ("optout", "post", "again", "media") for n in (1, 2)]
    html = "".join(f'<a class="{how}" href="{path}">x</a>' for how, path in untouched)
    others = ["/login", "/gone?1", "/gone?2", "/private?1", "/private?2", "/moved?1", "/moved?2", "/shaky?1", "/?home"]
    site.page("/slow", "/last", delay_s=3 * SLOW_S)
    site.page("/last")
    outside = ["/slow", "/outside?1", "/outside?2", "/endless?1", "/endless?2", "/loop?1", "/loop?2"]
    site.page("/", *redirecting, *pairs, *others, *outside, html=html)
    for path in redirecting:
        site.redirect(path, f"{path}?ok", status=301)
        site.page(f"{path}?ok")
    for path in [*pairs, *(path for _, path in untouched), "/login", "/private?1", "/private?2", "/gone?2", "/moved?2"]:
        site.page(path)
    for path in ["/outside?2", "/endless?2", "/loop?2", "/?home"]:
        site.page(path)
    site.page("/gone?1", status=404, delay_s=SLOW_S)
    site.redirect("/moved?1", "/login", delay_s=SLOW_S)
    site.redirect("/outside?1", site.url.replace("127.0.0.1", "localhost") + "/elsewhere", delay_s=SLOW_S)
    site.redirect("/endless?1", "/chain1", delay_s=SLOW_S)
    for n in range(1, 6):
        site.redirect(f"/chain{n}", f"/chain{n + 1}")
    site.redirect("/loop?1", "/loop?1&turn", delay_s=SLOW_S)
    site.redirect("/loop?1&turn", "/loop?1")
    site.answers["/shaky?1"] = [Answer(500), Answer(200, body=b"<html>now</html>")]


@pytest.fixture(scope="module")
def site():
    """The site of the many cases."""
    with Site() as site:
        build_many_cases(site)
        yield site


@pytest.fixture(scope="module")
def crawl(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """One filtered crawl of it."""
    folder = tmp_path_factory.mktemp("crawl")
    crawl = walk_filtered(site, folder, REDIRECT_MAX_TIMES=3, LOG_LEVEL="DEBUG")
    assert crawl.status == 0, crawl.log
    return crawl


def statuses(crawl: Crawl, *paths: str) -> list[object]:
    """Return the status that the spider's callback received, None if it was not called."""
    return [crawl.seen.get(path, {}).get("status") for path in paths]


def refusal(crawl: Crawl) -> str:
    """Return the one line with which a crawl refuses to start."""
    assert crawl.status == 1
    assert "Traceback" not in crawl.log
    (line,) = crawl.lines("ERROR")
    return str(line)


def asked_at_once(site: Site, *paths: str) -> bool:
    """Return True if all of *paths* were requested while the crawl had other work, not when it had run dry."""
    return max(site.asked.index(path) for path in paths) < site.asked.index("/last")


def test_pages_that_redirect_to_another_form_of_themselves_are_all_kept(crawl: Crawl, site: Site):
    """A redirect target is no duplicate of its source: 10 of 10 pages reach the spider (a fingerprinter loses all)."""
    paths = [f"/p{n}?ok" for n in range(10)]
    assert statuses(crawl, *paths) == [200] * 10
    assert asked_at_once(site, *paths)


def test_of_two_duplicates_one_is_fetched(crawl: Crawl, site: Site):
    """Five pages of five pairs are fetched, and the five other URLs are never requested."""
    for n in range(5):
        assert statuses(crawl, f"/twin{n}?a", f"/twin{n}?b") == [200, None]
        assert site.count(f"/twin{n}?b") == 0


def test_a_dropped_request_says_why(crawl: Crawl, site: Site):
    """The signal has form, rules, owner and reason, and the meta has the same."""
    dropped = crawl.seen["/twin0?b"]
    assert dropped["dropped"] == dropped["dedup_reason"]
    assert dropped["form"] == f"{site.url}/twin0"
    assert dropped["rules"] == ["strip-query"]
    assert dropped["owner"] == f"{site.url}/twin0?a"
    assert dropped["dedup_canonical"] == f"{site.url}/twin0"
    assert dropped["dedup_reason"] == "strip-query: every query is dropped"
    assert "dedup_reason" in crawl.seen["/twin0?a"]
    assert crawl.seen["/twin0?a"]["dedup_reason"] is None


def test_the_first_drop_of_a_reason_is_logged_once(crawl: Crawl):
    """The log shows each rule's first drop only; the last line has the totals."""
    assert crawl.log.count("Filtered duplicate-content request") == 1
    assert crawl.log.count("Duplicate filter: ") == 1


def test_an_owner_that_is_gone_is_replaced(crawl: Crawl, site: Site):
    """The first URL answers 404 while its duplicate waits: the duplicate is fetched."""
    assert statuses(crawl, "/gone?2") == [200]
    assert asked_at_once(site, "/gone?2")


def test_an_owner_that_robots_txt_forbids_is_replaced(crawl: Crawl, site: Site):
    """A URL that robots.txt forbids owns nothing."""
    assert site.count("/private?1") == 0
    assert statuses(crawl, "/private?2") == [200]


def test_an_owner_that_redirects_to_a_seen_page_is_replaced(crawl: Crawl, site: Site):
    """The dupefilter drops the redirect to a known page (a log-in form): the duplicate is fetched."""
    assert statuses(crawl, "/moved?2") == [200]
    assert asked_at_once(site, "/moved?2")


def test_an_owner_that_is_swallowed_without_a_signal_is_replaced(crawl: Crawl):
    """Redirects off the site, endless and circular redirects: their duplicates are fetched."""
    assert statuses(crawl, "/outside?2", "/endless?2", "/loop?2") == [200, 200, 200]


def test_a_retry_is_no_duplicate_of_itself(crawl: Crawl, site: Site):
    """500, then 200: the second try is sent and reaches the spider."""
    assert site.count("/shaky?1") == 2
    assert statuses(crawl, "/shaky?1") == [200]


def test_the_start_page_owns_its_form(crawl: Crawl):
    """A link to the start page under another URL is dropped, though start requests are never dropped."""
    assert statuses(crawl, "/", "/?home") == [200, None]


@pytest.mark.parametrize("kind", ["optout", "post", "again", "media"])
def test_requests_that_must_not_be_touched_pass(crawl: Crawl, kind: str):
    """meta["dedup"] = False, POST, dont_filter and requests without a callback are all sent."""
    assert statuses(crawl, f"/{kind}?1", f"/{kind}?2") == [200, 200]


def test_robots_txt_is_asked_for_once_and_never_dropped(crawl: Crawl, site: Site):
    """The filter ignores the request for robots.txt."""
    assert site.count("/robots.txt") >= 1
    assert "robotstxt/response_status_count/200" in crawl.stats


def test_stats_add_up(crawl: Crawl):
    """Every processed request was kept or dropped, and the seen forms are counted."""
    stats = {key.removeprefix("dedup/"): value for key, value in crawl.stats.items() if key.startswith("dedup/")}
    assert stats["request/processed"] == stats["request/kept"] + stats["request/dropped"]
    assert stats["request/dropped"] >= 6
    assert stats["request/released"] >= 5
    assert stats["request/skipped"] >= 6
    assert "'dedup/seen/size': " in crawl.log  # counted at the end, after the spider's own stats
    assert stats["seen/restored"] == 0


def small_site(site: Site) -> Site:
    """Two duplicates, and another page."""
    site.robots()
    site.page("/", "/a?1", "/a?2", "/b")
    for path in ["/a?1", "/a?2", "/b"]:
        site.page(path)
    return site


def walk_small(folder: Path, host: str | None = None, **settings: object) -> Crawl:
    """Crawl the small site with a model of its host, or of another *host*."""
    with Site() as site:
        model = strip_query_model(folder / "model", host or site.host)
        return walk(small_site(site), folder, DEDUP_MODEL=model, **settings)


def test_dry_run_drops_nothing_and_counts(tmp_path: Path):
    """Everything is decided and counted, but every request is sent."""
    crawl = walk_small(tmp_path, DEDUP_DRY_RUN="True")
    assert statuses(crawl, "/a?1", "/a?2", "/b") == [200, 200, 200]
    assert crawl.stats["dedup/request/would_drop"] == 1
    assert "dedup/request/dropped" not in crawl.stats
    assert "1 would have been dropped (dry run)" in crawl.log


def test_plain_settings_are_enough(tmp_path: Path):
    """Without the add-on, one line in DOWNLOADER_MIDDLEWARES switches the filter on."""
    middlewares = json.dumps({"dedup_crawler.DuplicateFilterMiddleware": 120})
    crawl = walk_small(tmp_path, addon=False, DOWNLOADER_MIDDLEWARES=middlewares)
    assert statuses(crawl, "/a?1", "/a?2", "/b") == [200, None, 200]


@needs_bare_asyncio
def test_works_without_a_twisted_reactor(tmp_path: Path):
    """Filter and collector run on bare asyncio."""
    collect = tmp_path / "pages.db"
    crawl = walk_small(tmp_path, DEDUP_COLLECT=collect, TWISTED_REACTOR_ENABLED="False")
    assert crawl.status == 0
    assert statuses(crawl, "/a?1", "/a?2", "/b") == [200, None, 200]
    with PageStore(collect, create=False) as store:
        assert len(store) == 3


def test_a_host_that_the_model_does_not_know_passes(tmp_path: Path):
    """Rules of one site are never applied to another."""
    crawl = walk_small(tmp_path, "forum.example")
    assert statuses(crawl, "/a?1", "/a?2", "/b") == [200, 200, 200]
    assert crawl.stats["dedup/model/unknown_host"] == 4


def test_without_a_model_the_crawl_goes_on_unfiltered_and_says_so(tmp_path: Path):
    """Without DEDUP_MODEL there is no filter; the add-on may serve the collector alone."""
    with Site() as site:
        crawl = walk(small_site(site), tmp_path)
    assert statuses(crawl, "/a?1", "/a?2", "/b") == [200, 200, 200]
    assert crawl.log.count("DEDUP_MODEL is not set") == 1


def test_switched_off(tmp_path: Path):
    """DEDUP_ENABLED = False disables the filter of a project with a model."""
    crawl = walk_small(tmp_path, DEDUP_ENABLED="False")
    assert statuses(crawl, "/a?1", "/a?2", "/b") == [200, 200, 200]


@pytest.mark.parametrize("damage", ["missing", "altered"])
def test_a_model_that_cannot_be_used_stops_the_crawl_at_its_start(tmp_path: Path, damage: str):
    """One ERROR line that names the setting, exit status 1, and not one request."""
    model = tmp_path / "model"
    with Site() as site:
        small_site(site)
        if damage == "altered":
            strip_query_model(model, site.host)
            (model / "model.json").write_text("{")
        crawl = walk(site, tmp_path, DEDUP_MODEL=model)
        assert site.asked == []
    assert f"DEDUP_MODEL = {str(model)!r}" in refusal(crawl)


def test_a_second_crawl_knows_what_the_first_one_fetched(tmp_path: Path):
    """With DEDUP_COLLECT stored pages count as seen: another URL of such a page is dropped, its own URL is not."""
    with Site() as site:
        small_site(site)
        model = strip_query_model(tmp_path / "model", site.host)
        settings = {"DEDUP_MODEL": model, "DEDUP_COLLECT": tmp_path / "pages.db"}
        assert walk(site, tmp_path, **settings).stats["dedup/seen/restored"] == 0
        site.page("/", "/a?3", "/a?1", "/c?1")
        site.page("/a?3")
        site.page("/c?1")
        site.page("/b", status=404)
        crawl = walk(site, tmp_path, **settings)
    assert crawl.stats["dedup/seen/restored"] == 3
    assert statuses(crawl, "/a?3", "/a?1", "/c?1") == [None, 200, 200]


def test_a_second_crawl_compares_with_stored_pages_whose_urls_have_escapes(tmp_path: Path):
    """Their normal form is another URL, which the site need not know; it is never asked for."""
    with Site() as site:
        site.robots()
        for n in range(20):
            for v in (1, 2):
                show(site, f"/item%3A{n}?v={v}", n)
        model = strip_query_model(tmp_path / "model", site.host)
        settings = {"DEDUP_MODEL": model, "DEDUP_COLLECT": tmp_path / "pages.db", "DEDUP_EXPLORATION": 1}
        site.page("/", *(f"/item%3A{n}?v=1" for n in range(20)))
        walk(site, tmp_path, **settings)
        site.page("/", *(f"/item%3A{n}?v=2" for n in range(20)))
        crawl = walk(site, tmp_path, **settings)
        assert [path for path in site.asked if path.startswith("/item:")] == []
    assert crawl.stats["dedup/explored/agree"] == 20
    assert "dedup/explored/owners" not in crawl.stats


def test_our_spider_keeps_pages_that_redirect_to_themselves(tmp_path: Path):
    """The content spider follows redirects itself, and the filter lets it: source and target are both stored."""
    with Site() as site:
        site.robots()
        site.page("/", *(f"/p{n}" for n in range(10)), "/p0?again")
        for n in range(10):
            site.redirect(f"/p{n}", f"/p{n}?ok", status=301)
            site.page(f"/p{n}?ok")
        model = strip_query_model(tmp_path / "model", site.host)
        crawl_content(f"{site.url}/", tmp_path / "crawl.db", DEDUP_MODEL=model)
    with PageStore(tmp_path / "crawl.db", create=False) as store:
        stored = {page.url.removeprefix(site.url): page.status for page in store.pages()}
    assert stored == {"/": 200} | {f"/p{n}": 301 for n in range(10)} | {f"/p{n}?ok": 200 for n in range(10)}


def test_our_spider_does_not_fetch_what_a_redirect_leads_back_to(tmp_path: Path):
    """
    A redirect to a duplicate of a fetched page is stored, its target is not fetched again.
    """
    with Site() as site:
        site.page("/", "/topic", "/post/1", "/post/2")
        site.page("/topic")
        site.redirect("/post/1", "/topic?page=1", delay_s=0.3)
        site.redirect("/post/2", "/topic?page=2", delay_s=0.3)
        model = strip_query_model(tmp_path / "model", site.host)
        crawl_content(f"{site.url}/", tmp_path / "crawl.db", DEDUP_MODEL=model)

    with PageStore(tmp_path / "crawl.db") as store:
        assert sorted(url.removeprefix(site.url) for url in store.urls()) == ["/", "/post/1", "/post/2", "/topic"]


def test_redirects_that_stand_for_each_other_do_not_lose_the_page(tmp_path: Path):
    """
    Two redirects whose targets are duplicates of each other: a redirect is no page, so one target is fetched.
    """
    with Site() as site:
        site.page("/", "/a", "/b")
        site.redirect("/a", "/b?page", delay_s=0.3)
        site.redirect("/b", "/a?page", delay_s=0.3)
        site.page("/a?page")
        site.page("/b?page")
        model = strip_query_model(tmp_path / "model", site.host)
        crawl_content(f"{site.url}/", tmp_path / "crawl.db", DEDUP_MODEL=model)

    with PageStore(tmp_path / "crawl.db") as store:
        assert {page.url.removeprefix(site.url) for page in store.pages() if page.status == 200} > {"/"}


def forum_model(site: Site, folder: Path, *, with_alone: bool) -> Path:
    """A model of a forum whose posts are covered by topics, or lead back to the topic that links to them."""
    crawl = forum(host=site.url, with_alone=with_alone)
    method = make_method("verified").fit(crawl.urls, crawl.clusters, crawl.referrers, crawl.redirects)
    return Path(method.save(folder))


def new_topics(site: Site) -> None:
    """Two topics that training has not seen, each with a post, and a post on the first page."""
    site.page("/", "/topic/7001", "/topic/7002", "/post/70019")
    site.page("/topic/7001", "/post/70010")
    site.page("/topic/7002", "/post/70020", "/post/70010")
    for post in ("/post/70010", "/post/70019"):
        site.redirect(post, "/topic/7001")
    site.redirect("/post/70020", "/topic/7002")


def test_covered_urls_are_dropped_and_counted(tmp_path: Path):
    """A covered template is never requested, wherever it is linked; all its pages were fetched."""
    with Site() as site:
        new_topics(site)
        crawl = walk(site, tmp_path, DEDUP_MODEL=forum_model(site, tmp_path / "model", with_alone=False))
        assert sorted(path for path in site.asked if path != "/robots.txt") == ["/", "/topic/7001", "/topic/7002"]
    dropped = crawl.seen["/post/70019"]
    assert "shows only pages that other URLs show" in str(dropped["dedup_reason"])
    assert dropped["dropped"] == dropped["dedup_reason"]
    n_links = 4
    assert crawl.stats["dedup/request/covered"] == crawl.stats["dedup/request/dropped"] == n_links
    kept = crawl.stats["dedup/request/kept"]
    assert crawl.stats["dedup/request/processed"] == kept + n_links


def test_a_dry_run_sends_what_is_covered(tmp_path: Path):
    """The dry run counts would-be drops, and every page reaches the spider."""
    with Site() as site:
        new_topics(site)
        model = forum_model(site, tmp_path / "model", with_alone=False)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_DRY_RUN="True")
        assert all(site.count(f"/post/{post}") == 1 for post in (70010, 70019, 70020))
    assert "dedup/request/dropped" not in crawl.stats
    n_links = 4
    assert crawl.stats["dedup/request/covered"] == n_links
    assert crawl.stats["dedup/request/would_drop"] >= n_links


def test_a_link_that_shows_its_own_page_is_dropped_there_alone(tmp_path: Path):
    """Posts linked on topics are those topics; the post on the first page is fetched: nothing is known about it."""
    with Site() as site:
        new_topics(site)
        crawl = walk(site, tmp_path, DEDUP_MODEL=forum_model(site, tmp_path / "model", with_alone=True))
        assert [site.count(f"/post/{post}") for post in (70010, 70020, 70019)] == [0, 0, 1]
    assert "leads back to that page" in str(crawl.seen["/post/70010"]["dedup_reason"])
    assert crawl.seen["/post/70020"]["dedup_canonical"] == f"{site.url}/topic/7002"
    # both topics link it: the one that is answered first is its referrer
    assert crawl.seen["/post/70010"]["dedup_canonical"] in {f"{site.url}/topic/7001", f"{site.url}/topic/7002"}
    assert "dedup/request/covered" not in crawl.stats


def test_a_drop_names_the_rule_whichever_page_holds_the_link(tmp_path: Path):
    """A late page links to a post too, which leads back to a topic: the reason is the rule about the link there."""
    with Site() as site:
        new_topics(site)
        site.page("/", "/topic/7001", "/late")
        site.page("/late", "/post/70010", delay_s=1)
        model = forum_model(site, tmp_path / "model", with_alone=True)
        crawl = walk(site, tmp_path, DEDUP_MODEL=model, DEDUP_EXPLORATION=1)
        assert site.count("/post/70010") == 1  # the link on the topic is a test
    assert crawl.stats["dedup/request/dropped"] == 1
    assert "leads back to that page" in str(crawl.seen["/post/70010"]["dropped"])


def test_a_page_that_links_to_another_site_first_is_still_known_by_its_own_model(tmp_path: Path):
    """The referrer's form comes from the model of its own site, whichever site the first link leads to."""
    models = tmp_path / "models"
    with Site() as site, Site() as other:
        crawled = forum(host=site.url, with_alone=True)
        for url, page in list(zip(crawled.urls, crawled.clusters, strict=True)):
            if "/topic/" in url:
                with_session = f"{url}?sid={page * 7919:08x}"
                crawled.add(with_session, page, f"{site.url}/")
                crawled.add(f"{site.url}/post/{page * 10 + 5}", page, with_session, url)
        method = make_method("verified").fit(crawled.urls, crawled.clusters, crawled.referrers, crawled.redirects)
        method.save(models / default_model_folder([site.url]).name)
        strip_query_model(models / default_model_folder([other.url]).name, other.host)
        other.page("/elsewhere")
        site.page("/", "/topic/7001?sid=0badcafe")
        site.page("/topic/7001?sid=0badcafe", f"{other.url}/elsewhere", "/post/70010")
        site.redirect("/post/70010", "/topic/7001")
        crawl = walk(site, tmp_path, DEDUP_MODEL=models, DEDUP_EXPLORATION="0")
        assert (other.count("/elsewhere"), site.count("/post/70010")) == (1, 0)
    assert crawl.seen["/post/70010"]["dedup_canonical"] == f"{site.url}/topic/7001"


def test_the_spider_middleware_alone_refuses_to_start(tmp_path: Path):
    """It would drop links, and nothing would send them when their owner fails: one line names the setting."""
    with Site() as site:
        site.page("/", "/a?v=1", "/a?v=2")
        model = strip_query_model(tmp_path / "model", site.host)
        middlewares = json.dumps({"dedup_crawler.DuplicateFilterSpiderMiddleware": 40})
        crawl = walk(site, tmp_path, addon=False, DEDUP_MODEL=model, SPIDER_MIDDLEWARES=middlewares)
        assert site.asked == []
    assert "DOWNLOADER_MIDDLEWARES" in refusal(crawl)
