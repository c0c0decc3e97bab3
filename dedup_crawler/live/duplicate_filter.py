"""State of a filtered crawl, shared by both middlewares, from its first request to its summary."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from scrapy.crawler import Crawler

from dedup_crawler.errors import DedupError, ModelError, SeenError, SeenUnavailableError
from dedup_crawler.live.answers import Answers
from dedup_crawler.live.collecting.collector import write_pages
from dedup_crawler.live.crawl import FilteredCrawl
from dedup_crawler.live.decisions import Decisions
from dedup_crawler.live.drop_report import MAX_OWNERS
from dedup_crawler.live.models.learner import Learner
from dedup_crawler.live.models.live_models import ModelShelf
from dedup_crawler.live.options import Options, warn_of_unknown_settings
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.requests.question import LateRequests
from dedup_crawler.live.scrapy_compat import create_looping_call, refuse_to_start, stop_at_start
from dedup_crawler.live.seen.protocol import at_once
from dedup_crawler.live.summary import INTERVAL_S, begin_status, progress_line, show_status, summary

logger = logging.getLogger("dedup_crawler.live")

_FLUSH_S = 1.0
_LOOK_AFTER_S = 10.0
_LEARN_S = 0.2
_GROWTH = 1.1  # missing links are looked for with so many times the answers of last time, and at the end


class DuplicateFilter(FilteredCrawl):
    """Decisions, answers, explorations and reports of one crawl, built from its ``DEDUP_*`` settings."""

    def __init__(self, crawler: Crawler, options: Options) -> None:
        super().__init__(crawler, options)
        self.has_downloader_side = False
        """True if the downloader middleware is enabled; otherwise nothing may be dropped."""
        self.answers = Answers(self, self._switch_off_failing)
        self.decisions = Decisions(self)
        self.late = LateRequests(self)
        if options.status is not None:
            begin_status(options.status)
        self._learner: Learner | None = None
        if self.learnt is not None and self.database is not None and options.learn_after is not None:
            self._learner = Learner(
                self.database,
                self.learnt,
                options.learn_after,
                lambda folder: self.go_on(self._take_models(folder)),
                self.report.warn,
            )
        self._n_earlier = 0  # pages of earlier crawls into the same database
        self._clocks: list[Any] = []
        self._n_said = 0  # pages fetched at the last progress line
        self._let_go: set[int] = set()  # codes of verified rules, whose drops a durable set no longer keeps
        self._is_open = False
        self._is_refused = False
        self._is_looking = False
        self._looked_at = -1  # number of answers at the last idle check that sent nothing
        self._sought_at = -1  # number of answers when missing links were last looked for
        self._may_be_given_more = False

    @classmethod
    def of(cls, crawler: Crawler) -> DuplicateFilter | None:
        """Return the filter of a crawl, built at the first call; None if it is off, has no model and learns none."""
        if crawler not in _FILTERS:
            _FILTERS[crawler] = None
            warn_of_unknown_settings(crawler)
            try:
                options = Options.from_settings(crawler.settings)
                if options.is_enabled and (options.model is not None or options.learn_after is not None):
                    _FILTERS[crawler] = cls(crawler, options)
                elif options.is_enabled:
                    logger.info("DEDUP_MODEL is not set: no duplicates are filtered.")
            except DedupError as error:
                refuse_to_start(crawler, "dedup_setting_unusable", str(error))
        return _FILTERS[crawler]

    async def open(self) -> None:
        """Restore the state of an earlier process and of earlier crawls into the same database."""
        self.report.count("seen/restored", 0)
        try:
            killed = self.job.killed if self.job is not None else None
            left_over = await self.seen.open(queue_survives=bool(self.crawler.settings.get("JOBDIR")), killed=killed)
            await self.recall_facts()
        except (SeenError, SeenUnavailableError) as error:
            stop_at_start(self.crawler, "dedup_seen_unusable", str(error))
            return
        host = self.models.mismatch()
        if host is not None and self._learner is not None:
            # the process ended between learning and noting the model; the database has the pages
            await self._forget_seen()
            self.models.expect(None)
        elif host is not None:
            self._is_refused = True
            stop_at_start(
                self.crawler,
                "dedup_seen_of_another_model",
                f"the seen forms of {host} were made by another model than {self.options.model}: "
                "delete the seen set (with JOBDIR: the file dedup.seen in it), or set DEDUP_SEEN to another one.",
            )
            return
        self.codes.switch_off(self.models.evidence.switched_off)
        self.answers.is_resumed = self.seen.is_durable and self.seen.is_local and bool(left_over or len(self.seen))
        self.answers.left_over += left_over
        await self.answers.recall_rows()
        self._n_earlier = self.restore()
        self.explorer.covered.is_resumed = len(self.seen) > 0
        self.explorer.covered.knows_owners = len(self.seen) <= self._n_earlier < MAX_OWNERS
        self.report.count("seen/restored", len(self.seen))
        self._is_open = True
        if self.job is not None:
            self.job.begin(self.seen.process)
        clocks = [(self._flush, _FLUSH_S), (self._look_after, _LOOK_AFTER_S)]
        if (seconds := self.crawler.settings.getfloat("LOGSTATS_INTERVAL")) > 0:  # as often as Scrapy logs its own
            clocks.append((self._say_progress, seconds))
        if self._learner is not None:
            clocks.append((self._learn, _LEARN_S))
        if self.options.status is not None:
            clocks.append((partial(show_status, self), INTERVAL_S))
        for each, seconds in clocks:
            clock = create_looping_call(each)
            clock.start(seconds, now=False)
            self._clocks.append(clock)

    async def close(self, reason: str) -> None:
        """Write the evidence, and log the summary of the crawl."""
        if not self._is_open:
            self.report.close()
            if self._is_refused:
                await self.seen.close(is_clean=False)  # its awaited requests are still to be sent, with the right model
            return
        for clock in self._clocks:
            clock.stop()
        self.earlier.close()
        if self._learner is not None:
            self._learner.close()
        self.explorer.run_dry(is_idle=reason == "finished")
        self.models.write_evidence()
        self.report.flush()
        for level, line in summary(self):
            self.report.say(line, level)
        self.report.close()
        show_status(self, reason)
        await self.note_facts()
        await self.models.share_tests(self.seen)
        if reason == "finished":
            self.seen.forget_dropped()  # all verification is done
            await self.answers.forget_rows()
        await self.seen.close(is_clean=not self.answers.left_over)
        if self.job is not None:
            self.job.end()

    def is_learning(self) -> bool:
        """Return True if late requests, which are sent now, wait for a model that is being learnt, or due."""
        if self._learner is None:
            return False
        self._learner.hasten()
        return self._learner.is_behind(self._n_pages())

    def is_busy_when_idle(self) -> bool:
        """Send remaining requests when the crawl has run dry; return True if the spider must wait for them."""
        if self.seen.is_local:
            return at_once(self._ran_dry())
        if self._is_looking:
            return True
        if self._looked_at == self.n_fetched and not self._may_be_given_more:
            return False
        self._is_looking = True
        self.go_on(self._ran_dry())
        return True

    async def _ran_dry(self) -> bool:
        self.report.flush()
        self._judge_waiting(is_idle=True)
        await self._share_tests()
        try:
            has_sent = await self.answers.look_after(is_idle=True)
            has_sent = self._send_missing(_GROWTH) or has_sent
            has_sent = has_sent or self.answers.send(self.explorer.to_verify(), marks.TESTED) > 0
            has_sent = has_sent or await self.answers.release(self.explorer.to_probe())
            has_sent = has_sent or self._send_missing()
            self._may_be_given_more = not has_sent and await self.seen.may_be_given_more()
        except SeenUnavailableError:
            has_sent = self._may_be_given_more = False
        finally:
            self._is_looking = False
        if not has_sent:
            self._looked_at = self.n_fetched
        return has_sent

    def _send_missing(self, growth: float = 1.0) -> bool:
        """Send the drops whose links are missing on the page that they were taken for; return True if there are any.

        It asks about all drops, so it is only done if there are more answers than last time, by the factor *growth*.
        """
        if self.n_fetched <= self._sought_at * growth:
            return False
        self._sought_at = self.n_fetched
        missing = self.explorer.take_missing(self.decisions.questions.is_missing_by_now)
        return self.answers.send(missing, marks.RECOVERED) > 0

    async def _take_models(self, folder: Path) -> None:
        """Switch to newly learnt models: from now on their forms count, also for seen pages."""
        try:
            self.models.replace(ModelShelf(folder, layer=self.models.shelf.layer))
            self.decisions.forget_forms()
            n_queued = await self._forget_seen()
        except (ModelError, SeenUnavailableError) as error:
            self.report.warn(f"The models that were learnt cannot be used: {error}")
            return
        self.name = marks.new_crawl()  # queued requests are decided again when their turn comes
        self._sought_at = -1
        self.report.owners.clear()
        self.answers.left_over += self.explorer.begin_anew()
        n_pages = self.restore(self._n_earlier)
        self.report.count("models/learnt")
        queued = f" and {n_queued} queued requests" if n_queued else ""
        self.report.say(
            f"Learnt from the crawl so far: its {n_pages} pages{queued} are {len(self.seen)} different ones by the new "
            "models."
        )

    async def _forget_seen(self) -> int:
        """Forget all forms, but no requests: queued ones are noted again, dropped ones are sent at the end.

        It returns the number of those that are noted again: a seen set in memory has none.
        """
        cleared = await self.seen.clear()
        await self.decisions.notes.keep_again(cleared.awaited)
        self.answers.left_over += cleared.waiting
        for text in cleared.waiting if self.seen.is_durable else ():
            self.seen.keep_dropped(0, text)
        return len(cleared.awaited)

    def _switch_off(self, rule: str) -> None:
        """Switch off a rule that merged different pages, and send its drops."""
        self.models.switch_off(rule)
        self.codes.switch_off([rule])
        self.decisions.forget_forms()
        self.restore(self._n_earlier)  # pages have other forms now, which other rules may lead to
        self.models.write_evidence()  # so that the rule stays off after a kill
        dropped = self.explorer.switch_off(rule)
        counts = self.models.evidence.counts()[rule]
        n_tests = counts.n_agreed + counts.n_disagreed  # none of a value whose only test counts for its candidate
        reason = f"{counts.n_disagreed} of {n_tests} explored" if n_tests else "as a test has shown"
        self.report.switched_off(rule, self.models.sentence(rule), reason, len(dropped))
        self.answers.send(dropped, marks.RECOVERED)
        self.go_on(self._share_tests())

    async def _share_tests(self) -> None:
        for rule in await self.models.share_tests(self.seen):
            self._switch_off(rule)

    def _flush(self) -> None:
        if self.seen.is_durable:
            settled = self.codes.codes_of(self.models.evidence.is_settled)
            if settled := settled - self._let_go:
                self._let_go |= settled
                self.seen.forget_dropped(settled)
        self.seen.flush()
        self.report.flush()
        self.go_on(self.note_facts())

    def _learn(self) -> None:
        if self._learner is not None:
            n_pages = self._n_pages()
            if self._learner.is_due(n_pages):
                write_pages(self.crawler)
            self._learner.tick(n_pages)

    def _n_pages(self) -> int:
        """Return the number of pages that a model can be learnt from."""
        return self._n_earlier + int(self.crawler.stats.get_value("response_received_count", 0))

    def _judge_waiting(self, *, is_idle: bool) -> None:
        self.explorer.run_dry(is_idle=is_idle)
        self._switch_off_failing()

    def _switch_off_failing(self) -> None:
        for rule in self.explorer.take_failing():
            self._switch_off(rule)

    def _look_after(self) -> None:
        self._judge_waiting(is_idle=False)
        if not self.seen.is_local and not self._is_looking:
            self.go_on(self.answers.look_after(is_idle=False))
            self.go_on(self._share_tests())

    def _say_progress(self) -> None:
        if self.n_fetched != self._n_said:
            self._n_said = self.n_fetched
            self.report.say(progress_line(self))


_FILTERS: WeakKeyDictionary[Crawler, DuplicateFilter | None] = WeakKeyDictionary()
