"""Decisions about requests: send the owner of each form, requests that must pass, and a few tests; drop the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import compress

from scrapy import Request

from dedup_crawler.errors import SeenUnavailableError
from dedup_crawler.live.collecting.response_page import REDIRECTED_KEY
from dedup_crawler.live.crawl import FilteredCrawl
from dedup_crawler.live.models.rule_codes import BEHIND
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.requests.question import Notes, Question, Questions
from dedup_crawler.live.seen.protocol import Claim, Holder, Standing, form_digest, owner_tag
from dedup_crawler.urls.normal import normal_form

_MAX_OWNERS = 10_000
_MAX_URL = 1_000  # characters; longer URLs are not remembered


class Decisions:
    """Decides about requests.

    A dry run decides and counts, but drops nothing.
    """

    def __init__(self, crawl: FilteredCrawl) -> None:
        self.questions = Questions(crawl)
        self.notes = Notes(crawl)
        self._crawl = crawl
        self._seen = crawl.seen
        self._codes = crawl.codes
        self._explorer = crawl.explorer
        self._covered = crawl.explorer.covered
        self._report = crawl.report
        self._count = crawl.report.count
        # URL that owns its form -> that form; answers for repeated links, which most links of a crawl are
        self._owners: dict[str, str] = {}

    async def decide(self, requests: Sequence[Request], *, is_start: bool = False) -> list[bool]:
        """Return for each of *requests*, in order, True to send it. A sent request with a new form owns that form.

        Suspends only if the seen set is in another process.
        """
        is_new = [is_start or not self._is_repeat(request) for request in requests]
        if n_repeats := is_new.count(False):
            self._count("request/processed", n_repeats)
            self._count("request/kept", n_repeats)
        sent = iter(await self._decide([*compress(requests, is_new)], is_start))
        return [not is_asked or next(sent) for is_asked in is_new]

    def _is_repeat(self, request: Request) -> bool:
        """Return True if the URL of a link already owns its form; the dupefilter then decides about it."""
        form = self._owners.get(request.url)
        if form is None or request.dont_filter or self._covered.redirected or marks.is_marked(request):
            return False
        meta = request.meta
        if marks.is_exempt(request) or REDIRECTED_KEY in meta:
            return False
        marks.decided(request, self._crawl.name)
        meta["dedup_canonical"] = form
        return True

    async def _decide(self, requests: Sequence[Request], is_start: bool) -> list[bool]:
        """Decide about requests that are not known repeats."""
        questions = [self.questions.ask(request, is_start=is_start) for request in requests]
        if self._seen.is_durable:
            await self.notes.keep(
                [request for request, asked in zip(requests, questions, strict=True) if asked is None]
            )
        known = [each for each in questions if each is not None]
        if known:
            self._count("request/processed", len(known))
        holders = iter(await self._holders([each for each in known if not each.is_covered]))
        sent = []
        for question in questions:
            if question is None:
                sent.append(True)
            elif question.is_covered:
                sent.append(await self._is_sent_as_duplicate(question, question.fired, is_awaited=False))
            else:
                sent.append(await self._is_sent(question, next(holders)))
        if self._seen.is_durable and (noted := [each.request for each in known if each.may_be_noted]):
            self.notes.decided(noted)
        return sent

    async def decide_again(self, request: Request) -> bool:
        """Return True if a queued link is sent although it leads back, as is known by now, to a page that holds it.

        If it is dropped, its own form is still to be released.
        """
        marked, forms = dict(request.meta), [*marks.forms_of(request)]
        question = self.questions.ask(request, is_start=False)
        if question is None or question.is_covered or question.must_pass or question.digest in forms:
            request.meta.update(marked)
            return True
        holder = (await self._holders([question]))[0]
        if holder.standing is Standing.NEW:
            self._report.owners[question.digest] = request.url
            forms.append(question.digest)
        if holder.standing is not Standing.SEEN or self._explorer.walls.is_frozen(question.url):
            request.meta.update(marked)
            marks.answers_for(request, forms)
            return True
        is_sent = await self._is_sent_as_duplicate(question, question.fired, is_awaited=False)
        self._count("request/kept", -1)  # it was counted when it was queued
        marks.answers_for(request, forms)
        return is_sent

    def forget_forms(self) -> None:
        """Forget all remembered forms, because they have changed."""
        self.questions.forget_forms()
        self._owners.clear()

    async def _holders(self, questions: Sequence[Question]) -> list[Holder]:
        """Claim the form of each question; if the seen set fails, every request owns its form."""
        try:
            return await self._seen.claim(questions, self._codes.invalid) if questions else []
        except SeenUnavailableError as error:
            # fetching a page twice costs less than losing it
            self._count("seen/unavailable", len(questions))
            self._report.warn_once("seen", f"{error}; until it answers nothing is dropped.")
            return [Holder(Standing.NEW, 0)] * len(questions)

    def _owns(self, question: Question) -> bool:
        """Let the first URL of a form pass."""
        if question.is_redirected or self._covered.redirected:
            self._note_reached(question, is_alone=True)
        if self._codes.invalid:  # its earlier owner may have got the form by a rule that was switched off
            self._explorer.comparisons.owners.forget(question.digest)
        self._report.owners[question.digest] = question.request.url
        self._note_owner(question)
        return self._kept(question)

    async def _is_sent(self, question: Question, holder: Holder) -> bool:
        """Return True if a URL passes, by the standing of its form."""
        if holder.standing is Standing.NEW:
            return self._owns(question)
        self._note_reached(question, is_alone=holder.rules == BEHIND)
        rules = question.fired
        if holder.rules not in (0, question.rules):
            rules = tuple(dict.fromkeys([*rules, *self._codes.rules_of(holder.rules)]))
        if holder.standing <= Standing.OWN_SEEN:  # a repeat: the dupefilter decides
            # but not about requests that the filter itself sends, or that an earlier process had queued
            is_seen = holder.standing is Standing.OWN_SEEN
            if is_seen and question.answers_again and not (question.must_pass or question.is_redirected):
                return self._dropped(question, rules, is_answered=True)
            self._note_owner(question)
            return self._kept(question, answers=question.answers_again)
        sources = question.request.meta.get(REDIRECTED_KEY)
        if question.must_pass or (sources and await self._is_redirected_here(question, sources)):
            return self._kept(question)
        if question.is_redirected and (
            holder.standing is not Standing.SEEN or question.digest not in self._explorer.comparisons.owners
        ):
            return self._kept(question)  # nothing is at hand to answer for the redirect
        if holder.standing is Standing.SEEN and self._is_missing(question):
            url = question.url  # it is its own form, without rules
            question = replace(question, form=url, digest=form_digest(url), fired=(), rules=0)
            return await self._is_sent(question, (await self._holders([question]))[0])
        return await self._is_sent_as_duplicate(question, rules, is_awaited=holder.standing is Standing.AWAITED)

    def _is_missing(self, question: Question) -> bool:
        """Return True if the page that a link was taken for should hold it, and does not."""
        if question.is_redirected or (question.referrer is not None and question.referrer.form == question.form):
            return False
        return self.questions.is_missing(question.request.url, question.model, question.form)

    def _note_owner(self, question: Question) -> None:
        """Remember that a URL owns its form, within bounds, unless only a test led to it: a link to it still counts."""
        if len(self._owners) >= _MAX_OWNERS:
            self._owners.clear()
        if len(url := question.request.url) <= _MAX_URL and question.digest not in self._covered.led:
            self._owners[url] = question.form

    def _note_reached(self, question: Question, *, is_alone: bool) -> None:
        """Tell the explorer that a link, or the redirect of an explored covered URL, has reached a form.

        *is_alone*: before such a redirect, nothing but others of its kind has reached the form.
        """
        test = marks.test_of(question.request)
        if test is None or test[1] not in marks.OF_COVERED:
            if REDIRECTED_KEY in question.request.meta:
                return  # not a link: the spider follows a redirect
            self._covered.reached(question.digest, question.referrer.url if question.referrer is not None else None)
        elif not question.model.is_covered(question.url):  # covered URLs do not count as reached
            expected = marks.REACHED_ALONE if is_alone else marks.REACHED
            if is_alone:
                self._covered.led_alone(question.digest)
            marks.change(question.request, {"test": (question.digest, expected, test[2])})

    async def _is_sent_as_duplicate(self, question: Question, rules: tuple[str, ...], *, is_awaited: bool) -> bool:
        """Return True if a duplicate, whose owner may be awaited, or a covered URL is sent nevertheless."""
        if not is_awaited and self._explorer.walls.is_frozen(question.url):
            if not question.answers_again:
                self._count("request/frozen")
                marks.decided(question.request, "")  # the site may be filtered again when its turn comes
            return self._kept(question, answers=not question.is_covered)
        if question.is_covered:
            self._count("request/covered")
        if self._crawl.options.is_dry_run:
            self._count("request/would_drop")
            self._report.dropped(question, rules, is_dry_run=True)
            return await self._explored(question, rules, is_awaited=is_awaited)
        if question.url in self._explorer.fetched:
            return self._dropped(question, rules, is_answered=True)
        if question.is_tested or self._explorer.wants(question, rules, is_awaited=is_awaited):
            self._count("request/explored")
            return await self._explored(question, rules, is_awaited=is_awaited)
        if is_awaited and not await self._waits(question):
            return self._kept(question)
        return self._dropped(question, rules)

    async def _waits(self, question: Question) -> bool:
        """Return True if *question* can be dropped and kept as a substitute of its unanswered owner."""
        substitute = question.text() if self._seen.is_durable else question.kept()
        try:
            return substitute is not None and await self._seen.wait(question.digest, substitute, question.owner)
        except SeenUnavailableError:
            return False

    async def _is_redirected_here(self, question: Question, sources: Sequence[str]) -> bool:
        """Return True if the owner is a redirect that led here, in a spider that follows redirects itself.

        The target of a redirect is not its duplicate.
        """
        claims = [Claim(question.digest, owner_tag(normal_form(source))) for source in sources]
        try:
            return any(holder.standing <= Standing.OWN_SEEN for holder in await self._seen.claim(claims))
        except SeenUnavailableError:
            return True

    def _kept(self, question: Question, *, answers: bool = True) -> bool:
        """Let a request pass; it answers for its own form and for those of the redirects that led to it."""
        request, meta = question.request, question.request.meta
        if answers:
            n_redirects = meta["redirect_times"] if question.is_redirected else 0
            inherited = marks.forms_of(request) if n_redirects else ()
            own = tuple(form_digest(question.model.canonicalize(url)) for url in meta.get(REDIRECTED_KEY) or ())
            # bounded, in case a spider copies the meta of each response to its next request
            led = tuple(dict.fromkeys([*inherited, question.digest]))[-(n_redirects + 1) :]
            marks.change(request, {"forms": own + led, "is_unformed": False})
        meta["dedup_canonical"] = question.form
        self._count("request/kept")
        return True

    async def _explored(self, question: Question, rules: tuple[str, ...], *, is_awaited: bool) -> bool:
        expected = marks.COVERED if question.is_covered else marks.OWNED
        if expected == marks.OWNED and not is_awaited:
            await self._fetch_owner(question)
        marks.change(question.request, {"test": (question.digest, expected, rules)})
        self._explorer.fetched.add(question.url)
        question.request.meta["dedup_canonical"] = question.form
        self._keep_on_trial(question, rules)
        return True

    async def _fetch_owner(self, question: Question) -> None:
        """Fetch the owner's page once more unless it is at hand, on its way, or unknown."""
        comparisons = self._explorer.comparisons
        if question.digest in comparisons.owners or question.digest in comparisons.asked_again:
            return
        comparisons.asked_again[question.digest] = True
        url = await self._owner_of(question)
        if url is None or url == question.request.url:
            comparisons.has_no_owner(question.digest)
        elif (stored := self._crawl.earlier.page(url)) is not None:
            comparisons.owner_came(question.digest, stored)
        else:
            self._count("explored/owners")
            self._crawl.fetch_again(url, question.request, partial(self._explorer.owner_came, question.digest))

    async def _owner_of(self, question: Question) -> str | None:
        """Return the URL of the owner, if it is known."""
        if (url := self._report.owners.get(question.digest)) is not None:
            return url
        try:
            text = await self._seen.owner(question.digest)
        except SeenUnavailableError:
            return None
        request = self._crawl.request_of(text) if text is not None else None
        return request.url if request is not None else None

    def _dropped(self, question: Question, rules: tuple[str, ...], *, is_answered: bool = False) -> bool:
        """Drop a request; remember it unless its URL itself was fetched before."""
        if question.is_redirected:
            marks.change(question.request, {"leads_to": question.digest})
        self._count("request/dropped")
        self._report.dropped(question, rules)
        if not is_answered:
            self._explorer.dropped(question, rules)
            self._keep_on_trial(question, rules)
        return False

    def _keep_on_trial(self, question: Question, rules: tuple[str, ...]) -> None:
        """Keep a duplicate by unverified rules in a durable set, so that it survives a kill."""
        is_kept = self._seen.is_durable and rules and self._explorer.is_on_trial(rules)
        if is_kept and (text := question.text()) is not None:
            self._seen.keep_dropped(self._codes.code_of(rules), text)
