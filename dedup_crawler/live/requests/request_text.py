"""Requests as text that outlives the process: plain JSON, which cannot run code when it is read."""

from __future__ import annotations

import json
import marshal
from operator import attrgetter
from typing import Any

from scrapy import Request, Spider
from scrapy.utils.request import request_from_dict

from dedup_crawler.live.requests.request_marks import unmarked

Kept = Request | str
"""A kept request: as text, which takes a tenth of the memory, or as it is if it cannot be written."""

_METHODS = "callback", "errback"
_USUAL = {name: getattr(Request("data:,"), name) for name in Request.attributes if name != "url"}
_to_json = json.JSONEncoder(ensure_ascii=True).encode  # faster than json.dumps
_called = attrgetter(*_METHODS)
_told_as_is = attrgetter(*(name for name in _USUAL if name not in {*_METHODS, "meta", "headers"}))
_N_RESTS = 64
_EXACT = 2  # marshal version in which equal values always give equal bytes


class RequestWriter:
    """Writes requests as JSON; faster if only the URL differs from an earlier request.

    Most links of a page differ only in the URL.
    """

    def __init__(self) -> None:
        self._rests: dict[object, str] = {}  # a request without its URL -> the text after the URL

    def text_of(self, request: Request, spider: Spider | None) -> str | None:
        """Write *request*; None if JSON cannot express it.

        JSON cannot express a callback that is no spider method, an object in the meta, or a custom request class.
        Callbacks are written by name, as in Scrapy's queues.
        """
        if type(request) is not Request:
            return None
        try:
            # used only as a key: the bytes tell 1 from True, and do not follow later changes by the spider
            values = marshal.dumps((_told_as_is(request), unmarked(request.meta), dict(request.headers)), _EXACT)
            rest = self._rests.get(like := (spider, _called(request), values))
        except (TypeError, ValueError):
            return _text(request, spider)
        url = f'{{"url": {_to_json(request.url)}'
        if rest is not None:
            return url + rest
        if (text := _text(request, spider)) is not None:
            if len(self._rests) >= _N_RESTS:
                self._rests.clear()
            self._rests[like] = text[len(url) :]
        return text


def _text(request: Request, spider: Spider | None) -> str | None:
    told: dict[str, Any] = {"url": request.url}
    try:
        for name, usual in _USUAL.items():  # there is one text per page, so values that every request has are left out
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
        # the round trip must be exact: JSON turns tuples into lists, and number keys into strings
        return text if json.loads(text) == told else None
    except (TypeError, ValueError):
        return None


def _method_name(request: Request, attribute: str, spider: Spider | None) -> str:
    """Name of the spider's method that is the callback, or the errback.

    ValueError if it is no method of the spider.
    """
    method = getattr(request, attribute)
    name = getattr(method, "__name__", "")
    if spider is not None and name and getattr(spider, name, None) == method:
        return str(name)
    return str(request.to_dict(spider=spider)[attribute])  # the method has another name: Scrapy searches all methods


def request_of(text: str, spider: Spider | None) -> Request | None:
    """Read a text of :class:`RequestWriter`; None if it is damaged, or this spider has no such callback."""
    try:
        told = json.loads(text)
        told.pop("_class", None)  # never load a class named by a file
        told["body"] = told.get("body", "").encode("latin-1")
        told["headers"] = {
            name.encode("latin-1"): [value.encode("latin-1") for value in values]
            for name, values in told.get("headers", ())
        }
        return request_from_dict(told, spider=spider)
    except (TypeError, ValueError, KeyError, AttributeError):
        return None
