"""Requests as text, for what has to outlive the process: JSON, and nothing that could run when it is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.request import request_from_dict

from dedup_crawler.live.request_marks import unmarked

if TYPE_CHECKING:
    from scrapy import Spider

_STRANGERS = "meta", "cb_kwargs", "cookies", "flags"  # what a spider may put anything into
_USUAL = {
    **Request("data:,").to_dict(),
    "url": None,
    "meta": {},
    "body": "",
    "headers": [],
}
_to_json = json.JSONEncoder(ensure_ascii=True).encode  # quicker than asking for an encoder each time


def request_text(request: Request, spider: Spider | None) -> str | None:
    """Write *request* as JSON; None where JSON cannot say it.

    That is a callback that is no method of the spider, an object in its meta, a class of request of its own. Callbacks
    are written by name, as Scrapy's own queues do.
    """
    if type(request) is not Request:
        return None
    try:
        told: dict[str, Any] = request.to_dict(spider=spider)
        told["meta"] = unmarked(told["meta"])
        told["body"] = told["body"].decode("latin-1")
        told["headers"] = [
            [name.decode("latin-1"), [value.decode("latin-1") for value in values]]
            for name, values in told["headers"].items()
        ]
        # a crawl writes one of every page: what every request has is left out
        told = {key: value for key, value in told.items() if value != _USUAL.get(key)}
        text = _to_json(told)
        # what comes back must be what went in: JSON makes lists of tuples, and strings of the numbers that are keys
        read = json.loads(text) if any(key in told for key in _STRANGERS) else told
    except (TypeError, ValueError):
        return None
    return text if all(read.get(key) == told.get(key) for key in _STRANGERS) else None


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
