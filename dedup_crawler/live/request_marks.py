"""What the filter writes into the meta of a request, and what it reads off a request before it decides.

Scrapy copies meta to redirects and retries, and many spiders copy the meta of a response to the next request: a mark
counts only together with the URL it was made for. What every request of a queue gets are tuples: the garbage collector
stops looking at those that hold no containers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.http.request import NO_CALLBACK

if TYPE_CHECKING:
    from scrapy import Request

FORMS = "dedup_forms"
"""Digests of the forms that the request answers for: its own, and those of the redirects that led to it."""

DECIDED = "dedup_decided"
"""The crawl that decided about the request, the URL that it was decided for, and whether a redirect led there."""

EXPLORES = "dedup_explores"
"""What a request tests that would have been dropped: the digest of the form whose page it ought to show again; one of
the words below if nothing new was expected of it at all, else an empty one; the rules that would have dropped it."""

UNFORMED = "dedup_unformed"
"""The digests under :data:`FORMS` are none of forms: the request is only noted, so that a kill does not lose it."""

COVERED = "covered"
"""The URL belongs to a template that shows nothing new."""
REACHED = "reached"
"""It redirected to a form that a link has led to."""
REACHED_ALONE = "reached alone"
"""It redirected to a form that no link has led to yet."""

AGAIN = "dedup_again"
"""Why the filter itself sends the request, see below, and whether it had ``dont_filter`` before; gone once decided."""

SUBSTITUTE = "substitute"
"""The URL that was fetched in its place failed."""
RECOVERED = "recovered"
"""The rule that dropped it was switched off."""
RESUMED = "resumed"
"""An earlier process was killed before the answer came: it claims its form again."""

_OWN = frozenset({FORMS, DECIDED, EXPLORES, AGAIN, UNFORMED, "dedup_canonical", "dedup_reason"})


def is_exempt(request: Request) -> bool:
    """Whether the filter has no business with *request* at all."""
    return (
        request.callback is NO_CALLBACK
        or request.method != "GET"
        or bool(request.body)
        or request.meta.get("dedup") is False
    )


def is_redirected(request: Request) -> bool:
    """Whether Scrapy made *request* of a redirect, and no spider copied that into its meta."""
    decided = request.meta.get(DECIDED)
    if decided is None or not request.meta.get("redirect_times"):
        return False
    if decided[1] == request.url:
        return bool(decided[2])
    sources = request.meta.get("redirect_urls")
    return sources is not None and bool(sources) and bool(decided[1] == sources[-1])


def is_marked(request: Request) -> bool:
    """Whether the filter wrote anything into *request*, or into what it was copied from; a new link is not."""
    return not _OWN.isdisjoint(request.meta)


def send_again(request: Request, why: str) -> Request:
    """*request* as the filter itself sends it, past the dupefilter."""
    again = request.replace(dont_filter=True)
    unmark(again)
    again.meta[AGAIN] = [why, request.dont_filter]
    return again


def take_again(request: Request) -> str | None:
    """Why the filter itself sent *request*; from now on it is one like any other, and so are its redirects."""
    again = request.meta.pop(AGAIN, None)
    if again is None:
        return None
    why, request.dont_filter = again
    return str(why)


def is_decided(request: Request, crawl: str | None = None) -> bool:
    """Whether *crawl* (or any) has decided about this very URL; a redirect or a copied meta does not count."""
    decided = request.meta.get(DECIDED)
    return decided is not None and crawl in (None, decided[0]) and decided[1] == request.url


def forms_of(request: Request) -> tuple[bytes, ...]:
    """Digests of the forms that *request* answers for."""
    forms: tuple[bytes, ...] = request.meta.get(FORMS, ())
    return forms


def unmarked(meta: dict[str, Any]) -> dict[str, Any]:
    """*meta* without what the filter wrote into it."""
    return {key: value for key, value in meta.items() if key not in _OWN}


def unmark(request: Request) -> None:
    """Take out of *request* what was copied from another one."""
    for key in _OWN:
        request.meta.pop(key, None)
