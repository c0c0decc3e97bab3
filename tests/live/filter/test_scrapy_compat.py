"""The live parts work with every supported Scrapy; `make compat` runs their crawls with the oldest."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import dedup_crawler.live
from live_site import REPOSITORY, Site, crawl_content

SELECT = "twisted.internet.selectreactor.SelectReactor"
CALLED_BY_SCRAPY = (
    "process_request",
    "process_response",
    "process_exception",
    "process_spider_input",
    "process_spider_output",
    "process_spider_output_async",
    "process_spider_exception",
)


def methods_that_scrapy_calls():
    for module in pkgutil.iter_modules(dedup_crawler.live.__path__, "dedup_crawler.live."):
        for _, found in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if found.__module__ == module.name:
                yield from (vars(found)[name] for name in CALLED_BY_SCRAPY if name in vars(found))


@pytest.mark.parametrize("method", list(methods_that_scrapy_calls()), ids=lambda method: method.__qualname__)
def test_the_spider_may_be_given_and_may_be_left_out(method):
    """Scrapy 2.13 passes the spider as the last argument; later versions warn of methods that require it."""
    last = list(inspect.signature(method).parameters.values())[-1]
    assert (last.name, last.default) == ("spider", None)


@pytest.mark.parametrize(
    "late", ["scrapy.utils.asyncio", "engine.scheduler", "close_spider_async", "download_async", "raise CloseSpider"]
)
def test_what_older_versions_lack_is_used_in_one_place(late):
    """Only scrapy_compat uses names newer than 2.13; types do not count, and a callback may close a crawl."""
    for path in [*Path(dedup_crawler.live.__file__).parent.glob("*.py"), *(REPOSITORY / "spiders").glob("*.py")]:
        lines = path.read_text(encoding="utf-8").splitlines()
        used = [line for line in lines if late in line and not line.startswith("    from ")]
        assert path.name == "scrapy_compat.py" or not used or (late, path.name) == ("raise CloseSpider", "content.py")


def test_our_spider_works_on_a_reactor_without_asyncio(tmp_path):
    """A resumed crawl sleeps between start requests, and has clocks: on a reactor they are Twisted's."""
    with Site() as site:
        site.page("/", "/a", "/b")
        site.page("/a")
        site.page("/b")
        for _ in range(2):
            settings = {"TWISTED_REACTOR": SELECT, "TWISTED_REACTOR_ENABLED": "True"}
            crawl = crawl_content(f"{site.url}/", tmp_path / "crawl.db", **settings)
            assert crawl.status == 0, crawl.log
            assert "Traceback" not in crawl.log
            site.page("/b", "/c")
            site.page("/c")
