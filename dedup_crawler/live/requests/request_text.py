"""Requests as text, for what has to outlive the process: JSON, and nothing that could run when it is read."""

from __future__ import annotations

import json
import marshal
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.request import request_from_dict

from dedup_crawler.live.requests.request_marks import unmarked

if TYPE_CHECKING:
    from scrapy import Spider

Kept = Request | str
"""A request that is kept: as text, which takes a tenth of the memory, where it can be written."""

_STRANGERS = "meta", "cb_kwargs", "cookies", "flags"  # what a spider may put anything into
_METHODS = "callback", "errback"
_USUAL = {name: getattr(Request("data:,"), name) for name in Request.attributes if name != "url"}
_PLAIN = frozenset({str, int, bool, type(None)})
"""Types of values that JSON gives back as they were."""
_NAMES = frozenset({str})
"""Types of keys that it does."""
_to_json = json.JSONEncoder(ensure_ascii=True).encode  # quicker than asking for an encoder each time
_called = attrgetter(*_METHODS)
_told_as_is = attrgetter(*(name for name in _USUAL if name not in {*_METHODS, "meta", "headers"}))
_N_RESTS = 64
_EXACT = 2  # a version of Python's own format in which the same values always are the same bytes


class RequestWriter:
    """Writes requests as text, as :func:`request_text` does; quicker where only the URL differs from an earlier one.

    So do most links of a page.
    """

    def __init__(self) -> None:
        self._rests: dict[object, str] = {}  # what all but the URL of a request is -> what follows the URL in its text

    def text_of(self, request: Request, spider: Spider | None) -> str | None:
        """Write *request* as JSON; None where JSON cannot say it."""
        if type(request) is not Request:
            return None
        try:
            # bytes never to be read: they tell 1 from True, and stay when the spider changes what it gave
            values = marshal.dumps((_told_as_is(request), unmarked(request.meta), dict(request.headers)), _EXACT)
            rest = self._rests.get(like := (spider, _called(request), values))
        except (TypeError, ValueError):
            return request_text(request, spider)
        url = f'{{"url": {_to_json(request.url)}'
        if rest is not None:
            return url + rest
        if (text := request_text(request, spider)) is not None:
            if len(self._rests) >= _N_RESTS:
                self._rests.clear()
            self._rests[like] = text[len(url) :]
        return text


def request_text(request: Request, spider: Spider | None) -> str | None:
    """Write *request* as JSON; None where JSON cannot say it.

    That is a callback that is no method of the spider, an object in its meta, a class of request of its own. Callbacks
    are written by name, as Scrapy's own queues do.
    """
    if type(request) is not Request:
        return None
    told: dict[str, Any] = {"url": request.url}
    try:
        for name, usual in _USUAL.items():  # a crawl writes one of every page: what every request has is left out
            if (value := getattr(request, name)) != usual:
                told[name] = value
        for name in _METHODS:
            if name in told:
                told[name] = _method_name(request, name, spider)
        if "meta" in told and (meta := unmarked(told.pop("meta"))):
            told["meta"] = meta
        if "body" in told:
            told["body"] = told["body"].decode("latin-1")
        if "headers" in told:
            told["headers"] = [
                [name.decode("latin-1"), [value.decode("latin-1") for value in values]]
                for name, values in told["headers"].items()
            ]
        text = _to_json(told)
        # what comes back must be what went in: JSON makes lists of tuples, and strings of the numbers that are keys
        strange = [name for name in _STRANGERS if name in told and not _is_plain(told[name])]
        read = json.loads(text) if strange else told
    except (TypeError, ValueError):
        return None
    return text if all(read[name] == told[name] for name in strange) else None


def _method_name(request: Request, attribute: str, spider: Spider | None) -> str:
    """Name of the spider's method that is the callback, or the errback.

    Raises
    ------
    ValueError
        If it is none.
    """
    method = getattr(request, attribute)
    name = getattr(method, "__name__", "")
    if spider is not None and name and getattr(spider, name, None) == method:
        return str(name)
    return str(request.to_dict(spider=spider)[attribute])  # under another name than its own: all are looked at


def _is_plain(told: Any) -> bool:
    """Return True if this is a mapping that JSON gives back for sure."""
    return type(told) is dict and _PLAIN.issuperset(map(type, told.values())) and _NAMES.issuperset(map(type, told))


def url_of(kept: Kept) -> str:
    """The URL of a request, or of what :func:`request_text` wrote of one."""
    return str(json.loads(kept)["url"]) if isinstance(kept, str) else kept.url


def request_of(text: str, spider: Spider | None) -> Request | None:
    """Read what :func:`request_text` wrote; None where it is damaged, or this spider has no such callback."""
    try:
        told = json.loads(text)
        told.pop("_class", None)  # a class is not loaded because a file says so
        told["body"] = told.get("body", "").encode("latin-1")
        told["headers"] = {
            name.encode("latin-1"): [value.encode("latin-1") for value in values]
            for name, values in told.get("headers", ())
        }
        return request_from_dict(told, spider=spider)
    except (TypeError, ValueError, KeyError, AttributeError):
        return None
