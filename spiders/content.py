"""Crawls one site and stores every page of it: the sample that duplicates are learnt from.

    scrapy crawl content -a url=https://forum.example.org/ [-a pages=5000] [-a db=crawl.db] [-s JOBDIR=jobs/forum]

A crawl that finds pages of the site in its database goes on from there, whether it was finished, stopped or killed:
the database alone decides which pages are missing. With JOBDIR the queue is kept on disk instead of in memory.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request, Spider, signals
from scrapy.exceptions import CloseSpider, IgnoreRequest
from scrapy.http import Headers
from scrapy.responsetypes import responsetypes
from scrapy.utils.job import job_dir

from dedup_crawler.errors import BadInputError, StoreError
from dedup_crawler.live.collecting.response_page import REDIRECTED_KEY, REFERRER_KEY, page_item
from dedup_crawler.live.options import Options
from dedup_crawler.live.scrapy_compat import (
    create_looping_call,
    is_start_refused,
    mark_as_failed,
    refuse_to_start,
    scheduler_of,
    sleep,
)
from dedup_crawler.pages.store import PageStore
from spiders.site import links_of, page_number, site_of, start_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall
    from twisted.python.failure import Failure
    from typing_extensions import Self

    from dedup_crawler.pages.records import Page

_PROGRESS_S = 10.0


class ContentSpider(Spider):
    """Follows every link of a site exactly as it was published.

    Every response is a page, errors and files included, under the URL that was asked for. A redirect is a page that
    says where it leads; its target is fetched as a URL of its own, with the referrer of the redirect. A URL that gave
    no response (timeout, too large) is not stored, and is tried again when the crawl goes on.

    Parameters
    ----------
    url
        Where to start; the crawl stays on its host and port.
    pages
        Stop when the database holds this many pages of the site, those of earlier crawls included; default: all.
    db
        Database, a path or an SQLAlchemy URL; default: ``DEDUP_COLLECT``, else ``crawl.db``.
    """

    name = "content"
    yields_pages = True  # the collector stores these
    custom_settings: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "HTTPERROR_ALLOW_ALL": True,  # errors are pages
    }

    def __init__(self, url: str | None = None, pages: str | None = None, db: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.url = start_url(url)
        self.site = site_of(self.url)
        self.n_wanted = page_number(pages)
        self.db = db or ""
        self.n_pages = 0
        self._n_pages_told = 0
        self._n_failed = 0
        self._is_running = False
        self._stored: set[bytes] = set()  # fingerprints of the URLs that earlier crawls stored
        self._trouble: str | None = None  # why the crawl got nowhere from its start URL
        self._progress: AsyncioLoopingCall | LoopingCall | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Build the spider; a wrong argument closes the crawl before it begins, with one line."""
        try:
            spider = super().from_crawler(crawler, *args, **kwargs)
        except BadInputError as error:
            refuse_to_start(crawler, "bad_argument", str(error))
            return super().from_crawler(crawler, url="http://refused.invalid/")
        spider.db = spider.db or Options.from_settings(crawler.settings).database or "crawl.db"
        # the collector and the filter read it from here; "cmdline" because -a db=... must win over -s DEDUP_COLLECT=...
        crawler.settings.set("DEDUP_COLLECT", spider.db, priority="cmdline")
        _forget_queue(crawler)
        # a robots.txt that cannot be fetched is said in one line
        logging.getLogger("scrapy.downloadermiddlewares.robotstxt").addFilter(_without_traceback)
        crawler.signals.connect(spider._opened, signal=signals.spider_opened)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        """Yield the start URL, and what the pages of earlier crawls link to, unless it is stored."""
        if is_start_refused(self.crawler):
            return
        self._is_running = True
        if self._is_full():
            return
        for request in self._requests([self.url], None):
            yield request.replace(errback=self.start_failed)
        if not self._stored:
            return
        with PageStore(self.db, create=False) as store:
            for page in store.pages():
                for request in self._leads_of(page, _response_of(page)):
                    yield request
                await sleep(0)  # Scrapy takes start requests in one go: let the others run

    def parse(self, response: Response) -> Iterator[Any]:
        """Store the page, follow what it leads to."""
        request = response.request
        if request is None or self._is_full():
            return  # it was in flight when the last page that is wanted came in
        page = page_item(request, response)
        self.n_pages += 1
        yield page
        if self._is_full():
            raise CloseSpider("pages_reached")
        yield from self._leads_of(page, response)

    def failed(self, failure: Failure) -> None:
        """Say in one line that a URL gave no response."""
        if not isinstance(failure.value, IgnoreRequest):
            self._n_failed += 1
            request: Request = failure.request  # type: ignore[attr-defined]  # Scrapy puts it there
            self.logger.warning("Not fetched: %s: %s", request.url, _in_one_line(failure))

    def start_failed(self, failure: Failure) -> None:
        """Remember why the crawl could not begin."""
        self._trouble = _in_one_line(failure)

    def closed(self, reason: str) -> None:
        """Say how the crawl ended."""
        if self._progress is not None and self._progress.running:
            self._progress.stop()
        if not self._is_running:
            return  # it was refused, and that was said
        if self.n_pages == 0:
            self.logger.error("Nothing was stored of %s: %s", self.url, self._trouble or reason)
            mark_as_failed(self.crawler)
        else:
            if self._trouble is not None:
                self.logger.error("%s: %s", self.url, self._trouble)
            self.logger.info("%s holds %d pages of this site; %d not fetched.", self.db, self.n_pages, self._n_failed)

    def _leads_of(self, page: Page, response: Response) -> Iterator[Request]:
        """Requests for what a page leads to: its links, or the target of a redirect."""
        if page.redirect_to is None:
            yield from self._requests(links_of(response), page.url)
            return
        if page.url == self.url and site_of(page.redirect_to) != self.site:
            self._trouble = f"redirects to another host: crawl {page.redirect_to} instead"
        earlier = response.meta.get(REDIRECTED_KEY, []) if response.request is not None else []
        if len(earlier) < self.settings.getint("REDIRECT_MAX_TIMES"):
            # the target may show what another URL showed, but it is no duplicate of the redirect that leads to it
            yield from self._requests([page.redirect_to], page.referrer, **{REDIRECTED_KEY: [*earlier, page.url]})

    def _requests(self, urls: Any, referrer: str | None, **meta: Any) -> Iterator[Request]:
        """Requests for those of *urls* that are pages of this site and not stored."""
        for url in urls:
            if site_of(url) != self.site:
                continue
            request = Request(
                url,
                meta={"dont_redirect": True, REFERRER_KEY: referrer, **meta},
                callback=self.parse,
                errback=self.failed,
            )
            if not self._stored or self.crawler.request_fingerprinter.fingerprint(request) not in self._stored:
                yield request

    def _is_full(self) -> bool:
        return self.n_wanted is not None and self.n_pages >= self.n_wanted

    def _opened(self) -> None:
        try:
            with PageStore(self.db, create=False) as store:
                for url in store.urls():
                    if site_of(url) == self.site:
                        self._stored.add(self.crawler.request_fingerprinter.fingerprint(Request(url)))
                        self.n_pages += 1
        except StoreError:
            return  # the collector could not open it either, and has said so
        self._n_pages_told = self.n_pages
        if self.n_pages:
            self.logger.info("Going on: %s holds %d pages of this site.", self.db, self.n_pages)
        self._progress = create_looping_call(self._tell_progress)
        self._progress.start(_PROGRESS_S, now=False)

    def _tell_progress(self) -> None:
        scheduler = scheduler_of(self.crawler)
        n_queued = len(scheduler) if isinstance(scheduler, Sized) else 0
        rate = (self.n_pages - self._n_pages_told) * 60 / _PROGRESS_S
        self._n_pages_told = self.n_pages
        self.logger.info("%d pages (%d pages/min), %d queued", self.n_pages, rate, n_queued)


def _response_of(page: Page) -> Response:
    """*page* as it was when it came in."""
    headers = Headers({"Content-Type": page.content_type} if page.content_type else {})
    response_class = responsetypes.from_args(headers=headers, url=page.url, body=page.content)
    return response_class(page.url, status=page.status, headers=headers, body=page.content)


def _forget_queue(crawler: Crawler) -> None:
    """Empty the queue that an earlier crawl left in JOBDIR.

    Scrapy can only read it after a clean stop, and even then it lacks the pages that were in flight when the crawl was
    full. The database knows what is missing in every case.
    """
    if (folder := job_dir(crawler.settings)) is not None:
        shutil.rmtree(Path(folder, "requests.queue"), ignore_errors=True)
        Path(folder, "requests.seen").unlink(missing_ok=True)


def _without_traceback(record: logging.LogRecord) -> bool:
    record.exc_info = None
    return True


def _in_one_line(failure: Failure) -> str:
    text = " ".join(failure.getErrorMessage().split())
    kind = "" if isinstance(failure.value, IgnoreRequest) else f"{type(failure.value).__name__}: "
    return f"{kind}{text}"[:300]
