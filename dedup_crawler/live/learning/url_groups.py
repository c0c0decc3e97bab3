"""Groups of URLs by coarse template: the fixed parts of the path and the query names.

Pinterest's MIQPS groups by the set of query names alone; here the path counts too. The groups need no model, so two
models can be compared on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dedup_crawler.urls.keyvalue import KeyValues, url_of
from dedup_crawler.urls.templates import is_always_argument

MIN_URLS = 10
"""Least number of URLs of a template that is used."""
ANY = "<any>"
"""A varying part of the path; no URL contains this, because its brackets would be escaped."""
_MIN_LITERAL = 0.01  # a path part on at least this share of the URLs is a fixed word of the site

Template = tuple[tuple[str, str], ...]
"""Pairs of key and value; query keys without values."""


def templates_of(urls: Sequence[KeyValues]) -> list[Template]:
    """Return the template of each URL; a URL is a key-value map."""
    counts = Counter(item for url in urls for item in url.items() if item[0].startswith("path["))
    least = max(_MIN_LITERAL * len(urls), MIN_URLS)
    return [tuple(sorted(_word(key, value, counts[key, value] >= least) for key, value in url.items())) for url in urls]


def varying_keys(template: Template) -> list[str]:
    """Return the keys that may tell its URLs apart."""
    return [key for key, value in template if value == ANY or _is_query(key)]


def written_template(template: Template) -> str:
    """Write a template as a URL with placeholders for varying parts.

    >>> from dedup_crawler.urls.keyvalue import key_values
    >>> written_template(templates_of([key_values("http://a.example/topic/7?page=2")])[0])
    'http://a.example/<any>/<any>?page'
    """
    return url_of({key: None if _is_query(key) else value for key, value in template})


def _word(key: str, value: str | None, is_frequent: bool) -> tuple[str, str]:
    if _is_query(key):
        return key, ""
    is_argument = key.startswith("path[") and (not is_frequent or bool(is_always_argument(value or "")))
    return key, ANY if is_argument else value or ""


def _is_query(key: str) -> bool:
    return key.startswith("query[")
