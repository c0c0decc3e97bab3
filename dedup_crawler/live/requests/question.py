"""Questions: requests with their model, form and rules, ready to ask the seen set who owns the form.

Requests without a form are only noted in the set; some requests wait for the end of the crawl.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isqrt

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from dedup_crawler.errors import SeenUnavailableError
from dedup_crawler.evaluation.simulated_crawl import is_missing
from dedup_crawler.live.collecting.response_page import referrer_of
from dedup_crawler.live.crawl import FilteredCrawl
from dedup_crawler.live.models.rule_codes import BEHIND
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.requests.request_text import Kept
from dedup_crawler.live.seen.protocol import Claim, Standing, form_digest, owner_tag
from dedup_crawler.methods import Canonicalizer, Referrer
from dedup_crawler.rules.language.site_rules import Shape, shape_text
from dedup_crawler.urls.normal import host_of, normal_form

_PORTION = 500
LATER = 1_000_000
"""Priority that a late request loses: more than the depth of any page."""
SAMPLED = 12
"""Of *n* requests of one kind, the root of SAMPLED times *n* do not wait: rules are learnt from these."""
MAX_TOLD = 20
"""Most kinds of late requests that the log names."""


@dataclass(slots=True, kw_only=True)
class Question(Claim):
    """A request with its model, form and rules, which claims the form."""

    request: Request
    model: Canonicalizer
    url: str
    """URL of the request in normal form."""
    referrer: Referrer | None
    form: str
    fired: tuple[str, ...]
    """Identifiers of the rules that lead from the URL to its form, or of those that cover it."""
    is_covered: bool
    """True if a coverage rule skips the URL."""
    must_pass: bool
    is_redirected: bool
    """True if a redirect led to it."""
    is_tested: bool
    """True if it is sent to verify the rules that dropped it."""
    answers_again: bool
    """True if it is fetched and answers for its form although its own URL has claimed the form before."""
    may_be_noted: bool
    """True if a durable set may hold a note of it, from a time without this model."""

    def kept(self) -> Kept:
        """Return the text of the request, or the request itself if it has none."""
        return self.text() or self.request


class Questions:
    """Makes the questions of a crawl."""

    def __init__(self, crawl: FilteredCrawl) -> None:
        self._crawl = crawl
        self._model_of = crawl.models.of
        self._code_of = crawl.codes.code_of
        self._text_of = crawl.text_of
        self._referrer: Referrer | None = None  # that of the previous request: the links of a page share it

    def forget_forms(self) -> None:
        """Forget cached forms, because they have changed."""
        self._referrer = None

    def leads_back(self, request: Request) -> bool:
        """Return True if a queued link leads back, as is known by now, to another page that holds it."""
        pages = self._crawl.linked_on.pages(request.url)
        if len(pages) < 2 or request.dont_filter or "retry_times" in request.meta or referrer_of(request) is None:
            return False
        if marks.is_redirected(request) or not marks.is_only_answering(request):
            return False
        url = normal_form(request.url)
        model = self._model_of(host_of(url))
        return model is not None and self._leads_back_to(url, model, pages) is not None

    def is_missing(self, asked: str, model: Canonicalizer, form: str) -> bool:
        """Return True if the fetched page with this *form* should hold the link *asked*, and does not."""
        linked_on, owner = self._crawl.linked_on, self._crawl.report.owners.get(form_digest(form))
        return owner is not None and is_missing(
            model, linked_on, asked, form, owner, linked_on.pages(asked), lambda page: self._page(page).form
        )

    def is_missing_by_now(self, asked: str) -> bool:
        """Return True if a dropped link is known by now to be missing on the page that it was taken for."""
        url = normal_form(asked)
        model = self._model_of(host_of(url))
        return model is not None and self.is_missing(asked, model, model.form_of(url))

    def ask(self, request: Request, *, is_start: bool) -> Question | None:
        """Make the question about *request*; None if the filter ignores it."""
        asked = request.url
        was_decided, is_redirected, again, may_be_noted = False, False, None, False
        if marks.is_marked(request):
            was_decided, is_redirected = marks.is_decided(request), marks.is_redirected(request)
            again = marks.take_again(request)
            is_by_other_models = was_decided and not marks.is_decided(request, self._crawl.name)
            may_be_noted = again == marks.RESUMED or is_by_other_models
            if not is_redirected:
                if is_by_other_models:
                    self._crawl.explorer.not_sent(request)
                marks.unmark(request)
        marks.decided(request, self._crawl.name, is_redirected=is_redirected)
        if marks.is_exempt(request):
            self._crawl.report.count("request/skipped")
            return None
        url = normal_form(asked)
        model = self._model_of(host_of(url))
        if model is None:
            self._crawl.report.count("model/unknown_host")
            return None
        referrer = self._referrer_of(request)
        # the target of a redirect is no link on that page
        linked_on = None if is_redirected or referrer is None else self._linked_on(asked, url, model, referrer)
        form = model.form_of(url, linked_on)
        is_wanted = request.dont_filter or (was_decided and bool(request.meta.get("retry_times")))
        digest = form_digest(form)
        # a test goes on to its target; so does a request whose own form is that of its target
        test = marks.test_of(request)
        is_led = is_redirected and (referrer is None or test is not None or digest in marks.forms_of(request))
        must_pass = is_start or is_wanted or is_led
        # a request without a referrer counts as a start request
        # a covered URL is dropped by, and tests, its coverage rules, not the rules of its form
        covering = model.covering(url) if referrer is not None and not (must_pass or is_redirected) else ()
        fired = covering or (model.leading(url, linked_on, form) if form != url else ())
        tests_covered = test is not None and test[1] in marks.OF_COVERED
        is_behind = (is_redirected and tests_covered) or marks.mark_of(request).get("behind") == asked
        if is_behind:
            marks.change(request, {"behind": asked})
        return Question(
            request=request,
            model=model,
            url=url,
            referrer=referrer,
            form=form,
            digest=digest,
            owner=owner_tag(url),
            fired=fired,
            rules=self._code_of(fired) if fired else BEHIND if is_behind else 0,
            is_covered=bool(covering),
            must_pass=must_pass,
            is_redirected=is_redirected,
            is_tested=again == marks.TESTED,
            answers_again=is_wanted or is_redirected or was_decided or again is not None,
            may_be_noted=may_be_noted,
            written=partial(self._text_of, request),
        )

    def _linked_on(self, asked: str, url: str, model: Canonicalizer, referrer: Referrer) -> Referrer:
        """Return the page to which the link leads back, among all known to hold it; without one *referrer*."""
        pages = [referrer.url, *self._crawl.linked_on.pages(asked)]
        page = self._leads_back_to(url, model, pages)
        return referrer if page is None or page == normal_form(referrer.url) else self._page(page)

    def _leads_back_to(self, url: str, model: Canonicalizer, pages: Iterable[str]) -> str | None:
        """Return the first of the *pages* to which the link leads back, in normal form."""
        if not model.looks_back:
            return None
        return model.leads_back_to(url, map(normal_form, pages), self._crawl.linked_on.names)

    def _referrer_of(self, request: Request) -> Referrer | None:
        """Return the page that holds the link, with its form by the model of its own site."""
        url = referrer_of(request)
        if url is None:
            return None
        if self._referrer is None or self._referrer.url != url:
            self._referrer = self._page(url)
        return self._referrer

    def _page(self, url: str) -> Referrer:
        page = normal_form(url)
        model = self._model_of(host_of(page))
        return Referrer(url, page if model is None else model.form_of(page), self._crawl.linked_on.names(page))


class Notes:
    """Keeps requests without forms in the durable seen set of a crawl until they are answered.

    A kill loses the queue of a crawl, and the page with the link may not be fetched again.
    """

    def __init__(self, crawl: FilteredCrawl) -> None:
        self._crawl = crawl
        self._seen = crawl.seen

    async def keep(self, requests: Sequence[Request]) -> None:
        """Keep requests without a form in a durable set until they are answered."""
        noted = [request for request in requests if request.callback is not NO_CALLBACK]
        claims = [self._claim(request, partial(self._crawl.text_of, request)) for request in noted]
        try:
            holders = await self._seen.claim(claims) if claims else []
        except SeenUnavailableError:
            return
        for request, claim, holder in zip(noted, claims, holders, strict=True):
            if holder.standing <= Standing.OWN_SEEN:
                inherited = marks.forms_of(request) if marks.is_redirected(request) else ()
                marks.change(request, {"forms": (*inherited, claim.digest), "is_unformed": True})

    async def keep_again(self, texts: Sequence[str]) -> None:
        """Keep the awaited requests of a cleared durable set until they are decided again."""
        for start in range(0, len(texts), _PORTION):  # not a million requests at once
            found = ((self._crawl.request_of(text), text) for text in texts[start : start + _PORTION])
            await self._seen.claim([self._claim(request, text) for request, text in found if request is not None])

    def decided(self, requests: Iterable[Request]) -> None:
        """Forget requests whose forms are known by now."""
        self._seen.processed(map(self._digest, requests))

    def _claim(self, request: Request, text: str | Callable[[], str | None]) -> Claim:
        return Claim(self._digest(request), owner_tag(request.url), 0, text)

    def _digest(self, request: Request) -> bytes:
        return form_digest(f"request {self._crawl.crawler.request_fingerprinter.fingerprint(request).hex()}")


class LateRequests:
    """Sends URLs of a kind that mostly repeats pages, or is new, back to the queue, for the end of the crawl.

    A crawl that learns knows most about them when everything else is fetched. Then a rule may spare their fetches,
    which came too late for those that the crawl had made before. Nothing is lost: what no rule drops is fetched at the
    end.
    """

    def __init__(self, crawl: FilteredCrawl) -> None:
        self._crawl = crawl
        self._learns = crawl.learnt is not None and not crawl.options.is_dry_run
        self._n_met: Counter[tuple[str, Shape]] = Counter()
        self._told: set[tuple[str, Shape]] = set()

    def again(self, request: Request) -> Request | None:
        """Return *request* for the end of the queue; None if it is sent now."""
        if not self._learns or request.dont_filter or not marks.is_only_answering(request):
            return None
        if {"redirect_times", "retry_times"} & request.meta.keys() or referrer_of(request) is None:
            return None
        url = normal_form(request.url)
        host = host_of(url)
        model = self._crawl.models.of(host)
        late = model.late_kind(url) if model is not None else None
        if model is None or late is None or model.form_of(url) != url:  # a rule speaks about it already
            return None
        kind = late.kind
        n = self._n_met[host, kind]
        self._n_met[host, kind] += 1
        if isqrt(SAMPLED * (n + 1)) > isqrt(SAMPLED * n):
            return None
        self._crawl.report.count("request/late")
        if late.repeats and (host, kind) not in self._told and len(self._told) < MAX_TOLD:
            self._told.add((host, kind))
            text = shape_text(kind) if "path.length" in dict(kind) else shape_text(kind)[1:]  # only query names
            self._crawl.report.say(f"URLs like {text} on {host} mostly repeat pages: most of them are fetched last.")
        return marks.send_late(request, request.priority - LATER)
