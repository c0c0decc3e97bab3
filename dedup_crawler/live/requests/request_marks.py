"""Marks that the filter writes into the meta of a request, and facts that it reads off a request before it decides.

Scrapy copies meta to redirects and retries, and many spiders copy the meta of a response to the next request: a mark
counts only together with the URL it was made for. What every request of a queue gets are strings and bytes: lists and
tuples the garbage collector counts, and goes through all queued requests the more often.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scrapy.http.request import NO_CALLBACK

from dedup_crawler.live.seen.protocol import DIGEST_SIZE

if TYPE_CHECKING:
    from scrapy import Request

FORMS = "dedup_forms"
"""Digests of the forms that the request answers for, one behind the other: those of the redirects that led to it, and
its own."""

DECIDED = "dedup_decided"
"""The crawl that decided about the request, whether a redirect led to it, and the URL that it was decided for; as
:func:`decided` writes it."""

EXPLORES = "dedup_explores"
"""The test that an explored request makes: the digest of the form whose page it ought to show; what is expected of it,
one of the words below; the rules that would have dropped it."""

AT_HAND = ""
"""The owner's page has come."""
AWAITED = "awaited"
"""The owner's page is on its way, for the first time or once more."""
COVERED = "covered"
"""Nothing new: the URL has a shape that shows nothing of its own."""
REACHED = "reached"
"""Nothing new, and it redirected to a form that a link has led to."""
REACHED_ALONE = "reached alone"
"""Nothing new, but it redirected to a form that no link has led to yet."""
OF_COVERED = frozenset({COVERED, REACHED, REACHED_ALONE})
OWNER = "owner"
"""The request is no test: it fetches an owner's page once more, to compare with."""

BEHIND = "dedup_behind"
"""The URL of the request, if only one behind a covered template has led to it, which was fetched to test that rule;
written down with it, for the next process."""

UNFORMED = "dedup_unformed"
"""The digests under :data:`FORMS` are none of forms: the request is only noted, so that a kill does not lose it."""

AGAIN = "dedup_again"
"""Reason why the filter itself sends the request, see below, and its ``dont_filter`` before; gone once decided."""

SUBSTITUTE = "substitute"
"""The URL that was fetched in its place failed."""
RECOVERED = "recovered"
"""The rule that dropped it was switched off, or cannot be verified."""
TESTED = "tested"
"""The crawl has run dry, and the rule that dropped the request is not verified."""
RESUMED = "resumed"
"""An earlier process was killed before the answer came: it claims its form again."""

_CRAWL_SIZE = 12
_LED, _LINKED = ">", "-"

_OWN = frozenset({FORMS, DECIDED, EXPLORES, AGAIN, UNFORMED, "dedup_canonical", "dedup_reason"})


def is_exempt(request: Request) -> bool:
    """Return True if the filter has no business with *request* at all."""
    return (
        request.callback is NO_CALLBACK
        or request.method != "GET"
        or bool(request.body)
        or request.meta.get("dedup") is False
    )


def is_redirected(request: Request) -> bool:
    """Return True if Scrapy made *request* of a redirect, and no spider copied that into its meta."""
    text: str = request.meta.get(DECIDED, "")
    if not text or not request.meta.get("redirect_times"):
        return False
    url = text[_CRAWL_SIZE + 1 :]
    if url == request.url:
        return bool(text[_CRAWL_SIZE] == _LED)
    sources = request.meta.get("redirect_urls")
    return bool(sources and url == sources[-1])


def is_marked(request: Request) -> bool:
    """Return True if the filter wrote anything into *request*, or into what it was copied from; a new link is not."""
    return not _OWN.isdisjoint(request.meta)


def new_crawl() -> str:
    """Return a name for the decisions of one crawl with one set of models, different from any other."""
    return os.urandom(_CRAWL_SIZE // 2).hex()


def decided(crawl: str, url: str, *, is_redirected: bool) -> str:
    """The mark of a request for *url* about which *crawl* has decided."""
    return f"{crawl}{_LED if is_redirected else _LINKED}{url}"


def send_again(request: Request, why: str) -> Request:
    """*request* as the filter itself sends it, past the dupefilter."""
    again = request.replace(dont_filter=True)
    unmark(again)
    again.meta[AGAIN] = [why, request.dont_filter]
    return again


def take_again(request: Request) -> str | None:
    """Take the reason why the filter itself sent *request*; from now on it and its redirects are like any other."""
    again = request.meta.pop(AGAIN, None)
    if again is None:
        return None
    why, request.dont_filter = again
    return str(why)


def is_decided(request: Request, crawl: str | None = None) -> bool:
    """Return True if *crawl* (or any) has decided about this very URL; a redirect or a copied meta does not count."""
    text: str = request.meta.get(DECIDED, "")
    return text[_CRAWL_SIZE + 1 :] == request.url and (crawl is None or text.startswith(crawl))


def forms_of(request: Request) -> list[bytes]:
    """Digests of the forms that *request* answers for."""
    digests = request.meta.get(FORMS, b"")
    return [digests[place : place + DIGEST_SIZE] for place in range(0, len(digests), DIGEST_SIZE)]


def is_answering(request: Request) -> bool:
    """Return True if anything hangs on the answer to *request*: forms, or what it tests."""
    meta = request.meta
    return FORMS in meta or EXPLORES in meta


def tests_covered(request: Request) -> bool:
    """Return True if *request* tests that nothing new is behind a covered template."""
    explores = request.meta.get(EXPLORES)
    return explores is not None and explores[1] in OF_COVERED


def answers_for(request: Request, forms: Iterable[bytes]) -> None:
    """Let *request* answer for the forms with these digests, and no others."""
    request.meta[FORMS] = b"".join(forms)


def unmarked(meta: dict[str, Any]) -> dict[str, Any]:
    """*meta* without what the filter wrote into it."""
    return {key: value for key, value in meta.items() if key not in _OWN}


def unmark(request: Request) -> None:
    """Take out of *request* what was copied from another one."""
    for key in _OWN:
        request.meta.pop(key, None)
