"""The mark that the filter writes into the meta of a request, and facts that it reads from a request.

Scrapy copies meta to redirects and retries, and many spiders copy the meta of a response to the next request, so a
mark counts only together with the URL that it was made for. Copies share their mark, so it is replaced, never changed.
It holds only plain values, which every queue of Scrapy can write.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypedDict

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

MARK = "dedup_mark"
"""Key of the meta that holds the :class:`Mark` of a request."""

OWNED = ""
"""The URL shows the page of the owner of its form."""
COVERED = "covered"
"""A coverage rule says that the URL shows nothing new."""
REACHED = "reached"
"""Covered, and redirected to a form that a link has reached."""
REACHED_ALONE = "reached alone"
"""Covered, but redirected to a form that no link has reached yet."""
OF_COVERED = frozenset({COVERED, REACHED, REACHED_ALONE})

SUBSTITUTE = "substitute"
"""The owner of its form failed."""
RECOVERED = "recovered"
"""The rule that dropped it was switched off, or cannot be verified."""
TESTED = "tested"
"""The crawl has run dry, and the rule that dropped the request is not verified."""
RESUMED = "resumed"
"""An earlier process was killed before the answer; the request claims its form again."""

Test = tuple[bytes, str, tuple[str, ...]]
"""What an explored request tests: the digest of the form whose page it should show; the expectation, one of the first
words above; the rules that would have dropped it."""


class Mark(TypedDict, total=False):
    """What the filter knows about a request."""

    crawl: str
    """The crawl that decided about the request, by the name of :func:`new_crawl`."""
    url: str
    """The URL of that decision."""
    is_redirected: bool
    """True if a redirect led to it."""
    forms: tuple[bytes, ...]
    """Digests of the forms that it answers for: those of redirects that led to it, and its own."""
    is_unformed: bool
    """True if they are not of forms: the request is only noted so that a kill does not lose it."""
    test: Test
    leads_to: bytes
    """Digest of a seen form, whose page answers for the request that was redirected to another of its URLs."""
    late: str
    """Its URL, if it went back to the end of the queue, because its kind mostly repeats pages."""
    again: tuple[str, bool]
    """Why the filter itself sends it, one of the last words above, and its earlier ``dont_filter``."""
    behind: str
    """Its URL, if only a test of a coverage rule has led to it; stored with it for the next process."""


_NONE: Mark = {}
_OF_ONE_ANSWER = ("redirect_urls", "redirect_times", "redirect_reasons", "retry_times")
_OWN = frozenset({MARK, "dedup_canonical", "dedup_reason"})


def new_crawl() -> str:
    """Return a unique name for the decisions of one crawl with one set of models."""
    return os.urandom(6).hex()


def mark_of(request: Request) -> Mark:
    """Return the mark of *request*, its own or copied."""
    mark: Mark = request.meta.get(MARK, _NONE)
    return mark


def change(request: Request, changes: Mark) -> None:
    """Change parts of the mark of *request*."""
    request.meta[MARK] = {**mark_of(request), **changes}


def is_marked(request: Request) -> bool:
    """Return True if *request* has a mark, its own or copied; a new link has none."""
    return not _OWN.isdisjoint(request.meta)


def unmark(request: Request) -> None:
    """Remove a mark from *request* that was copied from another request."""
    rest = unmarked(request.meta)
    request.meta.clear()
    request.meta.update(rest)


def unmarked(meta: dict[str, Any]) -> dict[str, Any]:
    """Return *meta* without a mark, except that of a URL to which only a test of a coverage rule has led."""
    rest = {key: value for key, value in meta.items() if key not in _OWN}
    if MARK in meta and (behind := meta[MARK].get("behind")) is not None:
        rest[MARK] = {"behind": behind}
    return rest


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
    mark = mark_of(request)
    if "url" not in mark or not request.meta.get("redirect_times"):
        return False
    if mark["url"] == request.url:
        return mark["is_redirected"]
    sources = request.meta.get("redirect_urls")
    return bool(sources and mark["url"] == sources[-1])


def decided(request: Request, crawl: str, *, is_redirected: bool = False) -> None:
    """Note that *crawl* decides about *request*; empty: the decision is made anew when its turn comes."""
    change(request, {"crawl": crawl, "url": request.url, "is_redirected": is_redirected})


def is_decided(request: Request, crawl: str | None = None) -> bool:
    """Return True if *crawl* (None: any crawl) has decided about this URL; a redirect or copied meta does not count."""
    mark = mark_of(request)
    return mark.get("url") == request.url and crawl in (None, mark["crawl"])


def send_again(request: Request, why: str) -> Request:
    """Return *request* marked as sent by the filter, past the dupefilter."""
    again = request.replace(dont_filter=True)
    unmark(again)
    change(again, {"again": (why, request.dont_filter)})
    return again


def take_again(request: Request) -> str | None:
    """Remove and return the reason why the filter sent *request*; from now on it is like any other request."""
    again = _take(request, "again")
    if again is None:
        return None
    why, request.dont_filter = again
    return str(why)


def send_late(request: Request, priority: int) -> Request:
    """Return *request* with another *priority*, marked as sent back to the queue, past the dupefilter."""
    late = request.replace(dont_filter=True, priority=priority)
    change(late, {"late": request.url})
    return late


def take_late(request: Request) -> bool:
    """Return True if *request* comes from :func:`send_late`; from now on it is like any other request."""
    if _take(request, "late") != request.url:
        return False
    request.dont_filter = False
    return True


def once_more(request: Request, url: str) -> Request:
    """Return a request for *url* past the dupefilter, with the headers and cookies of another request, and no mark.

    It has no callback, so no spider sees the answer.
    """
    again = request.replace(url=url, callback=NO_CALLBACK, errback=None, dont_filter=True)
    unmark(again)
    for key in _OF_ONE_ANSWER:
        again.meta.pop(key, None)
    return again


def answers_for(request: Request, forms: Iterable[bytes]) -> None:
    """Let *request* answer for exactly the forms with these digests."""
    change(request, {"forms": tuple(forms)})


def forms_of(request: Request) -> tuple[bytes, ...]:
    """Return the digests of the forms that *request* answers for."""
    return mark_of(request).get("forms", ())


def is_unformed(request: Request) -> bool:
    """Return True if *request* is only noted, and answers for no form."""
    return mark_of(request).get("is_unformed", False)


def test_of(request: Request) -> Test | None:
    """Return what *request* tests; None: nothing."""
    return mark_of(request).get("test")


def take_test(request: Request) -> Test | None:
    """Return what *request* tests; from now on it is no test."""
    test: Test | None = _take(request, "test")
    return test


def is_answering(request: Request) -> bool:
    """Return True if *request* answers for forms, or is a test."""
    mark = mark_of(request)
    return "forms" in mark or "test" in mark


def is_only_answering(request: Request) -> bool:
    """Return True if *request* answers for forms, and is no test."""
    mark = mark_of(request)
    return "forms" in mark and "test" not in mark and not is_unformed(request)


def _take(request: Request, name: str) -> Any:
    """Remove and return one value of the mark of *request*."""
    if name not in (old := mark_of(request)):
        return None
    request.meta[MARK] = {key: value for key, value in old.items() if key != name}
    return old[name]  # type: ignore[literal-required]
