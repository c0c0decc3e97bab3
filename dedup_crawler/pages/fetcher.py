"""Fetches single pages of one live site with Scrapy: as robots.txt allows, slowly, and with a limit on requests.

Scrapy sees to retries, redirects, timeouts and sizes. A gate before its downloader holds each request until its turn.
"""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable

from protego import Protego
from scrapy import Request, Spider, version_info
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.settings import default_settings
from scrapy.utils.defer import maybe_deferred_to_future

from dedup_crawler.errors import BadInputError, DedupError
from dedup_crawler.pages.records import Page
from dedup_crawler.urls.normal import host_of, normal_form

USER_AGENT = "dedup-crawler (checks which of its URLs show the same page)"
_SETTINGS: dict[str, object] = {
    "USER_AGENT": USER_AGENT,
    "DOWNLOADER_MIDDLEWARES": {"dedup_crawler.pages.fetcher.Gate": 950},  # behind those that repeat and redirect
    "DOWNLOAD_MAXSIZE": 5_000_000,  # bytes of a body
    "DOWNLOAD_TIMEOUT": 30.0,  # seconds, from the connection to the last byte
    "RETRY_TIMES": 2,
    "REDIRECT_MAX_TIMES": 5,
    **dict.fromkeys(("COOKIES_ENABLED", "METAREFRESH_ENABLED"), False),
    **dict.fromkeys(("REMOTE_CONTROL_ENABLED", "TELNETCONSOLE_ENABLED"), False),  # they open ports
    "DOWNLOAD_VERIFY_CERTIFICATES": True,
}
if not hasattr(default_settings, "DOWNLOAD_VERIFY_CERTIFICATES"):
    _SETTINGS["DOWNLOADER_CLIENTCONTEXTFACTORY"] = "scrapy.core.downloader.contextfactory.BrowserLikeContextFactory"


class ForbiddenError(IgnoreRequest):
    """The site's robots.txt forbids a request."""


class Gate:
    """Downloader middleware that holds every request until its turn."""

    async def process_request(self, request: Request, spider: Spider | None = None) -> None:
        """Wait as the fetcher of the request says."""
        await request.meta["fetcher"].wait_for(request.url)


class PoliteFetcher(Spider):
    """Fetches pages of a site; made by :func:`visit_site`."""

    name = "site"
    origin: str
    job: Callable[[PoliteFetcher], Awaitable[None]]
    errors: list[BaseException]
    delay_s: float
    max_fetches: int
    n_fetches = 0
    _robots: Protego | None = None
    _next_at = 0.0

    @property
    def is_spent(self) -> bool:
        """True if no more requests may be made."""
        return self.n_fetches >= self.max_fetches

    async def start(self) -> AsyncIterator[Request]:
        """Do the job, and note the error that ends it."""
        try:
            self._robots = await self._read_robots()
            self.delay_s = max(self.delay_s, self._robots.crawl_delay(USER_AGENT) or 0.0)
            await self.job(self)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - visit_site raises it
            self.errors.append(error)
        return
        yield  # Scrapy wants an asynchronous generator

    async def fetch(self, rest: str) -> Page | None:
        """Fetch the page at *rest* (path and query), or at the end of its redirects on the site.

        None if it cannot be fetched; ForbiddenError if robots.txt forbids it.
        """
        try:
            answer = await self._download(normal_form(self.origin + rest))
        except ForbiddenError:
            raise
        except Exception:  # noqa: BLE001 - connections and servers fail in countless ways
            return None
        content_type = answer.headers.to_unicode_dict().get("Content-Type")
        return Page(answer.url, answer.status, content_type=content_type, content=answer.body)

    async def wait_for(self, url: str) -> None:
        """Wait until a request may leave; IgnoreRequest if it may not."""
        if self._robots is not None:
            if self.is_spent or not url.startswith(f"{self.origin}/"):
                raise IgnoreRequest
            if not self._robots.can_fetch(url, USER_AGENT):
                raise ForbiddenError
            self.n_fetches += 1
        now = asyncio.get_running_loop().time
        await asyncio.sleep(self._next_at - now())
        self._next_at = now() + self.delay_s

    async def _read_robots(self) -> Protego:
        url = f"{self.origin}/robots.txt"
        try:
            answer = await self._download(url, dont_redirect=True, dont_retry=True)
        except Exception as error:  # noqa: BLE001 - see fetch
            reason = " ".join(str(error).split()) or type(error).__name__
            raise DedupError(f"{url} did not answer ({reason}); without it nothing is fetched.") from None
        if answer.status // 100 == 3:
            target = answer.urljoin(answer.headers.to_unicode_dict().get("Location", ""))
            raise DedupError(f"{url} leads to {target}; if that is another site, give that one.")
        if answer.status >= 500:
            raise DedupError(f"{url} answered {answer.status}; without it nothing is fetched. Try again later.")
        return Protego.parse(answer.body.decode(errors="replace") if answer.status == 200 else "")

    async def _download(self, url: str, **meta: object) -> Response:
        request = Request(url, meta={"fetcher": self, **meta})
        if version_info[:2] >= (2, 14):
            return await self.crawler.engine.download_async(request)
        return await maybe_deferred_to_future(self.crawler.engine.download(request))


def visit_site(site: str, job: Callable[[PoliteFetcher], Awaitable[None]], *, delay_s: float, max_fetches: int) -> None:
    """Do a *job* with pages of one *site* (a URL such as ``https://forum.example``; its path is ignored).

    There are *delay_s* seconds between two requests, or more if robots.txt asks for more, and at most *max_fetches*
    requests, without robots.txt. A process can do this once, as it can start Scrapy's reactor.

    BadInputError if *site* is not an http(s) URL. DedupError if it does not answer, or its robots.txt cannot be read.
    """
    scheme, host = normal_form(site).partition("://")[0], host_of(normal_form(site))
    if scheme not in ("http", "https") or not host:
        raise BadInputError(f"site {site!r} is no http or https URL; give one such as https://forum.example.")
    log = logging.getLogger("scrapy")
    log.propagate = False
    log.addHandler(logging.NullHandler())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # since Scrapy 2.19 the second argument is a setting
        process = CrawlerProcess(_SETTINGS, install_root_handler=False)
    origin = f"{scheme}://{host}"
    errors: list[BaseException] = []
    process.crawl(PoliteFetcher, origin=origin, job=job, errors=errors, delay_s=delay_s, max_fetches=max_fetches)
    try:
        process.start(install_signal_handlers=False)
    except KeyboardInterrupt:
        from twisted.internet import reactor  # not at the top: importing it installs one

        reactor.getThreadPool().stop()  # its threads would keep the process alive
        raise
    if errors:
        raise errors[0]
