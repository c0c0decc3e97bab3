"""The filter in a live crawl: Scrapy's view of who owns which canonical form."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK

from dedup_crawler.errors import DedupError, StoreError
from dedup_crawler.live.items import REDIRECTED_KEY, referrer_of
from dedup_crawler.live.options import Options
from dedup_crawler.live.ownership import Ownership
from dedup_crawler.live.seeding import earlier_urls
from dedup_crawler.live.stopping import refuse_to_start
from dedup_crawler.methods import Canonicalizer, Referrer, load_model
from dedup_crawler.urls.normal import host_of, normal_form

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

logger = logging.getLogger(__name__)

_FORMS_KEY = "dedup_forms"
_SUBSTITUTE_KEY = "dedup_substitute"
_MAX_LOGGED_REASONS = 100


class DuplicateRequestError(IgnoreRequest):
    """A request was dropped because the page is fetched through another URL; the text says why."""


class DuplicateFilterMiddleware:
    """Downloader middleware that drops requests for pages which the crawl fetches through another URL.

    Enabled by the add-on, or by ``DOWNLOADER_MIDDLEWARES = {"dedup_crawler.DuplicateFilterMiddleware": 120}``.
    ``DEDUP_MODEL`` names the model folder; without one the crawl goes on unfiltered, and with one that cannot be read
    it does not start.

    Never dropped: requests with ``dont_filter``, without a callback (robots.txt, media), with a method other than GET
    or a body, with ``meta["dedup"] = False``, redirect targets, retries, URLs of a host that the model does not know.
    Start requests and redirect targets own their form all the same.

    A dropped request reaches its errback as :class:`scrapy.exceptions.IgnoreRequest`, with ``dedup_canonical`` and
    ``dedup_reason`` in its meta. Where the URL that was fetched in its place fails (status 400 or more, an exception, a
    redirect to a page that was seen before), the dropped request is sent after all, and reaches its callback.

    Stats: ``dedup/request/{processed,kept,dropped,would_drop,covered,released,skipped}``,
    ``dedup/seen/{size,restored}``, ``dedup/model/unknown_host``; processed = kept + dropped + would_drop. Covered are
    those of the (would be) dropped whose whole template shows nothing new: no URL is fetched in their place.
    """

    def __init__(self, crawler: Crawler, model: Canonicalizer, options: Options) -> None:
        self.crawler = crawler
        self._model = model
        self._options = options
        self._ownership: Ownership[Request] = Ownership()
        self._logged_reasons: set[str] = set()
        self._n_fetched = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the filter from the ``DEDUP_*`` settings."""
        options = Options.from_settings(crawler.settings)
        if not options.is_enabled:
            raise NotConfigured
        if options.model is None:
            logger.info("DEDUP_MODEL is not set: no duplicates are filtered.")
            raise NotConfigured
        try:
            model = load_model(options.model)
        except DedupError as error:
            refuse_to_start(crawler, "dedup_model_unusable", f"DEDUP_MODEL = {options.model!r}: {error}")
            raise NotConfigured from error
        middleware = cls(crawler, model, options)
        for handler, signal in (
            (middleware._opened, signals.spider_opened),
            (middleware._request_dropped, signals.request_dropped),
            (middleware._idle, signals.spider_idle),
            (middleware._closed, signals.spider_closed),
        ):
            crawler.signals.connect(handler, signal=signal)
        return middleware

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        """Drop *request* if the page is fetched through another URL; otherwise note that it is on its way."""
        if _is_exempt(request):
            self._count("request/skipped")
            return
        url = normal_form(request.url)
        if host_of(url) not in self._model.hosts:
            self._count("model/unknown_host")
            return
        self._count("request/processed")
        form = self._model.canonicalize(url, self._referrer(request))
        if self._is_covered(request, url):
            self._count("request/covered")
            self._drop(request, form, url)
            return
        # a redirect target is no duplicate of the redirects that led to it
        earlier = map(normal_form, request.meta.get(REDIRECTED_KEY, ()))
        is_owner = self._ownership.claim(form, url) or any(self._ownership.claim(form, source) for source in earlier)
        if is_owner or _must_pass(request) or not self._may_drop(request, form):
            self._keep(request, form)
        else:
            self._drop(request, form, url)

    def process_response(self, request: Request, response: Response, spider: Spider | None = None) -> Response:
        """Confirm the forms that *request* stands for, or release them.

        A redirect gets this far only in a spider that follows redirects itself. It brought no page: its target, a
        request of its own, answers for both.
        """
        forms = request.meta.get(_FORMS_KEY, ())
        self._n_fetched += bool(forms)
        if response.status >= 400:
            self._release(forms)
        elif response.status < 300:
            for form in forms:
                self._ownership.confirm(form, normal_form(request.url))
        return response

    def process_exception(self, request: Request, exception: Exception, spider: Spider | None = None) -> None:
        """Release the forms that *request* stood for: it will not be answered."""
        if not isinstance(exception, DuplicateRequestError):
            self._release(request.meta.get(_FORMS_KEY, ()))

    def _is_covered(self, request: Request, url: str) -> bool:
        """Whether nothing new is behind a link; what no page links to is what somebody wants to start with."""
        return referrer_of(request) is not None and not _must_pass(request) and self._model.is_covered(url)

    def _may_drop(self, request: Request, form: str) -> bool:
        return self._options.is_dry_run or self._ownership.may_drop(form, request)

    def _drop(self, request: Request, form: str, url: str) -> None:
        reason = self._explain_drop(request, form, url)
        if self._options.is_dry_run:
            self._count("request/would_drop")
            return
        self._count("request/dropped")
        raise DuplicateRequestError(f"duplicate by its canonical form {form!r}: {reason}")

    def _keep(self, request: Request, form: str) -> None:
        """Let *request* pass; it answers for its own form and for those of the redirects that led to it."""
        n_redirects = request.meta.get("redirect_times", 0)
        inherited = request.meta.get(_FORMS_KEY, ()) if n_redirects else ()
        own_redirects = [self._model.canonicalize(url) for url in request.meta.get(REDIRECTED_KEY, ())]
        # bounded: a spider that copies the meta of each response to the next request must not make the list grow
        request.meta[_FORMS_KEY] = [*own_redirects, *list(dict.fromkeys([*inherited, form]))[-(n_redirects + 1) :]]
        request.meta["dedup_canonical"] = form
        if request.meta.pop(_SUBSTITUTE_KEY, False):
            request.dont_filter = False  # it had to pass the dupefilter once more; its redirects need not
        self._count("request/kept")

    def _release(self, forms: list[str]) -> None:
        for form in forms:
            if (substitute := self._ownership.release(form)) is not None:
                self._fetch(substitute)

    def _fetch(self, substitute: Request) -> None:
        request = substitute.replace(dont_filter=True)
        request.meta[_SUBSTITUTE_KEY] = True
        request.meta.pop("dedup_reason", None)
        self._count("request/released")
        self.crawler.engine.crawl(request)

    def _request_dropped(self, request: Request) -> None:
        """The dupefilter swallowed *request*: if it is a redirect target, its source brought no page of its own."""
        if request.meta.get("redirect_times"):
            self._release(request.meta.get(_FORMS_KEY, ()))

    def _idle(self) -> None:
        """Nothing is in flight: whoever still awaits an answer was swallowed (off-site, redirected too often)."""
        for substitute in self._ownership.release_awaited():
            self._fetch(substitute)

    def _opened(self) -> None:
        """Learn what an earlier crawl has fetched into the same database."""
        self._count("seen/restored", 0)
        if self._options.database is None:
            return
        try:
            for url in earlier_urls(self._options.database):
                url = normal_form(url)
                if host_of(url) in self._model.hosts:
                    self._ownership.restore(self._model.canonicalize(url), url)
        except StoreError as error:
            logger.warning("%s; the pages of earlier crawls are not known to the filter.", error)
        self._count("seen/restored", len(self._ownership))

    def _closed(self) -> None:
        stats = self.crawler.stats
        stats.set_value("dedup/seen/size", len(self._ownership))
        logger.info(
            "Duplicate filter: %d fetched, %d %s, %d released.",
            self._n_fetched,
            stats.get_value(f"dedup/request/{'would_drop' if self._options.is_dry_run else 'dropped'}", 0),
            "would have been dropped (dry run)" if self._options.is_dry_run else "dropped",
            stats.get_value("dedup/request/released", 0),
            extra={"spider": self.crawler.spider},
        )

    def _explain_drop(self, request: Request, form: str, url: str) -> str:
        """Write the reason into the meta of *request*, and into the log if it is the first of its kind."""
        reason = self._model.explain(url, self._referrer(request)).reason
        request.meta["dedup_canonical"] = form
        request.meta["dedup_reason"] = reason
        is_new = reason not in self._logged_reasons and len(self._logged_reasons) < _MAX_LOGGED_REASONS
        if is_new or self._options.is_debug:
            self._logged_reasons.add(reason)
            logger.debug(
                "Filtered duplicate-content request%s: %s (canonical form %r: %r) (referer: %s)%s",
                " (dry run, it is sent)" if self._options.is_dry_run else "",
                request,
                form,
                reason,
                referrer_of(request),
                "" if self._options.is_debug else " - no more of this reason will be shown (see DEDUP_DEBUG)",
                extra={"spider": self.crawler.spider},
            )
        return reason

    def _referrer(self, request: Request) -> Referrer | None:
        url = referrer_of(request)
        return None if url is None else Referrer(url, self._model.canonicalize(url))

    def _count(self, name: str, count: int = 1) -> None:
        self.crawler.stats.inc_value(f"dedup/{name}", count)


def _is_exempt(request: Request) -> bool:
    """Whether the filter has no business with *request* at all."""
    return (
        request.callback is NO_CALLBACK
        or request.method != "GET"
        or bool(request.body)
        or request.meta.get("dedup") is False
    )


def _must_pass(request: Request) -> bool:
    """Whether *request* is never dropped, though it may own its form."""
    return request.dont_filter or bool(request.meta.get("redirect_times")) or bool(request.meta.get("retry_times"))
