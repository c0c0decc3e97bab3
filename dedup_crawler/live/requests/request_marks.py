"""Marks that the filter writes into the meta of a request, and facts that it reads from a request.

Scrapy copies meta to redirects and retries, and many spiders copy the meta of a response to the next request, so a
mark counts only together with the URL that it was made for. Marks of all requests are strings and bytes, because the
garbage collector tracks lists and tuples and would scan the queue more often.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from dedup_crawler.live.seen.protocol import DIGEST_SIZE

FORMS = "dedup_forms"
"""Concatenated digests of the forms that the request answers for: those of redirects that led to it, and its own."""

DECIDED = "dedup_decided"
"""The crawl that decided about the request, whether a redirect led to it, and the URL of the decision, as written by
:func:`decided`."""

EXPLORES = "dedup_explores"
"""The test that an explored request makes: the digest of the form whose page it should show; the expectation, one of
the words below; the rules that would have dropped it."""

AT_HAND = ""
"""The page of the owner is kept."""
AWAITED = "awaited"
"""The owner's page is being fetched, for the first time or again."""
COVERED = "covered"
"""A coverage rule says that the URL shows nothing new."""
REACHED = "reached"
"""Covered, and redirected to a form that a link has reached."""
REACHED_ALONE = "reached alone"
"""Covered, but redirected to a form that no link has reached yet."""
OF_COVERED = frozenset({COVERED, REACHED, REACHED_ALONE})
OWNER = "owner"
"""The request is no test: it fetches an owner's page again for a comparison."""
WALL = "wall"
"""Nor is this one: it fetches a page again to see whether a wall stands."""
NO_TESTS = frozenset({OWNER, WALL})

BEHIND = "dedup_behind"
"""The URL of the request, if only a test of a coverage rule has led to it; stored with it for the next process."""

UNFORMED = "dedup_unformed"
"""The digests under :data:`FORMS` are not of forms: the request is only noted so that a kill does not lose it."""

LEADS_TO = "dedup_leads_to"
"""The digest of a seen form, whose page answers for the request that was redirected to another of its URLs."""

LATE = "dedup_late"
"""The URL of a request that went back to the end of the queue, because its kind mostly repeats pages."""

AGAIN = "dedup_again"
"""Reason why the filter itself sends the request (see below), and its earlier ``dont_filter``; removed once decided."""

SUBSTITUTE = "substitute"
"""The owner of its form failed."""
RECOVERED = "recovered"
"""The rule that dropped it was switched off, or cannot be verified."""
TESTED = "tested"
"""The crawl has run dry, and the rule that dropped the request is not verified."""
RESUMED = "resumed"
"""An earlier process was killed before the answer; the request claims its form again."""

_CRAWL_SIZE = 12
_NO_CRAWL = "?" * _CRAWL_SIZE
_LED, _LINKED = ">", "-"

_OF_ONE_ANSWER = ("redirect_urls", "redirect_times", "redirect_reasons", "retry_times")
_OWN = frozenset({FORMS, DECIDED, EXPLORES, AGAIN, UNFORMED, LEADS_TO, LATE, "dedup_canonical", "dedup_reason"})


def is_exempt(request: Request) -> bool:
    """Return True if the filter ignores *request*."""
    return (
        request.callback is NO_CALLBACK
        or request.method != "GET"
        or bool(request.body)
        or request.meta.get("dedup") is False
    )


def is_redirected(request: Request) -> bool:
    """Return True if Scrapy made *request* from a redirect; meta copied by a spider does not count."""
    text: str = request.meta.get(DECIDED, "")
    if not text or not request.meta.get("redirect_times"):
        return False
    url = text[_CRAWL_SIZE + 1 :]
    if url == request.url:
        return bool(text[_CRAWL_SIZE] == _LED)
    sources = request.meta.get("redirect_urls")
    return bool(sources and url == sources[-1])


def is_marked(request: Request) -> bool:
    """Return True if *request* has marks, of its own or copied; a new link has none."""
    return not _OWN.isdisjoint(request.meta)


def new_crawl() -> str:
    """Return a unique name for the decisions of one crawl with one set of models."""
    return os.urandom(_CRAWL_SIZE // 2).hex()


def decided(crawl: str, url: str, *, is_redirected: bool) -> str:
    """Return the mark of a decision of *crawl* about a request for *url*."""
    return f"{crawl}{_LED if is_redirected else _LINKED}{url}"


def send_again(request: Request, why: str) -> Request:
    """Return *request* marked as sent by the filter, past the dupefilter."""
    again = request.replace(dont_filter=True)
    unmark(again)
    again.meta[AGAIN] = [why, request.dont_filter]
    return again


def take_again(request: Request) -> str | None:
    """Remove and return the reason why the filter sent *request*; from now on it is like any other request."""
    again = request.meta.pop(AGAIN, None)
    if again is None:
        return None
    why, request.dont_filter = again
    return str(why)


def send_late(request: Request, priority: int) -> Request:
    """Return *request* with another *priority*, marked as sent back to the queue, past the dupefilter."""
    late = request.replace(dont_filter=True, priority=priority)
    late.meta[LATE] = request.url
    return late


def take_late(request: Request) -> bool:
    """Return True if *request* comes from :func:`send_late`; from now on it is like any other request."""
    if request.meta.pop(LATE, None) != request.url:
        return False
    request.dont_filter = False
    return True


def is_decided(request: Request, crawl: str | None = None) -> bool:
    """Return True if *crawl* (None: any crawl) has decided about this URL; a redirect or copied meta does not count."""
    text: str = request.meta.get(DECIDED, "")
    return text[_CRAWL_SIZE + 1 :] == request.url and (crawl is None or text.startswith(crawl))


def decide_anew(request: Request) -> None:
    """Let the decision about a queued link be made anew when its turn comes."""
    request.meta[DECIDED] = decided(_NO_CRAWL, request.url, is_redirected=False)


def forms_of(request: Request) -> list[bytes]:
    """Return the digests of the forms that *request* answers for."""
    digests = request.meta.get(FORMS, b"")
    return [digests[place : place + DIGEST_SIZE] for place in range(0, len(digests), DIGEST_SIZE)]


def is_answering(request: Request) -> bool:
    """Return True if *request* answers for forms, or is a test."""
    meta = request.meta
    return FORMS in meta or EXPLORES in meta


def is_only_answering(request: Request) -> bool:
    """Return True if *request* answers for forms, and is no test."""
    meta = request.meta
    return FORMS in meta and EXPLORES not in meta and UNFORMED not in meta


def tests_covered(request: Request) -> bool:
    """Return True if *request* tests a coverage rule."""
    explores = request.meta.get(EXPLORES)
    return explores is not None and explores[1] in OF_COVERED


def answers_for(request: Request, forms: Iterable[bytes]) -> None:
    """Let *request* answer for exactly the forms with these digests."""
    request.meta[FORMS] = b"".join(forms)


def unmarked(meta: dict[str, Any]) -> dict[str, Any]:
    """Return *meta* without the filter's marks."""
    return {key: value for key, value in meta.items() if key not in _OWN}


def once_more(request: Request, url: str) -> Request:
    """Return a request for *url* past the dupefilter, with the headers and cookies of another request, and no marks.

    It has no callback, so no spider sees the answer.
    """
    again = request.replace(url=url, callback=NO_CALLBACK, errback=None, dont_filter=True)
    unmark(again)
    for key in _OF_ONE_ANSWER:
        again.meta.pop(key, None)
    return again


def unmark(request: Request) -> None:
    """Remove all marks from *request*, which were copied from another request."""
    for key in _OWN:
        request.meta.pop(key, None)
