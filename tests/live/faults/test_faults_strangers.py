"""Hostile pages: endless links, URLs that try to forge log lines, and sites that claim rules of each other."""

from __future__ import annotations

import gc
import random
import tracemalloc
from pathlib import Path

from scrapy import Request
from scrapy.utils.test import get_crawler

from dedup_crawler.live.duplicate_filter import DuplicateFilter
from dedup_crawler.live.exploration.dropped_requests import FORGOTTEN_AT_ONCE, MAX_ALL
from dedup_crawler.live.requests.request_text import RequestWriter, request_of
from dedup_crawler.live.seen.protocol import at_once
from dedup_crawler.methods import make_method
from live_site import Site, strip_query_model, walk, walk_filtered
from planted_site import HOST, session_ids

N_LINKS = 20_000
MAX_BYTES_OF_LINK = 700
"""Mostly the URL of its owner (only of the latest 20,000) and its entry among the awaited forms."""


def endless_links(n: int) -> list[str]:
    """Return links with new keys, paths and values."""
    draw = random.Random(0)
    words = [f"{draw.getrandbits(48):012x}" for _ in range(4 * n)]
    kinds = (
        "/trap?{0}={1}",
        "/{0}/{1}/{2}",
        "/trap/{0}?{1}={2}&{3}=1",
        "/x;{0}={1}?t=1&t=2&{2}",
        "/%F0%9F%92%A9{0}/../{1}//{2}?%ED%A0%80={3}",
    )
    return [kinds[i % len(kinds)].format(*words[4 * i : 4 * i + 4]) for i in range(n)]


def filter_of(folder: Path) -> DuplicateFilter:
    """Return the filter of a crawl that never starts, with mined rules for a planted site."""
    planted = session_ids()
    model = make_method("verified").fit(planted.urls, planted.clusters).save(folder / "model")
    made = DuplicateFilter.of(get_crawler(settings_dict={"DEDUP_MODEL": str(model)}))
    assert made is not None
    return made


def test_endless_links_cost_a_bounded_number_of_bytes_each(tmp_path: Path):
    """
    10,000 links with new keys, paths and values pass the filter: each costs its digest in the seen set and its entry
    among the awaited forms, and nothing else grows with them.
    """
    crawl = filter_of(tmp_path)
    urls = [HOST + path for path in endless_links(N_LINKS // 2)]

    def ask(urls: list[str]) -> int:
        """Return the kept bytes."""
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for start in range(0, len(urls), 500):
            requests = [Request(url) for url in urls[start : start + 500]]
            assert at_once(crawl.decisions.decide(requests)) == [True] * len(requests)
        del requests
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    tracemalloc.start()
    try:
        ask(urls[: len(urls) // 2])  # fills the bounded caches
        n_bytes = ask(urls[len(urls) // 2 :])
    finally:
        tracemalloc.stop()
    n_links = len(urls) // 2
    assert n_bytes / n_links < MAX_BYTES_OF_LINK, f"{n_bytes / n_links:.0f} bytes a link"


def test_endless_duplicates_cost_no_more_than_the_bounds(tmp_path: Path):
    """
    One page under 25,000 session ids: drops are kept in case their rule turns out wrong, up to a number.
    """
    crawl = filter_of(tmp_path)
    urls = [f"{HOST}/topic.php?t=5&sid={n:016x}" for n in range(25_000)]
    kept = [at_once(crawl.decisions.decide([Request(url)]))[0] for url in urls]
    assert kept[0]
    assert sum(kept) < 0.03 * len(urls)  # explored URLs
    assert MAX_ALL <= len(crawl.explorer.drops._dropped) < MAX_ALL + FORGOTTEN_AT_ONCE


ODD = [
    "/odd?a=1&b=\\u2028\\u2029",
    "/odd?a=2&\\x00\\x1b[31m",
    "/odd?a=3&%0d%0a2026-01-01 ERROR: forged",
    "/odd?a=4&\\ud800",
    "/odd?a=5&{curly}%(percent)s%s",
    "/odd?a=6&\\u202e&#10;2026-01-01 ERROR: forged",
    "/odd?a=7&<b>'",
]


def test_urls_cannot_write_lines_of_the_log(tmp_path: Path):
    """
    Control characters, line separators, lone surrogates and format strings in links: the crawl ends, and with every
    drop logged, the log has only lines of the filter.
    """
    with Site() as site:
        site.robots()
        links = [link.encode().decode("unicode_escape") for link in ODD]
        site.page("/")
        anchors = "".join(f'<a href="{link}">x</a>' for link in links)
        site.answers["/"].body = f"<html><body>{anchors}</body></html>".encode("utf-8", "surrogatepass")
        site.page("/odd?a=1&b=%E2%80%A8%E2%80%A9")
        dropped = tmp_path / "dropped.jsonl"
        crawl = walk_filtered(site, tmp_path, DEDUP_DEBUG="True", DEDUP_DROPPED=dropped)
    assert crawl.status == 0
    assert "Traceback" not in crawl.log
    ours = [line for line in crawl.log.splitlines() if "Filtered duplicate-content" in line]
    assert len(ours) == crawl.stats["dedup/request/dropped"] == len(dropped.read_text().splitlines()) >= 5
    assert not [line for line in crawl.log.splitlines() if line.lstrip().startswith("2026-01-01")]
    assert all(char.isprintable() for line in ours for char in line)


def test_a_referrer_cannot_write_lines_of_the_log(tmp_path: Path):
    """The URL of the referrer comes from its server, and is in the log as well."""
    with Site() as site:
        site.robots()
        site.page("/", "/start")
        site.redirect("/start", "/here?\x0b\x0c\x85\xa0")
        site.answers["/start"].headers["Location"] = "/here?x=\x0b\x0c\x85 2026-01-01 ERROR: forged"
        for path in [f"/here?x={middle}%202026-01-01%20ERROR:%20forged" for middle in ("%0B%0C%85", "%0B%0C%C2%85")]:
            site.page(path, "/a?1", "/a?2")
        site.page("/a?1")
        crawl = walk_filtered(site, tmp_path, DEDUP_DEBUG="True")
    assert crawl.stats["dedup/request/dropped"] == 1
    (line,) = [line for line in crawl.log.splitlines() if "Filtered duplicate-content" in line]
    assert "(referer: " in line
    assert line.isprintable()


def test_rules_of_one_host_are_never_applied_to_another(tmp_path: Path):
    """
    One server under two names, with models for only one, and in its folder rules that name the other: duplicates of
    the first are dropped, all pages of the second are fetched.
    """
    with Site() as site:
        other = site.host.replace("127.0.0.1", "localhost")
        site.robots()
        links = [f"http://{host}/a?{n}" for host in (site.host, other) for n in (1, 2, 3)]
        site.page("/", html="".join(f'<a class="anywhere" href="{link}">x</a>' for link in links))
        for n in (1, 2, 3):
            site.page(f"/a?{n}")
        models = tmp_path / "models"
        strip_query_model(models / site.host.replace(":", "_"), site.host, other)
        crawl = walk(site, tmp_path, DEDUP_MODEL=models)
        assert [site.count(f"/a?{n}") for n in (1, 2, 3)] == [2, 1, 1]
    assert crawl.stats["dedup/model/unknown_host"] >= 3
    assert crawl.stats["dedup/request/dropped"] == 2


def test_what_a_request_says_is_read_back_and_never_run():
    """A manipulated seen file: its class, callback or type has no effect."""
    request = Request("http://a.example/?q=%ED%A0%80", meta={"depth": 1, "text": "\ud800"})
    text = RequestWriter().text_of(request, None)
    assert text is not None
    told = request_of(text, None)
    assert told is not None
    assert (told.url, told.meta) == (request.url, request.meta)
    assert '"callback"' not in text
    for hostile in ("", "[]", "null", "{", '{"url": 1}', text.replace("{", '{"callback": "__class__", ', 1)):
        assert request_of(hostile, None) is None
    imported = text.replace("{", '{"_class": "os.system", ', 1)
    assert type(request_of(imported, None)) is Request
