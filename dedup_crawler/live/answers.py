"""Handling of responses and failures: confirm the forms that a request answers for, or release them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import Any

from scrapy import Request
from scrapy.http import Response

from dedup_crawler.errors import SeenUnavailableError
from dedup_crawler.live.collecting.response_page import FetchedPage, content_type_of, redirect_target, referrer_of
from dedup_crawler.live.crawl import FilteredCrawl
from dedup_crawler.live.exploration.shown_text import says_nothing
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.scrapy_compat import scheduler_of
from dedup_crawler.live.seen.protocol import Claim, at_once, owner_tag
from dedup_crawler.live.walls.alike_answers import forms_left
from dedup_crawler.live.walls.walls import Sinks
from dedup_crawler.urls.normal import normal_form

_MAX_WITHDRAWN = 20_000
_MAX_ORPHANS = 20_000
_N_OVERTAKERS = 100
_NOTHING_THERE = 404, 410
_ROWS_FACT = "alike answers"
_SENT_AT_ONCE = 1_000  # requests left over by an earlier process are sent in portions


class Answers:
    """Confirms and releases forms; sends a substitute when an owner failed.

    *switch_off_failing* switches off the rules that the latest tests have refuted.
    """

    def __init__(self, crawl: FilteredCrawl, switch_off_failing: Callable[[], None]) -> None:
        self.has_spider_side = False
        """True if the spider middleware reports processed pages; otherwise a page is processed when it is answered."""
        self._crawl = crawl
        self._seen = crawl.seen
        self._explorer = crawl.explorer
        self._switch_off_failing = switch_off_failing
        self._sinks = Sinks()
        self.left_over: list[str | Request] = []
        """Requests that an earlier process or model left unanswered, and that are in no queue. They are sent when the
        crawl runs dry; by then it has fetched most of them by itself."""
        self.is_resumed = False
        """True if the crawl resumes the work of an earlier process. Its dupefilter may know requests that were never
        answered."""
        self._orphans: dict[str, Collection[bytes]] = {}
        self._overtakers: deque[str] = deque(maxlen=_N_OVERTAKERS)  # URLs that were answered but answer for no form
        self._withdrawn: set[bytes] = set()  # forms answered without a page of their own; processed() must skip them

    def received(self, request: Request, response: Response) -> Coroutine[Any, Any, None] | None:
        """Confirm the forms that *request* answers for, or release them; return a coroutine to await, if any.

        A redirect gets this far only if the spider follows redirects itself. It brings no page: the request for its
        target answers for both.
        """
        self._crawl.n_fetched += 1
        self._adopt(request)
        forms = marks.forms_of(request)
        test = marks.test_of(request)
        self._note_redirects(request)
        if not forms and test is None:
            if response.status < 300:
                self._explorer.passed(request, response)
                if not self._seen.is_local:
                    self._overtakers.append(request.url)
            return None
        is_formed = not marks.is_unformed(request)
        if response.status in _NOTHING_THERE and test is not None:
            marks.take_test(request)  # dropping it loses nothing, so it does not contradict its rule
        is_page = response.status < 300 and is_formed
        if response.status >= 400 or (is_page and says_nothing(response.body, content_type_of(response))):
            return self.failed(request)
        if response.status >= 300 and is_formed:
            marks.answers_for(request, ())  # the request for the target will answer
            if test is not None:
                self._explorer.led_on(test, redirect_target(response))
                self._switch_off_failing()
            return None
        if test is not None:
            self._explorer.judge(test, request, response)
        refused = self._explorer.saw(forms, request, response) if is_formed else set()
        for url in self._explorer.walls.take_urls_to_check():
            self._crawl.fetch_again(url, request, self._wall_checked)
        if self._explorer.alike.take_news() and self._seen.is_local:  # before the page is noted as processed
            at_once(self._seen.note(_ROWS_FACT, self._explorer.alike.left()))
        if is_formed and len(forms) > 1:
            refused |= self._sinks.note(forms[-1], forms[:-1])
        confirmed = [form for form in forms if form not in refused]
        self._confirm(confirmed)
        if refused:
            marks.answers_for(request, confirmed)
        elif is_page:
            self._note_fetched(request)
        if not self.has_spider_side:
            self._seen.processed(marks.forms_of(request))
        self._switch_off_failing()
        self._send_alternatives(self._explorer.walls.take_unwalled(is_idle=False))
        return self._withdraw(refused) if refused else None

    def _confirm(self, forms: Iterable[bytes]) -> None:
        for form in forms:
            self._withdrawn.discard(form)
            self._seen.answered(form)

    def _wall_checked(self, page: FetchedPage | None) -> None:
        """Take in a page that was fetched again to see whether a wall stands."""
        if page is not None and (shown := self._explorer.walls.checked(page)):
            self._crawl.go_on(self._settle(shown))

    async def _settle(self, shown: Collection[tuple[bytes, str]]) -> None:
        """Confirm forms whose page was taken for a wall."""
        claims = []
        for form, url in shown:
            own_form, rules = self._crawl.models.form_of(url)
            if own_form == form:  # a link rule may have led to another one: that is fetched again
                claims.append(Claim(form, owner_tag(normal_form(url)), self._crawl.codes.code_of(rules)))
        with suppress(SeenUnavailableError):  # they stay free
            await self._seen.claim(claims)
            self._confirm(claim.digest for claim in claims)

    async def led_to_seen(self, request: Request) -> None:
        """Let the page of a seen form answer for a dropped request, if that is the target of a redirect."""
        self._note_redirects(request)
        form = marks.mark_of(request).get("leads_to")
        sources = marks.forms_of(request)
        if form is None or not sources:
            return
        page = self._explorer.comparisons.owners.get(form)
        if page is None or marks.is_unformed(request):
            await self.failed(request)
            return
        refused = (self._explorer.took([*sources, form], page) | self._sinks.note(form, sources)) & {*sources}
        confirmed = [source for source in sources if source not in refused]
        as_led = page._replace(url=request.meta["redirect_urls"][0], final_url=request.url)
        for source in confirmed:
            self._explorer.comparisons.owner_came(source, as_led)
        self._confirm(confirmed)
        self._seen.processed(confirmed)
        if refused:
            await self._withdraw(refused)

    def processed(self, request: Request) -> None:
        """Note that the spider has processed the response to *request*, including its links."""
        if forms := [form for form in marks.forms_of(request) if form not in self._withdrawn]:
            self._seen.processed(forms)
            self._note_fetched(request)

    def _note_fetched(self, request: Request) -> None:
        """Note the URL of a page that was on its way, and not stored yet, when the models were replaced."""
        if marks.is_decided(request) and not marks.is_decided(request, self._crawl.name):
            self._explorer.fetched.add(normal_form(request.url))

    def _note_redirects(self, request: Request) -> None:
        """Note the URLs that redirected to *request*: they were answered, and need not be fetched again."""
        if marks.is_redirected(request):
            for url in request.meta["redirect_urls"]:
                self._explorer.fetched.add(normal_form(url))

    async def failed(self, request: Request, *, is_ignored: bool = False) -> None:
        """Release the forms of *request*: it failed, got no usable answer, or a component ignored it (*is_ignored*)."""
        self._adopt(request)
        if (test := marks.take_test(request)) is not None:
            if is_ignored:
                self._explorer.not_fetched(request, test)
            else:
                self._explorer.not_answered(test)
        forms = marks.forms_of(request)
        if forms:
            marks.answers_for(request, ())
            await self.release(forms)

    async def swallowed(self, request: Request) -> None:
        """Note that the dupefilter filtered *request* as already seen.

        If it is the target of a redirect, the redirect brings no page of its own. If it is a link that the filter let
        pass, its form has no owner after all. The dupefilter of a resumed crawl also knows requests that were never
        answered: these are sent when the crawl runs dry. A repeated link that no spider middleware has seen still tells
        that its form is linked.
        """
        is_redirected = marks.is_redirected(request)
        if not is_redirected and (not marks.is_decided(request) or marks.is_unformed(request)):
            if not self.has_spider_side:
                form, _ = self._crawl.models.form_of(request.url)
                self._explorer.covered.reached(form, referrer_of(request), is_repeat=True)
            return
        forms = marks.forms_of(request)
        if not is_redirected and forms:  # a redirect to its URL was queued first, and may be a test
            self._explorer.covered.reached(forms[-1], referrer_of(request), is_repeat=True)
        self._note_redirects(request)
        self._explorer.swallowed(request)
        self._switch_off_failing()
        if not is_redirected and forms and not self._seen.is_local and len(self._orphans) < _MAX_ORPHANS:
            self._overtaken(request, forms)
        elif is_redirected or not self.is_resumed:
            await self.failed(request)
        elif forms:
            self.left_over.append(request)

    def _overtaken(self, request: Request, forms: Collection[bytes]) -> None:
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

    async def release(self, forms: Collection[bytes]) -> bool:
        """Free *forms*, and send a substitute for each owner; return True if there were any."""
        for form in forms:
            try:
                substitute = await self._seen.release(form)
            except SeenUnavailableError:
                substitute = None  # when this crawler ends, the set frees its unconfirmed forms
            if substitute is not None:
                self._replace_owner(form, substitute)
            elif not self._explorer.walls.is_walled(form):
                self._send_alternatives([form])
        return bool(forms)

    def _replace_owner(self, form: bytes, substitute: Request | str) -> None:
        """Send the substitute of a form; behind a wall, keep it with the other dropped requests."""
        request = self._request_of(substitute)
        if request is None:
            return
        if self._explorer.walls.is_walled(form):
            self._explorer.walled(form, request)
        else:
            self._explorer.take_alternative(form, request.url)
            self._send_substitutes([request])

    async def _withdraw(self, forms: set[bytes]) -> None:
        """Free forms that were answered, but not with their own page."""
        if len(self._withdrawn) > _MAX_WITHDRAWN:
            self._withdrawn.clear()
        self._withdrawn |= forms
        await self.release(forms)

    async def look_after(self, *, is_idle: bool) -> bool:
        """Send remaining requests: of an earlier process, for filtered owners, of other crawlers that died.

        Return True if anything was sent.
        """
        if is_idle:
            left, self.left_over = self.left_over[:_SENT_AT_ONCE], self.left_over[_SENT_AT_ONCE:]
            if self.send(left, marks.RESUMED):
                return True
        n_sent = self._send_alternatives(self._explorer.walls.take_unwalled(is_idle=is_idle))
        try:
            abandoned = await self._seen.abandoned(is_idle=is_idle)
        except SeenUnavailableError:
            abandoned = []
        return n_sent + self._send_substitutes(abandoned) > 0

    async def recall_rows(self) -> None:
        """Fetch again, when the crawl runs dry, the forms that a wall may have answered in the previous process."""
        requests = {}
        rows = await self._seen.noted(_ROWS_FACT) if self._seen.is_local else None
        for form, known in forms_left(rows or "").items():
            if text := known or await self._seen.owner(form):
                await self._seen.release(form)
                requests[form] = text
        self._explorer.alike.go_on(requests)
        self.left_over += requests.values()

    async def forget_rows(self) -> None:
        """Forget the forms kept for the next process: the crawl is finished."""
        if self._seen.is_local:
            await self._seen.note(_ROWS_FACT, "")

    def send(self, requests: Iterable[Request | str], why: str) -> int:
        """Send requests that were dropped or never answered, marked with the reason; return the number of sent ones."""
        # the dupefilter may not know them: a link is dropped before it is queued
        dupefilter = getattr(scheduler_of(self._crawl.crawler), "df", None)
        readable = [request for each in requests if (request := self._request_of(each)) is not None]
        for request in readable:
            if dupefilter is not None:
                dupefilter.request_seen(request)
            self._crawl.crawler.engine.crawl(marks.send_again(request, why))
        return len(readable)

    def _send_substitutes(self, requests: Sequence[Request | str]) -> int:
        if not requests:
            return 0
        self._crawl.report.count("request/released", len(requests))
        return self.send(requests, marks.SUBSTITUTE)

    def _send_alternatives(self, forms: Iterable[bytes]) -> int:
        """Send a dropped request of each form, if one is kept whose URL was not fetched meanwhile."""
        kept = map(self._explorer.take_alternative, forms)
        return self._send_substitutes([request for request in kept if request is not None])

    def _request_of(self, each: Request | str) -> Request | None:
        request = self._crawl.request_of(each) if isinstance(each, str) else each
        if request is None:
            self._crawl.report.warn_once(
                "unreadable", f"A request of an earlier crawl cannot be sent again: {each!r:.300}"
            )
        return request
