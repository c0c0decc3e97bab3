"""The shared objects of one filtered crawl, opened from its ``DEDUP_*`` settings."""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.job import job_dir

from dedup_crawler.errors import ModelError, SeenUnavailableError, StoreError
from dedup_crawler.live.collecting.collector import write_pages
from dedup_crawler.live.collecting.crawl_database import EarlierPages, database_of, models_folder
from dedup_crawler.live.collecting.response_page import FetchedPage, content_type_of
from dedup_crawler.live.drop_report import DropReport
from dedup_crawler.live.exploration.explorer import Explorer
from dedup_crawler.live.exploration.reloads import Reloads
from dedup_crawler.live.exploration.shown_text import says_nothing
from dedup_crawler.live.models.learner import check_learning
from dedup_crawler.live.models.live_models import LiveModels, ModelShelf
from dedup_crawler.live.models.rule_codes import RuleCodes
from dedup_crawler.live.options import Options
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.requests.request_text import RequestWriter, request_of
from dedup_crawler.live.scrapy_compat import download
from dedup_crawler.live.seen.memory import open_seen
from dedup_crawler.live.seen.protocol import Claim, SeenSet, at_once, owner_tag
from dedup_crawler.rules.exchange.static_rules import read_rule_files
from dedup_crawler.urls.normal import host_of, normal_form
from dedup_crawler.urls.page_links import LinkedOn, names_in

logger = logging.getLogger("dedup_crawler.live")

_CODES_FACT = "rule codes"
_MODELS_FACT = "models"
_RESTORED_AT_ONCE = 500
_UNREADABLE = "requests.queue", "requests.seen"
_RUNNING = "dedup.running"
_PROCESS = re.compile(rb"[0-9a-f]{1,32}")


class FilteredCrawl:
    """The settings, models, seen set, tests and report of one crawl.

    DedupError if a setting cannot be used.
    """

    def __init__(self, crawler: Crawler, options: Options) -> None:
        self.crawler = crawler
        self.options = options
        self.database = database_of(crawler)
        """Database with the pages of the crawl, if they are stored."""
        self.learnt: Path | None = None
        """Folder for the models of a crawl that learns by itself."""
        if options.learn_after is not None and self.database is not None:
            check_learning()
            self.learnt = models_folder(self.database, options.model)
        self.models = LiveModels(self._shelf(), options.exploration, logger.error, is_dry_run=options.is_dry_run)
        # such a spider resumes from its database, which knows the seen URLs
        jobs = None if getattr(crawler.spidercls, "yields_pages", False) else job_dir(crawler.settings)
        self.seen: SeenSet = open_seen(options.seen, Path(jobs) if jobs else None)
        self.job = KilledJob(Path(jobs)) if jobs and self.seen.is_durable else None
        """The JOBDIR, if the crawl can be resumed."""
        self.codes = RuleCodes()
        self.report = DropReport(crawler, options.dropped, is_debug=options.is_debug)
        self.earlier = EarlierPages(self.database)
        self.explorer = Explorer(self.models, self.report, self.earlier, Reloads.of(crawler), options)
        if self.learnt is not None:
            self.explorer.covered.begin(())  # a model may have coverage rules at any time
        self.linked_on = LinkedOn()
        """Pages that hold each link."""
        self.n_fetched = 0
        """Number of answers."""
        self.name = marks.new_crawl()
        """Name that marks decisions of this crawl with its present models."""
        self._writer = RequestWriter()
        self._noted: dict[str, str] = {}

    def text_of(self, request: Request) -> str | None:
        """Write a request as text; None if that is impossible."""
        return self._writer.text_of(request, self.crawler.spider)

    def request_of(self, text: str) -> Request | None:
        """Read a request from its text; None if that is impossible."""
        return request_of(text, self.crawler.spider)

    def fetch_again(self, url: str, like: Request, came: Callable[[FetchedPage | None], None]) -> None:
        """Fetch a URL past the queue, with the headers and cookies of another request.

        *came* is called with its page, or with None if there is no good answer.
        """

        def answered(response: Response | None) -> None:
            if response is None or response.status >= 300 or says_nothing(response.body, content_type_of(response)):
                came(None)
            else:
                came(FetchedPage.of_response(response, url))

        request = marks.once_more(like, url)
        marks.decided(request, self.name)
        download(self.crawler, request, answered)

    def note_link_names(self, response: Response | None) -> None:
        """Note the names in the links of a page, if a referrer rule may ask for them now or later."""
        if response is None:
            return
        page = normal_form(response.url)
        model = self.models.of(host_of(page))
        if self.learnt is None and (model is None or not model.looks_back):
            return
        if (names := names_in(response.body, response.url)) is not None:
            self.linked_on.note_names(page, names)

    def go_on(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine; continue it in the background if it suspends."""
        if self.seen.is_local:
            at_once(coroutine)
        else:
            deferred_from_coro(coroutine)

    def restore(self, n_earlier: int | None = None) -> int:
        """Mark pages of the same database as seen; return their number.

        The first *n_earlier* (None: all) are from earlier crawls. This one fetched the others: another link to them
        needs no test.
        """
        n_pages = 0
        claims: list[Claim] = []
        write_pages(self.crawler)
        try:
            for asked, status in self.earlier.urls():
                url = normal_form(asked)
                is_of_this_crawl = n_earlier is not None and n_pages >= n_earlier
                if status >= 300:  # a redirect shows no page
                    if is_of_this_crawl:
                        self.explorer.fetched.add(url)
                    continue
                n_pages += 1
                if self.models.of(host_of(url)) is not None:
                    if is_of_this_crawl:
                        self.explorer.fetched.add(url)
                    form, rules = self.models.form_of(url)
                    claims.append(Claim(form, owner_tag(url), self.codes.code_of(rules)))
                    if len(claims) >= _RESTORED_AT_ONCE:
                        self.seen.restore(claims)
                        claims.clear()
                    self.report.restored(form, asked)  # as it was fetched: its page is stored under this URL
        except StoreError as error:
            self.report.warn(f"{error}; the filter does not know the pages of earlier crawls.")
        self.seen.restore(claims)
        return n_pages

    async def recall_facts(self) -> None:
        """Read what an earlier process has noted in the seen set: model digests and rule codes."""
        self.models.expect(await self.seen.noted(_MODELS_FACT))
        self.codes.read(await self.seen.noted(_CODES_FACT) or "")

    async def note_facts(self) -> None:
        """Note changed model digests and rule codes in the seen set."""
        for key, text in ((_MODELS_FACT, self.models.digests()), (_CODES_FACT, self.codes.to_text())):
            if self._noted.get(key) != text:
                try:
                    await self.seen.note(key, text)
                    self._noted[key] = text
                except SeenUnavailableError:
                    return  # try again in a second

    def _shelf(self) -> ModelShelf:
        """Return the models of the crawl at its start."""
        files = self.options.static_rules
        layer = read_rule_files([Path(file) for file in files]) if files else None
        place = self.learnt or self.options.model or ""
        try:
            return ModelShelf(place, may_be_empty=self.learnt is not None, layer=layer)
        except ModelError as error:
            raise ModelError(f"DEDUP_MODEL = {str(self.options.model or self.learnt)!r}: {error}") from error


class KilledJob:
    """A JOBDIR, created if missing, with a mark that tells whether the previous process was killed.

    Scrapy writes the position of its queue, and flushes its dupefilter, only at an orderly stop. After a kill the queue
    reads stale bytes: requests are lost silently, and at worst the crawl hangs on a damaged entry. So both files are
    renamed; the filter itself knows which requests were not answered. Make it before Scrapy opens the JOBDIR.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.killed: str | None = None
        """Name of the killed process; None if no process was killed, or it had no name."""
        try:
            told = (folder / _RUNNING).read_bytes()
        except FileNotFoundError:
            return
        except OSError:
            told = b""
        self.killed = told.decode("ascii") if _PROCESS.fullmatch(told) else None
        for name in _UNREADABLE:
            path, aside = folder / name, folder / f"{name}.killed"
            with contextlib.suppress(FileNotFoundError):
                path.lstat()
                shutil.rmtree(aside, ignore_errors=True)
                aside.unlink(missing_ok=True)
                with self._trouble_said(f"holds {name} of a killed process, which cannot be renamed"):
                    path.rename(aside)
                    logger.info("%s was left by a killed process and is renamed to %s.", path, aside.name)

    def begin(self, process: str) -> None:
        """Note the start of a process; its name may be empty."""
        with self._trouble_said("cannot be written: after a kill, Scrapy's queue in it will not be renamed"):
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / _RUNNING).write_text(process, encoding="ascii")

    def end(self) -> None:
        """Note the orderly end of the process."""
        with self._trouble_said("cannot be written: the next process will treat this one as killed"):
            (self._folder / _RUNNING).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _trouble_said(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            logger.warning("%s %s: %s", self._folder, what, error.strerror)
