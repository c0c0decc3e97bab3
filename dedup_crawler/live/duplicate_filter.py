"""State of a filtered crawl, shared by both middlewares, from its first request to its summary."""

from __future__ import annotations

from collections.abc import Coroutine
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro

from dedup_crawler.errors import DedupError, ModelError, SeenError, SeenUnavailableError, StoreError
from dedup_crawler.live.answers import Answers
from dedup_crawler.live.collecting.collector import write_pages
from dedup_crawler.live.collecting.crawl_database import earlier_urls
from dedup_crawler.live.crawl import FilteredCrawl, open_crawl
from dedup_crawler.live.decisions import Decisions
from dedup_crawler.live.learning.learner import Learner
from dedup_crawler.live.models.model_shelf import ModelShelf
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.scrapy_compat import create_looping_call, refuse_to_start, stop_at_start
from dedup_crawler.live.seen.protocol import at_once, owner_tag
from dedup_crawler.live.telling.drop_report import MAX_OWNERS
from dedup_crawler.live.telling.status_page import INTERVAL_S, StatusPage
from dedup_crawler.live.telling.summary import progress_line, summary
from dedup_crawler.urls.normal import host_of, normal_form

_FLUSH_S = 1.0
_LOOK_AFTER_S = 10.0
_CODES_FACT = "rule codes"
_MODELS_FACT = "models"


class DuplicateFilter:
    """Decisions, answers, explorations and reports of one crawl, built from its ``DEDUP_*`` settings."""

    def __init__(self, crawl: FilteredCrawl) -> None:
        self.seen = crawl.seen
        self.has_downloader_side = False
        """True if the downloader middleware is enabled; otherwise nothing may be dropped."""
        self.answers = Answers(crawl, self._switch_off_failing)
        self._crawl = crawl
        self._crawler = crawl.crawler
        self._models = crawl.models
        self._codes = crawl.codes
        self._report = crawl.report
        self._explorer = crawl.explorer
        self._decisions = Decisions(crawl)
        self.is_decided = self._decisions.questions.is_decided
        self.decide = self._decisions.decide
        self._status = StatusPage(crawl.options.status) if crawl.options.status else None
        self._learner: Learner | None = None
        if crawl.learnt is not None and crawl.database is not None and crawl.options.learn_after is not None:
            self._learner = Learner(
                crawl.database,
                crawl.learnt,
                crawl.options.learn_after,
                lambda folder: self.go_on(self._take_models(folder)),
                self._report.warn,
            )
        self._n_earlier = 0  # pages of earlier crawls into the same database
        self._clocks: list[Any] = []
        self._n_said = 0  # pages fetched at the last progress line
        self._noted: dict[str, str] = {}
        self._let_go: set[int] = set()  # codes of verified rules, whose drops a durable set no longer keeps
        self._is_open = False
        self._is_refused = False
        self._is_looking = False
        self._looked_at = -1  # number of answers at the last idle check that sent nothing
        self._may_be_given_more = False

    @classmethod
    def of(cls, crawler: Crawler) -> DuplicateFilter | None:
        """Return the filter of a crawl, built at the first call; None if it has no model and learns none."""
        if crawler not in _FILTERS:
            _FILTERS[crawler] = None
            try:
                crawl = open_crawl(crawler)
                _FILTERS[crawler] = cls(crawl) if crawl is not None else None
            except DedupError as error:
                refuse_to_start(crawler, "dedup_setting_unusable", str(error))
        return _FILTERS[crawler]

    async def open(self) -> None:
        """Restore the state of an earlier process and of earlier crawls into the same database."""
        self._report.count("seen/restored", 0)
        try:
            killed = self._crawl.job.killed if self._crawl.job is not None else None
            left_over = await self.seen.open(queue_survives=bool(self._crawler.settings.get("JOBDIR")), killed=killed)
            self._models.expect(await self.seen.noted(_MODELS_FACT))
            self._codes.read(await self.seen.noted(_CODES_FACT) or "")
        except (SeenError, SeenUnavailableError) as error:
            stop_at_start(self._crawler, "dedup_seen_unusable", str(error))
            return
        host = self._models.mismatch()
        if host is not None and self._learner is not None:
            # the process ended between learning and noting the model; the database has the pages
            await self._forget_seen()
            self._models.expect(None)
        elif host is not None:
            self._is_refused = True
            stop_at_start(
                self._crawler,
                "dedup_seen_of_another_model",
                f"the seen forms of {host} were made by another model than {self._crawl.options.model}: "
                "delete the seen set (with JOBDIR: the file dedup.seen in it), or set DEDUP_SEEN to another one.",
            )
            return
        self._codes.switch_off(self._models.evidence.switched_off)
        is_resumed = self.seen.is_durable and self.seen.is_local and bool(left_over or len(self.seen))
        self.answers.left_over += left_over
        await self.answers.recall_rows()
        self.answers.is_resumed = is_resumed
        self._n_earlier = self._restore()
        self._explorer.covered.is_resumed = len(self.seen) > 0
        self._explorer.covered.knows_owners = len(self.seen) <= self._n_earlier < MAX_OWNERS
        self._report.count("seen/restored", len(self.seen))
        self._is_open = True
        if self._crawl.job is not None:
            self._crawl.job.begin(self.seen.process)
        clocks = [(self._flush, _FLUSH_S), (self._look_after, _LOOK_AFTER_S)]
        if (seconds := self._crawler.settings.getfloat("LOGSTATS_INTERVAL")) > 0:  # as often as Scrapy logs its own
            clocks.append((self._say_progress, seconds))
        if self._status is not None:
            clocks.append((self._show_status, INTERVAL_S))
        for each, seconds in clocks:
            clock = create_looping_call(each)
            clock.start(seconds, now=False)
            self._clocks.append(clock)

    async def close(self, spider: Spider, reason: str) -> None:
        """Write the evidence, and log the summary of the crawl."""
        if not self._is_open:
            self._report.close()
            if self._is_refused:
                await self.seen.close(is_clean=False)  # its awaited requests are still to be sent, with the right model
            return
        for clock in self._clocks:
            clock.stop()
        self._crawl.earlier.close()
        if self._learner is not None:
            self._learner.close()
        self._explorer.run_dry(is_idle=reason == "finished")
        for rule in self._explorer.take_failing():
            self._models.evidence.switch_off(rule)
        self._models.write_evidence()
        self._report.flush()
        for level, line in summary(self._crawl):
            self._report.say(line, level)
        self._report.close()
        self._show_status(ended=reason)
        await self._note_facts()
        await self._models.share_tests(self.seen)
        if reason == "finished":
            self.seen.forget_dropped()  # all verification is done
            await self.answers.forget_rows()
        await self.seen.close(is_clean=not self.answers.left_over)
        if self._crawl.job is not None:
            self._crawl.job.end()

    def is_busy_when_idle(self) -> bool:
        """Send remaining requests when the crawl has run dry; return True if the spider must wait for them."""
        if self.seen.is_local:
            return at_once(self._ran_dry())
        if self._is_looking:
            return True
        if self._looked_at == self._crawl.n_fetched and not self._may_be_given_more:
            return False
        self._is_looking = True
        self.go_on(self._ran_dry())
        return True

    def go_on(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine; continue it in the background if it suspends."""
        if self.seen.is_local:
            at_once(coroutine)
        else:
            deferred_from_coro(coroutine)

    async def _ran_dry(self) -> bool:
        self._report.flush()
        self._judge_waiting(is_idle=True)
        await self._share_tests()
        try:
            has_sent = await self.answers.look_after(is_idle=True)
            has_sent = has_sent or self.answers.send(self._explorer.to_verify(), marks.TESTED) > 0
            has_sent = has_sent or await self.answers.release(self._explorer.to_probe())
            self._may_be_given_more = not has_sent and await self.seen.may_be_given_more()
        except SeenUnavailableError:
            has_sent = self._may_be_given_more = False
        finally:
            self._is_looking = False
        if not has_sent:
            self._looked_at = self._crawl.n_fetched
        return has_sent

    def _restore(self) -> int:
        """Mark pages of the same database as seen; return their number."""
        if self._crawl.database is None:
            return 0
        n_pages = 0
        write_pages(self._crawler)
        try:
            for url in map(normal_form, earlier_urls(self._crawl.database)):
                n_pages += 1
                if self._models.of(host_of(url)) is not None:
                    form, rules = self._models.form_of(url)
                    self.seen.restore(form, owner_tag(url), self._codes.code_of(rules))
                    self._report.restored(form, url)
        except StoreError as error:
            self._report.warn(f"{error}; the filter does not know the pages of earlier crawls.")
        return n_pages

    async def _take_models(self, folder: Path) -> None:
        """Switch to newly learnt models: from now on their forms count, also for seen pages."""
        try:
            self._models.replace(ModelShelf(folder, layer=self._models.shelf.layer))
            self._decisions.forget_forms()
            await self._forget_seen()
        except (ModelError, SeenUnavailableError) as error:
            self._report.warn(f"The models that were learnt cannot be used: {error}")
            return
        self._decisions.begin_anew()
        self._report.owners.clear()
        self.answers.left_over += self._explorer.begin_anew()
        n_pages = self._restore()
        self._report.count("models/learnt")
        self._report.say(
            f"Learnt from the crawl so far: its {n_pages} pages are {len(self.seen)} different ones by the new models."
        )

    async def _forget_seen(self) -> None:
        """Forget all forms, but no requests: queued ones are noted again, dropped ones are sent at the end."""
        cleared = await self.seen.clear()
        await self._decisions.notes.keep_again(cleared.awaited)
        self.answers.left_over += cleared.waiting
        for text in cleared.waiting if self.seen.is_durable else ():
            self.seen.keep_dropped(0, text)

    def _switch_off(self, rule: str) -> None:
        """Switch off a rule that merged different pages, and send its drops."""
        self._models.switch_off(rule)
        self._codes.switch_off([rule])
        self._decisions.forget_forms()
        self._models.write_evidence()  # so that the rule stays off after a kill
        dropped = self._explorer.switch_off(rule)
        counts = self._models.evidence.counts()[rule]
        self._report.switched_off(
            rule,
            self._models.sentence(rule),
            f"{counts.n_disagreed} of {counts.n_agreed + counts.n_disagreed} explored",
            len(dropped),
        )
        self.answers.send(dropped, marks.RECOVERED)
        self.go_on(self._share_tests())

    async def _share_tests(self) -> None:
        for rule in await self._models.share_tests(self.seen):
            self._switch_off(rule)

    def _flush(self) -> None:
        if self.seen.is_durable:
            settled = self._codes.codes_of(self._models.evidence.is_settled)
            if settled := settled - self._let_go:
                self._let_go |= settled
                self.seen.forget_dropped(settled)
        self.seen.flush()
        self._report.flush()
        self.go_on(self._note_facts())
        if self._learner is not None:
            n_received = self._crawler.stats.get_value("response_received_count", 0)
            self._learner.tick(self._n_earlier + n_received)

    def _judge_waiting(self, *, is_idle: bool) -> None:
        self._explorer.run_dry(is_idle=is_idle)
        self._switch_off_failing()

    def _switch_off_failing(self) -> None:
        for rule in self._explorer.take_failing():
            self._switch_off(rule)

    def _look_after(self) -> None:
        self._judge_waiting(is_idle=False)
        if not self.seen.is_local and not self._is_looking:
            self.go_on(self.answers.look_after(is_idle=False))
            self.go_on(self._share_tests())

    def _say_progress(self) -> None:
        if self._crawl.n_fetched != self._n_said:
            self._n_said = self._crawl.n_fetched
            self._report.say(progress_line(self._crawl))

    def _show_status(self, ended: str | None = None) -> None:
        if self._status is not None:
            self._status.show(self._crawl, ended=ended)

    async def _note_facts(self) -> None:
        """Note changed model digests and rule codes in the seen set."""
        for key, text in ((_MODELS_FACT, self._models.digests()), (_CODES_FACT, self._codes.to_text())):
            if self._noted.get(key) != text:
                try:
                    await self.seen.note(key, text)
                    self._noted[key] = text
                except SeenUnavailableError:
                    return  # try again in a second


_FILTERS: WeakKeyDictionary[Crawler, DuplicateFilter | None] = WeakKeyDictionary()
