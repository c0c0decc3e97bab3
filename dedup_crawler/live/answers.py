"""Handling of responses and failures: confirm the forms that a request answers for, or release them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from dedup_crawler.errors import SeenUnavailableError
from dedup_crawler.live.at_once import at_once
from dedup_crawler.live.collecting.response_page import content_type_of, redirect_target
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.requests.request_text import request_of
from dedup_crawler.live.scrapy_compat import scheduler_of
from dedup_crawler.live.walls.alike_answers import forms_left
from dedup_crawler.live.walls.walls import Sinks, says_nothing

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from dedup_crawler.live.exploration.explorer import Explorer
    from dedup_crawler.live.models.live_models import LiveModels
    from dedup_crawler.live.seen.protocol import SeenSet
    from dedup_crawler.live.telling.drop_report import DropReport

_MAX_WITHDRAWN = 20_000
_MAX_ORPHANS = 20_000
_N_OVERTAKERS = 100
_NOTHING_THERE = 404, 410
_ROWS_FACT = "alike answers"
_SENT_AT_ONCE = 1_000  # requests left over by an earlier process are sent in portions


class Answers:
    """Confirms and releases forms; sends a substitute when an owner failed.

    *on_failing* is called with each rule that must be switched off.
    """

    def __init__(
        self,
        crawler: Crawler,
        seen: SeenSet[Any],
        explorer: Explorer,
        report: DropReport,
        models: LiveModels,
        on_failing: Callable[[str], None],
    ) -> None:
        self.has_spider_side = False
        """True if the spider middleware reports processed pages; otherwise a page is processed when it is answered."""
        self.n_fetched = 0
        self._crawler = crawler
        self._seen = seen
        self._explorer = explorer
        self._report = report
        self._on_failing = on_failing
        self._models = models
        self._sinks = Sinks()
        self._left_over: list[str | Request] = []
        self.is_resumed = False
        """True if the crawl resumes the work of an earlier process. Its dupefilter may know requests that were never
        answered."""
        self._orphans: dict[str, list[bytes]] = {}
        self._overtakers: deque[str] = deque(maxlen=_N_OVERTAKERS)  # URLs that were answered but answer for no form
        self._withdrawn: set[bytes] = set()  # forms answered without a page of their own; processed() must skip them

    def received(self, request: Request, response: Response) -> Coroutine[Any, Any, None] | None:
        """Confirm the forms that *request* answers for, or release them; return a coroutine to await, if any.

        A redirect gets this far only if the spider follows redirects itself. It brings no page: the request for its
        target answers for both.
        """
        self._adopt(request)
        forms = marks.forms_of(request)
        explores = request.meta.get(marks.EXPLORES)
        if not forms and explores is None:
            if not self._seen.is_local and response.status < 300:
                self._overtakers.append(request.url)
            return None
        self.n_fetched += 1
        is_formed = marks.UNFORMED not in request.meta
        if response.status in _NOTHING_THERE and explores is not None and explores[1] != marks.OWNER:
            del request.meta[marks.EXPLORES]  # dropping it loses nothing, so it does not contradict its rule
        is_page = response.status < 300 and is_formed
        if response.status >= 400 or (is_page and says_nothing(response.body, content_type_of(response))):
            return self.failed(request)
        if response.status >= 300 and is_formed:
            marks.answers_for(request, ())  # the request for the target will answer
            if explores is not None:
                self._led_on(explores, response)
                self._switch_off_failing()
            return None
        if explores is not None:
            self._explorer.judge(explores, request, response)
        refused = self._explorer.saw(forms, request, response) if is_formed else set()
        if self._explorer.alike.take_news() and self._seen.is_local:  # before the page is noted as processed
            at_once(self._seen.note(_ROWS_FACT, self._explorer.alike.left()))
        if is_formed and len(forms) > 1:
            refused |= self._sinks.note(forms[-1], forms[:-1])
        for form in forms:
            if form not in refused:
                self._withdrawn.discard(form)
                self._seen.answered(form)
        if refused:
            marks.answers_for(request, (form for form in forms if form not in refused))
        if not self.has_spider_side:
            self._seen.processed(marks.forms_of(request))
        self._switch_off_failing()
        for form in self._explorer.walls.take_unwalled(is_idle=False):
            self._send_alternative(form)
        return self._withdraw(refused) if refused else None

    def _led_on(self, explores: Sequence[Any], response: Response) -> None:
        target = redirect_target(response)
        if target is None:
            self._explorer.not_answered(explores)
        elif explores[1] in marks.OF_COVERED:
            form, _ = self._models.form_of(target)
            self._explorer.covered.led_behind(explores, form, is_covered=self._models.is_covered(target))
        else:
            self._explorer.led_on(explores, target, *self._models.form_of(target))

    def _switch_off_failing(self) -> None:
        for rule in self._explorer.take_failing():
            self._on_failing(rule)

    def processed(self, request: Request) -> None:
        """Note that the spider has processed the response to *request*, including its links."""
        if forms := [form for form in marks.forms_of(request) if form not in self._withdrawn]:
            self._seen.processed(forms)

    async def failed(self, request: Request) -> None:
        """Release the forms of *request*: it failed, or got no usable answer."""
        self._adopt(request)
        if (explores := request.meta.pop(marks.EXPLORES, None)) is not None:
            self._explorer.not_answered(explores)
        forms = marks.forms_of(request)
        if forms:
            marks.answers_for(request, ())
            await self.release(forms)

    async def swallowed(self, request: Request) -> None:
        """Note that the dupefilter filtered *request* as already seen.

        If it is the target of a redirect, the redirect brings no page of its own. If it is a link that the filter let
        pass, its form has no owner after all. The dupefilter of a resumed crawl also knows requests that were never
        answered: these are sent when the crawl runs dry.
        """
        is_redirected = marks.is_redirected(request)
        if not is_redirected and (not marks.is_decided(request) or marks.UNFORMED in request.meta):
            return
        if marks.EXPLORES in request.meta:
            form, _ = self._models.form_of(request.url)
            self._explorer.swallowed(request, form, is_covered=self._models.is_covered(request.url))
        self._switch_off_failing()
        forms = marks.forms_of(request)
        if not is_redirected and forms and not self._seen.is_local and len(self._orphans) < _MAX_ORPHANS:
            self._overtaken(request, forms)
        elif is_redirected or not self.is_resumed:
            await self.failed(request)
        elif forms:
            self._left_over.append(request)

    def _overtaken(self, request: Request, forms: list[bytes]) -> None:
        """Transfer *forms* to another request for the same URL, which may have been answered already.

        While the filter waits for a shared seen set, a second link may overtake the first link, which owns the form.
        The dupefilter then filters the first link as the repeat.
        """
        if request.url in self._overtakers:
            for form in forms:
                self._seen.answered(form)
            self._seen.processed(forms)
        else:
            self._orphans[request.url] = forms

    def _adopt(self, request: Request) -> None:
        """Let *request* answer for the forms of the request for the same URL that it has overtaken."""
        if self._orphans and not marks.forms_of(request) and (forms := self._orphans.pop(request.url, None)):
            marks.answers_for(request, forms)

    async def release(self, forms: Iterable[bytes]) -> None:
        """Free *forms*, and send a substitute for each owner."""
        for form in forms:
            try:
                substitute = await self._seen.release(form)
            except SeenUnavailableError:
                substitute = None  # when this crawler ends, the set frees its unconfirmed forms
            if substitute is not None:
                self._replace_owner(form, substitute)
            elif not self._explorer.walls.is_walled(form):
                self._send_alternative(form)

    def _replace_owner(self, form: bytes, substitute: Request | str) -> None:
        """Send the substitute of a form; behind a wall, keep it with the other dropped requests."""
        request = self._request_of(substitute)
        if request is None:
            return
        self._explorer.alternatives.forget(form, request.url)
        if self._explorer.walls.is_walled(form):
            self._explorer.alternatives.add(form, request.url, request)
        else:
            self._send_substitute(request)

    async def _withdraw(self, forms: set[bytes]) -> None:
        """Free forms that were answered, but not with their own page."""
        if len(self._withdrawn) > _MAX_WITHDRAWN:
            self._withdrawn.clear()
        self._withdrawn |= forms
        await self.release(forms)

    def _send_alternative(self, form: bytes) -> bool:
        request = self._explorer.alternatives.take(form)
        return request is not None and self._send_substitute(request)

    def _send_substitute(self, each: Request | str) -> bool:
        self._report.count("request/released")
        return self._send(each, marks.SUBSTITUTE)

    async def look_after(self, *, is_idle: bool) -> bool:
        """Send remaining requests: of an earlier process, for filtered owners, of other crawlers that died.

        Return True if anything was sent.
        """
        left, self._left_over = self._left_over[:_SENT_AT_ONCE], self._left_over[_SENT_AT_ONCE:]
        n_sent = sum(self._send(text, marks.RESUMED) for text in left) if is_idle else 0
        if not is_idle:
            self._left_over = [*left, *self._left_over]
        if n_sent:
            return True
        n_sent = sum(map(self._send_alternative, self._explorer.walls.take_unwalled(is_idle=is_idle)))
        try:
            abandoned = await self._seen.abandoned(is_idle=is_idle)
        except SeenUnavailableError:
            return n_sent > 0
        n_sent += sum(map(self._send_substitute, abandoned))
        return n_sent > 0

    @property
    def has_left_over(self) -> bool:
        """Return True if requests of an earlier process are still unsent; they are in no queue."""
        return bool(self._left_over)

    def leave_over(self, requests: Iterable[Request | str]) -> None:
        """Keep requests that an earlier process or model left unanswered.

        They are sent when the crawl runs dry; by then it has fetched most of them by itself.
        """
        self._left_over += requests

    async def recall_rows(self) -> None:
        """Fetch again, when the crawl runs dry, the forms that a wall may have answered in the previous process."""
        requests = {}
        rows = await self._seen.noted(_ROWS_FACT) if self._seen.is_local else None
        for form, known in forms_left(rows or "").items():
            if text := known or await self._seen.owner(form):
                await self._seen.release(form)
                requests[form] = text
        self._explorer.alike.go_on(requests)
        self.leave_over(requests.values())

    async def forget_rows(self) -> None:
        """Forget the forms kept for the next process: the crawl is finished."""
        if self._seen.is_local:
            await self._seen.note(_ROWS_FACT, "")

    async def probe(self, forms: Iterable[bytes]) -> bool:
        """Free *forms* and fetch each through another of its URLs; return True if there were any."""
        forms = list(forms)
        await self.release(forms)
        return bool(forms)

    def recover(self, requests: Iterable[Request | str]) -> None:
        """Send the drops of a rule that was wrong."""
        for request in requests:
            self._send(request, marks.RECOVERED)

    def verify(self, requests: Iterable[Request | str]) -> bool:
        """Send the drops of unverified rules; return True if there were any."""
        return sum(self._send(request, marks.TESTED) for request in requests) > 0

    def _send(self, each: Request | str, why: str) -> bool:
        """Send a request that was dropped or never answered."""
        request = self._request_of(each)
        if request is None:
            return False
        # the dupefilter may not know it: a link is dropped before it is queued
        if (dupefilter := getattr(scheduler_of(self._crawler), "df", None)) is not None:
            dupefilter.request_seen(request)
        self._crawler.engine.crawl(marks.send_again(request, why))
        return True

    def _request_of(self, each: Request | str) -> Request | None:
        request = request_of(each, self._crawler.spider) if isinstance(each, str) else each
        if request is None:
            self._report.warn_once("unreadable", f"A request of an earlier crawl cannot be sent again: {each!r:.300}")
        return request
