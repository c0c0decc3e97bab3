"""Questions: requests with all that is known of them before the seen set is asked who owns their forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedup_crawler.live.collecting.items import REFERRER_KEY, referrer_of
from dedup_crawler.live.models.rule_codes import BEHIND, RuleCodes
from dedup_crawler.live.requests import request_marks as marks
from dedup_crawler.live.seen.protocol import form_digest, owner_tag
from dedup_crawler.methods import Canonicalizer, Referrer
from dedup_crawler.urls.normal import host_of, normal_form

if TYPE_CHECKING:
    from scrapy import Request

    from dedup_crawler.live.requests.request_text import Kept


@dataclass(slots=True)
class Question:
    """A request with all that is known before the seen set is asked who owns its form; a :class:`Claimant`."""

    request: Request
    model: Canonicalizer
    url: str
    """URL of the request in normal form."""
    referrer: Referrer | None
    form: str
    digest: bytes
    owner: int
    """Tag of the URL in normal form."""
    fired: tuple[str, ...]
    """Identifiers of the rules that lead from the URL to its form, or of those that cover it."""
    rules: int
    """Their code in the seen set."""
    is_covered: bool
    """True if its whole shape shows nothing new."""
    must_pass: bool
    is_redirected: bool
    """True if a redirect led to it."""
    is_tested: bool
    """True if it is sent to verify the rules that dropped it."""
    answers_again: bool
    """True if it is fetched, and answers for its form, though its very URL has claimed the form before."""
    may_be_noted: bool
    """True if a durable set may keep it apart from its form: from before there was a model, or was another one."""
    text_of: Callable[[Request], str | None]
    written: str | None = None
    """The request as text, once that was asked for."""

    def text(self) -> str | None:
        """The request as text; None where it cannot be written."""
        if self.written is None:
            self.written = self.text_of(self.request)
        return self.written

    def kept(self) -> Kept:
        """Return what is kept in place of the request: its text, or the request itself."""
        return self.text() or self.request


class Questions:
    """Makes the questions of a crawl.

    Parameters
    ----------
    model_of
        Gives the model of a host; None for a host that no model knows.
    codes
        Rules by their code in the seen set.
    text_of
        Writes a request as text; None where that is impossible.
    not_sent
        Told of a request that is decided anew before it was answered, for the models have changed.
    count
        Counts what the filter has no business with.
    """

    def __init__(
        self,
        model_of: Callable[[str], Canonicalizer | None],
        codes: RuleCodes,
        text_of: Callable[[Request], str | None],
        not_sent: Callable[[Request], None],
        count: Callable[[str], None],
    ) -> None:
        self._model_of = model_of
        self._codes = codes
        self._text_of = text_of
        self._not_sent = not_sent
        self._count = count
        # of the request before: the links of a page share it, and most lead to one host
        self._referrer: Referrer | None = None
        self._site = "\0"
        self._site_model: Canonicalizer | None = None
        self.crawl = marks.new_crawl()
        """Name of the decisions of this crawl with these models."""

    def forget_forms(self) -> None:
        """Note that forms have changed."""
        self._referrer = None
        self._site = "\0"

    def begin_anew(self) -> None:
        """Note that other models are asked now: whatever is queued is decided again when its turn comes."""
        self.forget_forms()
        self.crawl = marks.new_crawl()

    def is_decided(self, request: Request) -> bool:
        """Return True if this crawl has decided about *request* before, by these models."""
        return marks.is_decided(request, self.crawl)

    def ask(self, request: Request, *, is_start: bool) -> Question | None:
        """Make the question to ask about *request*; None if the filter has no business with it."""
        meta, asked = request.meta, request.url
        was_decided, is_redirected, again, may_be_noted = False, False, None, False
        if marks.is_marked(request):
            was_decided, is_redirected = marks.is_decided(request), marks.is_redirected(request)
            again = marks.take_again(request)
            may_be_noted = again == marks.RESUMED or (was_decided and not self.is_decided(request))
            if not is_redirected:
                if was_decided and not self.is_decided(request):
                    self._not_sent(request)
                marks.unmark(request)
        meta[marks.DECIDED] = marks.decided(self.crawl, asked, is_redirected=is_redirected)
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
        # what drops a covered URL, and is tested by it, is no rule about its form
        covering = model.covering(url) if referrer is not None and not must_pass else ()
        is_covered = bool(covering)
        fired = covering or (model.leading(url, referrer, form) if form != url else ())
        is_behind = (is_redirected and marks.tests_covered(request)) or meta.get(marks.BEHIND) == asked
        if is_behind:
            meta[marks.BEHIND] = asked
        answers_again = is_wanted or was_decided or again is not None
        return Question(
            request=request,
            model=model,
            url=url,
            referrer=referrer,
            form=form,
            digest=form_digest(form),
            owner=owner_tag(url),
            fired=fired,
            rules=self._codes.code_of(fired) if fired else BEHIND if is_behind else 0,
            is_covered=is_covered,
            must_pass=must_pass,
            is_redirected=is_redirected,
            is_tested=again == marks.TESTED,
            answers_again=answers_again,
            may_be_noted=may_be_noted,
            text_of=self._text_of,
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
