"""Owners that fail in every possible way: server, network, other middlewares. No page is lost by it."""

from __future__ import annotations

import json

import pytest

from live_site import Answer, Crawl, Site, strip_query_model, walk
from repository import ROOT

TIMEOUT_S = 3.0
MAX_BYTES = 20_000
FAILING = ["e500", "e403", "slow", "big", "reset", "cut", "private", "silent", "refused", "away"]
"""Names of the pages whose first URLs fail, each in its own way."""
N_SINKS = 8

NEIGHBOURS = '''
from scrapy.exceptions import IgnoreRequest


class SpiderSide:
    """Drops requests silently."""

    async def process_spider_output(self, response, result):
        async for each in result:
            if "silent?1" not in getattr(each, "url", ""):
                yield each


class DownloaderSide:
    """Refuses one request and sends another one elsewhere."""

    def process_request(self, request):
        if "refused?1" in request.url:
            raise IgnoreRequest("not today")
        if "away?1" in request.url:
            return request.replace(url=request.url.replace("away?1", "elsewhere"))
'''


def anchors(how: str, *paths: str) -> str:
    """Links that are requested in a special way."""
    return "".join(f'<a class="{how}" href="{path}">x</a>' for path in paths)


def build(site: Site) -> None:
    """Each page has two or three URLs, of which the first fails; the model gives them one form."""
    site.robots("/private?1")
    pairs = [f"/{name}?{n}" for name in FAILING for n in (1, 2)]
    threes = [f"/three?{n}" for n in (1, 2, 3)]
    sinks = [f"/sink{n}?{side}" for n in range(N_SINKS) for side in (1, 2)]
    other = site.url.replace("127.0.0.1", "localhost")
    offsite = anchors("", f"{other}/off?1") + anchors("anywhere", f"{other}/off?2")
    others = ["/hub", "/twice?1", "/twice?2", "/last"]
    site.page("/", *pairs, *threes, *sinks, *others, html=offsite + anchors("plain", "/raises"))
    for path in [*pairs, *threes, *sinks, "/off?2", "/elsewhere", "/twice?2"]:
        site.page(path)
    site.page("/e500?1", status=500, delay_s=0.3)
    site.page("/e403?1", status=403, delay_s=0.3)
    site.page("/slow?1", delay_s=TIMEOUT_S + 1.5)
    site.page("/big?1", html="x" * (MAX_BYTES + 1))
    site.answers["/reset?1"] = Answer(is_reset=True, delay_s=0.3)
    site.answers["/cut?1"] = Answer(200, {"Content-Type": "text/html", "Transfer-Encoding": "chunked"}, b"5\r\nhal")
    site.page("/three?1", status=404, delay_s=0.3)
    site.page("/three?2", status=404)
    site.page("/twice?1", status=404, delay_s=0.3)
    for n in range(N_SINKS):
        site.redirect(f"/sink{n}?1", f"/login?next=/sink{n}", delay_s=0.1)
        site.page(f"/login?next=/sink{n}", html="please log in")
    # a spider that copies meta: only the page itself was redirected to
    site.redirect("/hub", "/hub2")
    site.page("/hub2", html=anchors("copy", "/copied?1", "/copied?2", "/copiedgone"))
    for path in ("/copied?1", "/copied?2"):
        site.page(path)
    site.page("/raises", html=anchors("", "/before1", "/before2") + anchors("raise", "/never"))
    for path in ("/before1", "/before2", "/never"):
        site.page(path)
    # comes last: a sent substitute is linked once more
    site.page("/last", "/later", delay_s=TIMEOUT_S - 1)
    site.page("/later", "/twice?2", "/three?3", delay_s=TIMEOUT_S - 1)


@pytest.fixture(scope="module")
def site():
    """The site of failing owners."""
    with Site() as site:
        site.keeps_connections = False
        build(site)
        yield site


@pytest.fixture(scope="module")
def crawl(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """One filtered crawl of it, with other middlewares that drop requests after the filter let them pass."""
    folder = tmp_path_factory.mktemp("crawl")
    (folder / "neighbours.py").write_text(NEIGHBOURS)
    models = folder / "models"
    for host in (site.host, site.host.replace("127.0.0.1", "localhost")):
        strip_query_model(models / host.replace(":", "_"), host)
    crawl = walk(
        site,
        folder,
        prefix=["env", f"PYTHONPATH={folder}:{ROOT}"],
        DEDUP_MODEL=models,
        DOWNLOAD_TIMEOUT=TIMEOUT_S,
        DOWNLOAD_MAXSIZE=MAX_BYTES,
        SPIDER_MIDDLEWARES=json.dumps({"neighbours.SpiderSide": 30}),
        DOWNLOADER_MIDDLEWARES=json.dumps({"neighbours.DownloaderSide": 200}),
    )
    assert crawl.status == 0, crawl.log
    assert crawl.log.count("Traceback") == 1  # the spider's own exception
    return crawl


def status(crawl: Crawl, path: str) -> object:
    """Return the status that the spider's callback received, None if it was not called."""
    return crawl.seen.get(path, {}).get("status")


@pytest.mark.parametrize("name", FAILING)
def test_the_duplicate_of_an_owner_that_fails_is_fetched(crawl: Crawl, name: str):
    """
    Server errors, a timeout, a page that is too large, a connection that breaks before or during the answer,
    robots.txt, and three middlewares that drop the owner: the page comes under its other URL.
    """
    assert status(crawl, f"/{name}?1") is None
    assert status(crawl, f"/{name}?2") == 200


def test_a_retry_goes_to_the_owner(crawl: Crawl, site: Site):
    """An owner is retried before its duplicate is tried."""
    assert site.count("/e500?1") == 2
    assert site.count("/reset?1") == 2


def test_the_third_duplicate_is_fetched_if_the_first_two_fail(crawl: Crawl):
    """Of several duplicates dropped while their owner was awaited, none is lost when one after the other fails."""
    assert status(crawl, "/three?3") == 200


@pytest.mark.parametrize("n", range(N_SINKS))
def test_the_duplicates_of_owners_that_end_in_a_sink_are_fetched(crawl: Crawl, n: int):
    """Eight pages redirect to one log-in form: it answers for none of them, not even for the first ones."""
    assert status(crawl, f"/sink{n}?2") == 200


def test_an_owner_that_is_off_the_site_is_replaced(crawl: Crawl):
    """An offsite URL owns nothing: its page may have another URL, which is allowed."""
    assert status(crawl, "/off?2") == 200


def test_what_was_sent_in_place_of_an_owner_is_fetched_once(crawl: Crawl, site: Site):
    """Scrapy's dupefilter must drop later links to it, though it never saw it in its queue."""
    assert site.asked.index("/three?3") < site.asked.index("/later")
    assert [site.count("/twice?2"), site.count("/three?3")] == [1, 1]


def test_links_that_copy_the_meta_of_a_redirected_page_are_filtered(crawl: Crawl, site: Site):
    """The copied meta of a redirect does not make its links redirects: the duplicate is dropped."""
    assert [status(crawl, "/copied?1"), site.count("/copied?2")] == [200, 0]
    assert site.count("/hub") == site.count("/hub2") == 1


def test_links_of_a_page_on_which_the_spider_fails_are_kept(crawl: Crawl):
    """Scrapy sends the requests that a callback yielded before it failed, and so does the filter."""
    assert "a fault of the spider" in crawl.log
    assert [status(crawl, f"/before{n}") for n in (1, 2)] == [200, 200]
    assert status(crawl, "/never") is None
