"""Decisions about requests: the first URL of every form is sent, whatever must pass, and a few that test the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any

from scrapy.http.request import NO_CALLBACK

from dedup_crawler.errors import SeenUnavailableError
from dedup_crawler.live.collecting.items import REDIRECTED_KEY, REFERRER_KEY, referrer_of
from dedup_crawler.live.models.rule_codes import BEHIND, RuleCodes
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.requests.question import Question
from dedup_crawler.live.seen.protocol import NEW_HOLDER, Claim, Holder, SeenSet, Standing, form_digest, owner_tag
from dedup_crawler.methods import Canonicalizer, Referrer
from dedup_crawler.urls.normal import host_of, normal_form

if TYPE_CHECKING:
    from scrapy import Request

    from dedup_crawler.live.comparing.owner_pages import FetchedPage
    from dedup_crawler.live.exploration.explorer import Explorer
    from dedup_crawler.live.telling.drop_report import DropReport

_PORTION = 500
_MAX_OWNERS = 10_000
_MAX_URL = 1_000  # characters of a URL that is remembered


class Decisions:
    """Decides about requests.

    Parameters
    ----------
    model_of
        Gives the model of a host; None for a host that no model knows.
    seen
        Which forms were seen.
    codes
        Rules by their code in the seen set.
    explorer
        Which duplicates are fetched all the same.
    report
        Who is told of a drop.
    text_of, request_of
        Writes a request as text, and reads it; None where that is impossible.
    fingerprint_of
        What tells requests apart that are no question of forms.
    fetch
        Downloads a request past the queue; its answer goes to no callback.
    stored_page
        Gives the page of a URL that an earlier crawl has stored; None if there is none.
    is_dry_run
        Decide and count, drop nothing.
    """

    def __init__(
        self,
        model_of: Callable[[str], Canonicalizer | None],
        seen: SeenSet[Any],
        codes: RuleCodes,
        explorer: Explorer,
        report: DropReport,
        text_of: Callable[[Request], str | None],
        request_of: Callable[[str], Request | None],
        fingerprint_of: Callable[[Request], bytes],
        fetch: Callable[[Request], None],
        stored_page: Callable[[str], FetchedPage | None],
        *,
        is_dry_run: bool,
    ) -> None:
        self._model_of = model_of
        self._seen = seen
        self._codes = codes
        self._explorer = explorer
        self._report = report
        self._text_of = text_of
        self._request_of = request_of
        self._fingerprint_of = fingerprint_of
        self._fetch = fetch
        self._stored_page = stored_page
        self._count = report.count
        self._is_dry_run = is_dry_run
        # of the request before: the links of a page share it, and most lead to one host
        self._referrer: Referrer | None = None
        self._site = "\0"
        self._site_model: Canonicalizer | None = None
        self._crawl = marks.new_crawl()
        self._n_kept = 0  # since the last count: adding to it for each link takes longer
        # most links of a crawl are repeats: URL that owns its form -> that form
        self._owners: dict[str, str] = {}

    def is_decided(self, request: Request) -> bool:
        """Return True if this crawl has decided about *request* before."""
        return marks.is_decided(request, self._crawl)

    async def decide(self, requests: Sequence[Request], *, is_start: bool = False) -> list[bool]:
        """Say for each of *requests*, in order, whether it is to be sent; one that is owns its form from now on.

        Suspends only if the seen set is another process.
        """
        if is_start or not self._owners:
            return await self._decide(requests, is_start)
        is_new = [not self._is_repeat(request) for request in requests]
        if (n_repeats := is_new.count(False)) == 0:
            return await self._decide(requests, is_start)
        self._count("request/processed", n_repeats)
        self._n_kept += n_repeats
        found = iter(await self._decide([*compress(requests, is_new)], is_start))
        return [not is_asked or next(found) for is_asked in is_new]

    def _is_repeat(self, request: Request) -> bool:
        """Return True if the URL of a link owns its form already; the dupefilter decides if it is fetched again."""
        form = self._owners.get(request.url)
        if form is None or request.dont_filter or self._explorer.unreached.n_redirected or marks.is_marked(request):
            return False
        meta = request.meta
        if marks.is_exempt(request) or REDIRECTED_KEY in meta:
            return False
        meta[marks.DECIDED] = marks.decided(self._crawl, request.url, is_redirected=False)
        meta["dedup_canonical"] = form
        return True

    async def _decide(self, requests: Sequence[Request], is_start: bool) -> list[bool]:
        """As :meth:`decide`, of requests about which more has to be asked than whether they are repeats."""
        questions = [self._question(request, is_start) for request in requests]
        if self._seen.is_durable:
            await self._note([request for request, asked in zip(requests, questions, strict=True) if asked is None])
        known = [each for each in questions if each is not None]
        if known:
            self._count("request/processed", len(known))
        holders = iter(await self._holders([each for each in known if not each.is_covered]))
        sent = []
        for question in questions:
            if question is None:
                sent.append(True)
            elif question.is_covered:
                sent.append(await self._is_sent_as_duplicate(question, question.fired, Standing.SEEN))
            elif (holder := next(holders)).standing is Standing.NEW:
                sent.append(self._owns(question))
            else:
                sent.append(await self._is_sent(question, holder))
        if self._n_kept:
            self._count("request/kept", self._n_kept)
            self._n_kept = 0
        if self._seen.is_durable and (noted := [each.request for each in known if each.may_be_noted]):
            self._seen.processed(map(self._note_digest, noted))
        return sent

    async def note_again(self, texts: Sequence[str]) -> None:
        """Have a durable set that was cleared keep the requests that it awaited, until they are decided again."""
        for start in range(0, len(texts), _PORTION):  # of a million requests, not all at once
            claims = []
            for text in texts[start : start + _PORTION]:
                request = self._request_of(text)
                if request is not None:
                    claims.append(Claim(self._note_digest(request), owner_tag(request.url), 0, text))
            await self._seen.claim(claims)

    def _note_digest(self, request: Request) -> bytes:
        return form_digest(f"request {self._fingerprint_of(request).hex()}")

    async def _note(self, requests: Sequence[Request]) -> None:
        """Have a durable set keep requests that it is not asked about, until they are answered.

        The queue of a crawl that is killed is lost, and such a request may stand on a page that is not fetched again.
        """
        noted = [request for request in requests if request.callback is not NO_CALLBACK]
        digests = [*map(self._note_digest, noted)]
        claims = [
            Claim(digest, owner_tag(request.url), 0, partial(self._text_of, request))
            for request, digest in zip(noted, digests, strict=True)
        ]
        try:
            holders = await self._seen.claim(claims) if claims else []
        except SeenUnavailableError:
            return
        for request, digest, holder in zip(noted, digests, holders, strict=True):
            if holder.standing in (Standing.NEW, Standing.OWN):
                inherited = marks.forms_of(request) if marks.is_redirected(request) else []
                marks.answers_for(request, [*inherited, digest])
                request.meta[marks.UNFORMED] = True

    def forget_forms(self) -> None:
        """Say that forms have changed."""
        self._referrer = None
        self._site = "\0"
        self._owners.clear()

    def begin_anew(self) -> None:
        """Say that other models are asked now: whatever is queued is decided again when its turn comes."""
        self.forget_forms()
        self._crawl = marks.new_crawl()

    def _question(self, request: Request, is_start: bool) -> Question | None:
        """Make the question to ask about *request*; None if the filter has no business with it."""
        meta, asked = request.meta, request.url
        was_decided, is_redirected, again, may_be_noted = False, False, None, False
        if marks.is_marked(request):
            was_decided, is_redirected = marks.is_decided(request), marks.is_redirected(request)
            again = marks.take_again(request)
            may_be_noted = again == marks.RESUMED or (was_decided and not self.is_decided(request))
            if not is_redirected:
                if was_decided and not self.is_decided(request):
                    self._explorer.not_sent(request)
                marks.unmark(request)
        meta[marks.DECIDED] = marks.decided(self._crawl, asked, is_redirected=is_redirected)
        if marks.is_exempt(request):
            self._count("request/skipped")
            return None
        url = normal_form(asked)
        model = self._site_model if url.startswith(self._site) else self._model_for(url)
        if model is None:
            self._count("model/unknown_host")
            return None
        referrer = self._referrer
        if referrer is None or meta.get(REFERRER_KEY) != referrer.url:
            referrer = self._referrer_of(request)
        form = model.form_of(url, referrer)
        is_wanted = request.dont_filter or is_redirected or (was_decided and bool(meta.get("retry_times")))
        must_pass = is_start or is_wanted
        # what no page links to is what somebody wants to start with
        is_covered = referrer is not None and not must_pass and model.is_covered(url)
        fired = model.fired(url, referrer, form) if form != url or is_covered else ()
        is_behind = (is_redirected and _tests_covered(request)) or meta.get(marks.BEHIND) == asked
        if is_behind:
            meta[marks.BEHIND] = asked
        answers_again = is_wanted or was_decided or again is not None
        return Question(
            request,
            model,
            url,
            referrer,
            form,
            form_digest(form),
            owner_tag(url),
            fired,
            self._codes.code_of(fired) if fired else BEHIND if is_behind else 0,
            is_covered,
            must_pass,
            is_redirected,
            again == marks.TESTED,
            answers_again,
            may_be_noted,
            self._text_of,
        )

    def _model_for(self, url: str) -> Canonicalizer | None:
        """The model that decides about a URL in normal form."""
        host = host_of(url)
        self._site = f"{url.partition(':')[0]}://{host}/"
        self._site_model = self._model_of(host)
        return self._site_model

    def _referrer_of(self, request: Request) -> Referrer | None:
        """The page that holds the link, with the form that the model of its own site gives."""
        url = referrer_of(request)
        if url is None:
            return None
        if self._referrer is None or self._referrer.url != url:
            page = normal_form(url)
            model = self._model_of(host_of(page))
            self._referrer = Referrer(url, page if model is None else model.form_of(page))
        return self._referrer

    async def _holders(self, questions: Sequence[Question]) -> list[Holder]:
        """Claim the forms of all; without the seen set everybody owns what is asked for."""
        try:
            return await self._seen.claim(questions, self._codes.invalid) if questions else []
        except SeenUnavailableError as error:
            # fetching pages twice costs less than losing them
            self._count("seen/unavailable", len(questions))
            self._report.warn_once("seen", f"{error}; until it answers nothing is dropped.")
            return [NEW_HOLDER] * len(questions)

    def _owns(self, question: Question) -> bool:
        """Let the first URL of a form pass."""
        if question.is_redirected or self._explorer.unreached.n_redirected:
            self._note_reached(question, NEW_HOLDER)
        if self._codes.invalid:  # the form may have been that of a URL which a wrong rule had led to it
            self._explorer.comparisons.forget_owner(question.digest)
        self._report.owned(question.digest, question.request.url)
        self._note_owner(question)
        return self._kept(question)

    async def _is_sent(self, question: Question, holder: Holder) -> bool:
        """Return True if a URL passes whose form somebody has."""
        self._note_reached(question, holder)
        rules = question.fired
        if holder.rules not in (0, question.rules):
            rules = tuple(dict.fromkeys([*rules, *self._codes.rules_of(holder.rules)]))
        if holder.standing is Standing.OWN:  # asked for twice: that is the dupefilter's business, not ours
            # but it does not see what the filter sends itself, nor what an earlier process had queued
            if question.answers_again and not question.must_pass and not await self._is_awaited(question):
                return self._dropped(question, rules, is_answered=True)
            self._note_owner(question)
            return self._kept(question, answers=question.answers_again)
        sources = question.request.meta.get(REDIRECTED_KEY)
        if question.must_pass or (sources and await self._is_redirected_here(question, sources)):
            return self._kept(question)
        return await self._is_sent_as_duplicate(question, rules, holder.standing)

    def _note_owner(self, question: Question) -> None:
        """Remember that a URL owns its form, within bounds."""
        if len(self._owners) >= _MAX_OWNERS:
            self._owners.clear()
        if len(url := question.request.url) <= _MAX_URL:
            self._owners[url] = question.form

    def _note_reached(self, question: Question, holder: Holder) -> None:
        """Tell the explorer that a link has reached a form, or that only a covered URL, explored, redirects to it."""
        if not _tests_covered(question.request):
            if REDIRECTED_KEY in question.request.meta:
                return  # no link: the spider follows a redirect
            self._explorer.reached(question.digest, question.referrer.url if question.referrer is not None else None)
        elif not question.model.is_covered(question.url):  # a covered URL is no other way to what covered ones show
            is_alone = holder.standing is Standing.NEW or holder.rules == BEHIND
            expected = marks.REACHED_ALONE if is_alone else marks.REACHED
            if is_alone:
                self._explorer.led_alone(question.digest)
            question.request.meta[marks.EXPLORES][:2] = question.digest, expected

    async def _is_sent_as_duplicate(self, question: Question, rules: tuple[str, ...], standing: Standing) -> bool:
        """Return True if a URL is sent although its page is there or on its way, or nothing new is behind it."""
        is_awaited = standing is Standing.AWAITED
        if not is_awaited and self._explorer.walls.is_frozen(question.url):
            self._count("request/frozen")
            return self._kept(question, answers=not question.is_covered)
        if question.is_covered:
            self._count("request/covered")
        if self._is_dry_run:
            self._count("request/would_drop")
            self._report.dropped(question, rules, is_dry_run=True)
            return await self._explored(question, rules, is_awaited=is_awaited)
        page = question.referrer.url if question.referrer is not None else None
        if self._explorer.was_sent(question.request):  # another link to what was fetched to test its rules
            return self._dropped(question, rules, is_answered=True)
        if question.is_tested or self._explorer.wants(
            rules, question.request.url, question.digest, page, is_covered=question.is_covered, is_awaited=is_awaited
        ):
            self._count("request/explored")
            return await self._explored(question, rules, is_awaited=is_awaited)
        if is_awaited and not await self._waits(question):
            return self._kept(question)
        return self._dropped(question, rules)

    async def _waits(self, question: Question) -> bool:
        """Return True if *question* can be dropped before its owner is answered, as a substitute if that fails."""
        substitute = question.text() if self._seen.is_durable else question.kept()
        try:
            return substitute is not None and await self._seen.wait(question.digest, substitute, question.owner)
        except SeenUnavailableError:
            return False

    async def _is_awaited(self, question: Question) -> bool:
        try:
            return await self._seen.is_awaited(question.digest)
        except SeenUnavailableError:
            return True

    async def _is_redirected_here(self, question: Question, sources: Sequence[str]) -> bool:
        """Return True if the owner is one of the redirects that led here, for a spider that follows them itself.

        A redirect target is no duplicate of the redirects that led to it.
        """
        claims = [Claim(question.digest, owner_tag(normal_form(source)), 0, None) for source in sources]
        try:
            return any(holder.standing <= Standing.OWN for holder in await self._seen.claim(claims, ()))
        except SeenUnavailableError:
            return True

    def _kept(self, question: Question, *, answers: bool = True) -> bool:
        """Let a request pass; it answers for its own form and for those of the redirects that led to it."""
        request, meta = question.request, question.request.meta
        if answers:
            n_redirects = meta["redirect_times"] if question.is_redirected else 0
            sources = meta.get(REDIRECTED_KEY)
            if n_redirects or sources:
                inherited = marks.forms_of(request) if n_redirects else []
                own = [form_digest(question.model.canonicalize(url)) for url in sources or ()]
                # bounded: a spider that copies the meta of each response to the next must not make them more
                led = list(dict.fromkeys([*inherited, question.digest]))[-(n_redirects + 1) :]
                marks.answers_for(request, [*own, *led])
            else:
                meta[marks.FORMS] = question.digest
            meta.pop(marks.UNFORMED, None)
        meta["dedup_canonical"] = question.form
        self._n_kept += 1
        return True

    async def _explored(self, question: Question, rules: tuple[str, ...], *, is_awaited: bool) -> bool:
        expected = marks.COVERED if question.is_covered else marks.AWAITED if is_awaited else marks.AT_HAND
        if expected == marks.AT_HAND and self._explorer.comparisons.lacks_owner(question.digest):
            expected = marks.AWAITED if await self._is_owner_fetched(question) else marks.AT_HAND
        meta = question.request.meta
        meta[marks.EXPLORES] = [question.digest, expected, *rules]
        self._explorer.sent(question.request)
        meta["dedup_canonical"] = question.form
        self._keep_on_trial(question, rules)
        return True

    async def _is_owner_fetched(self, question: Question) -> bool:
        """Fetch the page of a form's owner once more, unless it is stored, or that is under way; whether it is."""
        if self._explorer.comparisons.is_asked_again(question.digest):
            return True
        owner = await self._owner_of(question)
        if owner is None:
            self._explorer.comparisons.has_no_owner(question.digest)
            return False
        if (stored := self._stored_page(owner.url)) is not None:
            self._explorer.comparisons.owner_came(question.digest, stored)
            return False
        self._count("explored/owners")
        self._fetch(owner)
        return True

    async def _owner_of(self, question: Question) -> Request | None:
        """A request for the page of a form's owner, which is kept no longer; None if nobody knows the owner's URL."""
        url = self._report.owner_of(question.digest)
        if url is None:
            try:
                text = await self._seen.owner(question.digest)
            except SeenUnavailableError:
                return None
            request = self._request_of(text) if text is not None else None
            url = request.url if request is not None else None
        if url is None or url == question.request.url:
            return None
        # as the duplicate is asked for: the same headers and cookies
        owner = question.request.replace(url=url, callback=NO_CALLBACK, errback=None, dont_filter=True)
        marks.unmark(owner)
        owner.meta[marks.DECIDED] = marks.decided(self._crawl, owner.url, is_redirected=False)
        owner.meta[marks.EXPLORES] = [question.digest, marks.OWNER]
        return owner

    def _dropped(self, question: Question, rules: tuple[str, ...], *, is_answered: bool = False) -> bool:
        """Drop a request, and remember it, unless this very URL was fetched before."""
        self._count("request/dropped")
        self._report.dropped(question, rules)
        if not is_answered:
            self._explorer.dropped(rules, question.request.url, question.kept(), question.digest)
            self._keep_on_trial(question, rules)
        return False

    def _keep_on_trial(self, question: Question, rules: tuple[str, ...]) -> None:
        """Have a durable set keep a duplicate by rules that nobody has verified: a kill must not make them right."""
        is_kept = self._seen.is_durable and rules and self._explorer.is_on_trial(rules)
        if is_kept and (text := question.text()) is not None:
            self._seen.keep_dropped(self._codes.code_of(rules), text)


def _tests_covered(request: Request) -> bool:
    """Return True if a request tests that nothing new is behind a covered template."""
    explores = request.meta.get(marks.EXPLORES)
    return explores is not None and explores[1] in marks.OF_COVERED
