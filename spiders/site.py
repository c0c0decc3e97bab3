"""Borders of a site: the URL that a crawl starts from, its host, and the links of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.http import HtmlResponse
from scrapy.utils.response import get_base_url
from w3lib.html import get_meta_refresh

from dedup_crawler.errors import BadInputError
from dedup_crawler.live.collecting.response_page import absolute_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response

_REFRESH_WITHIN = 4096  # characters of a page, as in Scrapy
_LINKS = "//a/@href | //area/@href | //frame/@src | //iframe/@src"
_DEFAULT_PORTS = {"http": 80, "https": 443}
_EXAMPLE = "scrapy crawl content -a url=https://forum.example.org/"


def start_url(url: str | None) -> str:
    """Check the URL that a user gave.

    Raises
    ------
    BadInputError
        If it is missing or nothing that can be crawled; the text says what is wrong and what would do.
    """
    if not url:
        raise BadInputError(f"no url was given: {_EXAMPLE}")
    if any(character.isspace() for character in url):
        problem = "holds white space; write it as %20"
    elif not url.lower().startswith(("http://", "https://")):
        problem = "does not start with http:// or https://"
    elif (absolute := absolute_url(url, url)) is None or site_of(absolute) is None:
        problem = "names no host, or one that cannot be read"
    else:
        return absolute
    raise BadInputError(f"url={url[:200]!r} {problem}: {_EXAMPLE}")


def site_of(url: str) -> tuple[str, int] | None:
    """Host and port of *url*; the default ports of http and https count as one. None where there is no host.

    >>> site_of("http://forum.example/") == site_of("https://FORUM.example:443/x")
    True
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host:
        return None
    default = _DEFAULT_PORTS.get(parts.scheme)
    return host, 0 if port in (None, default) else port


def links_of(response: Response) -> Iterator[str]:
    """URLs that a reader of the page can reach: links, image maps, frames and meta refresh, each once, in page order.

    As they were published: nothing is sorted, completed or cleaned but the fragment. ``rel=nofollow`` is followed: it
    speaks to rankings; what must not be fetched is the business of robots.txt.
    """
    if not isinstance(response, HtmlResponse):
        return
    base = get_base_url(response)
    found = response.xpath(_LINKS).getall()
    # not Scrapy's, which did not know <base> before 2.14
    refresh = get_meta_refresh(
        response.text[:_REFRESH_WITHIN], base, response.encoding, ignore_tags=("script", "noscript")
    )
    if refresh[1] is not None:
        found.append(refresh[1])
    for link in dict.fromkeys(found):
        if (url := absolute_url(base, link)) is not None:
            yield url


def page_number(text: str | None) -> int | None:
    """Read the number of pages that a user wants; None for all.

    Raises
    ------
    BadInputError
        If it is no whole number above 0.
    """
    if text is None:
        return None
    if not text.isdecimal() or int(text) == 0:
        raise BadInputError(f"pages={text[:50]!r} is no whole number above 0: {_EXAMPLE} -a pages=5000")
    return int(text)
